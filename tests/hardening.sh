#!/usr/bin/env bash
# The program that is shipped is hardened as cmake/muster.cmake asks: tests/hardening.sh build/release/muster
set -euo pipefail

program="$1"
failed=0

# expect WHAT PATTERN: a line of what readelf says matches.
expect() {
  if ! grep -Eq "$2" <<<"$facts"; then
    echo "$program: $1 is missing (no line like \"$2\")" >&2
    failed=1
  fi
}

facts="$(readelf --wide --file-header --program-headers --dynamic --dyn-syms --notes "$program")"
expect "address space layout randomisation" 'Type: +DYN'
expect "relocations that are read-only" 'GNU_RELRO'
expect "binding of all symbols at the start" 'FLAGS.*(BIND_NOW|NOW)'
expect "the stack protector" '__stack_chk_fail'
expect "the checked functions of libc" '__(memcpy|vsnprintf|read|fprintf|sprintf|strcpy|memset)_chk'
if grep -q 'GNU_STACK.* RWE ' <<<"$facts"; then
  echo "$program: the stack may be executed" >&2
  failed=1
fi
[ "$failed" -eq 0 ] && echo "$program: position-independent, RELRO, BIND_NOW, stack protector, FORTIFY"
exit "$failed"
