#!/usr/bin/env bash
# Builds Muster and runs its unit tests on Debian 13, in a chroot that debootstrap makes: tests/debian13.sh [FOLDER]
# (default: build/debian13). Needs root and debootstrap. What is in FOLDER already is used again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root="$(realpath -m "${1:-build/debian13}")"
mirror="${MUSTER_DEBIAN_MIRROR:-http://deb.debian.org/debian}"

in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }

if [ ! -x "$root/usr/bin/apt-get" ]; then
  echo "making Debian 13 in $root ..."
  debootstrap --variant=minbase trixie "$root" "$mirror" > "$root.log" || { tail -n 5 "$root.log" >&2; exit 1; }
fi
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT

mkdir -p "$root/src"
git ls-files -z | xargs -0 cp --parents -t "$root/src"
in_root bash -c 'cd /src && deps/install.sh build'
in_root bash -c '
  cd /src
  export CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros
  cmake --preset dev > /dev/null
  cmake --build build/dev --parallel "$(nproc)"
  ctest --test-dir build/dev --parallel "$(nproc)" --output-on-failure --no-tests=error'
