#!/bin/sh
# Prints the seed of the tests: the commit's first 32 bits as a number, so that what a commit is refused for is its own
# and shows again. 1 where there is no commit to ask, as in a source archive.
commit="$(git -C "$(dirname "$0")" rev-parse --verify --quiet HEAD 2>/dev/null)" || commit=00000001
printf '%d\n' "0x$(printf '%.8s' "$commit")"
