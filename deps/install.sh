#!/usr/bin/env bash
# Installs the Debian packages of debian-packages.txt that are missing; touches nothing when none is.
# Usage: deps/install.sh [SECTION…]      (default: build; sections: build, lint, docs)
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/debian-packages.txt"

packages_of() {  # SECTION: its packages, one a line
  awk -v want="[$1]" '
    { sub(/#.*/, "") }
    NF == 0 { next }
    $1 ~ /^\[/ { inside = ($1 == want); next }
    inside { print $1 }' "$list"
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_of() {  # PACKAGE…: those that are not installed
  local package
  for package in "$@"; do
    is_installed "$package" || printf '%s\n' "$package"
  done
}

check_platform() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "deps: this is not a Debian system. Install these packages or their like by hand: $*" >&2
    exit 1
  fi
}

# Fills the array `root` with the prefix that makes a command run as root, or says what to run and stops.
become_root() {
  root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" -eq 0 ]; then
    return
  fi
  if command -v sudo >/dev/null; then
    root=(sudo "${root[@]}")
    return
  fi
  echo "deps: root is needed to install packages and there is no sudo. Run this as root, then try again:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends $*" >&2
  exit 1
}

install() {
  become_root "$@"
  echo "deps: installing $# missing packages: $*"
  "${root[@]}" apt-get update </dev/null
  "${root[@]}" apt-get install -y --no-install-recommends "$@" </dev/null
}

main() {
  local section wanted=() missing=()
  for section in "${@:-build}"; do
    local before=${#wanted[@]}
    mapfile -t -O "$before" wanted < <(packages_of "$section")
    if [ "${#wanted[@]}" -eq "$before" ]; then
      echo "deps: no section [$section] in $list" >&2
      exit 2
    fi
  done
  check_platform "${wanted[@]}"
  mapfile -t missing < <(missing_of "${wanted[@]}")
  if [ "${#missing[@]}" -eq 0 ]; then
    echo "deps: all ${#wanted[@]} packages are installed"
    return
  fi
  install "${missing[@]}"
  echo "deps: done"
}

main "$@"
