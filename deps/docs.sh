#!/usr/bin/env bash
# Builds docs/ as a site in build/site, by MkDocs in a venv of its own; a dead link or anchor is an error. Exit status 77:
# the packages of docs-requirements.txt cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=build/docs-venv
wanted=deps/docs-requirements.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$wanted"; then
    echo "docs: $wanted cannot be had" >&2
    exit 77
  fi
  cp "$wanted" "$venv/installed.txt"
fi
"$venv/bin/mkdocs" build --strict
echo "docs: build/site/index.html"
