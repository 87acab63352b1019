# Shared by the scripts of this folder: sourced, never run. Sets the working folder to the top of the tree.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A stripped environment still finds the tools, and ccache and the lint cache still find a home.
export PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"

library_rooms=(cluster topology queues policy engine http config kube sim extender cli bench)
jobs="$(nproc)"

say() { printf '%s\n' "$*"; }

sources_in() {  # PATTERN FOLDER…: files of that name in those folders, sorted
  local pattern="$1"
  shift
  find "$@" -type f -name "$pattern" | LC_ALL=C sort
}
