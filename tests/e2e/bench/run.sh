#!/usr/bin/env bash
# Measures starts of gangs on a real control plane, side by side; main.go says what the environment may choose.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./build.sh kubernetes/v1.37 >&2
# The flags are those of run.sh, so that the client libraries are compiled once.
export CGO_ENABLED=0
mkdir -p ../../build/e2e/bench
go build -trimpath -o ../../build/e2e/bench/bench ./bench
exec ../../build/e2e/bench/bench
