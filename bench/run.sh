#!/usr/bin/env bash
# Runs every program of bench/ that the release build has made. Arguments go to each of them (--smoke: briefly). Then
# compares placements with the exact optimum, which is no matter of time: by the tests' program, if that is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
  local program failed=()
  local programs
  mapfile -t programs < <(find build/release -maxdepth 1 -type f -name 'bench_*' -perm -u+x | LC_ALL=C sort)
  if [ "${#programs[@]}" -eq 0 ]; then
    echo "bench: build/release has no bench_* program; run make bench" >&2
    exit 1
  fi
  for program in "${programs[@]}"; do
    printf '\n== %s ==\n' "$(basename "$program")"
    "$program" "$@" || failed+=("$(basename "$program")")
  done
  printf '\n== exact optimum ==\n'
  if [ -x build/dev/policy_test ]; then
    build/dev/policy_test '[.gaps]' --rng-seed "${SEED:-1}" || failed+=("exact optimum")
  else
    echo "skipped: build/dev/policy_test is not there; make test builds it"
  fi
  if [ "${#failed[@]}" -gt 0 ]; then
    echo "bench: failed: ${failed[*]}" >&2
    exit 1
  fi
}

main "$@"
