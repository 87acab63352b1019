#!/usr/bin/env bash
# Starts a control plane with Muster in it and leaves it up, or ends it: cluster.sh up, cluster.sh down.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if [ "${1:-}" = up ]; then
  ./build.sh kubernetes/v1.37 kwok
fi
export CGO_ENABLED=0
go run -trimpath ./cmd/cluster "$@"
