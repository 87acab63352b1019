#!/usr/bin/env bash
# Runs the end-to-end tests: run.sh [go test flags], such as -run Halves. MUSTER_E2E_VERSION=v1.34 chooses a Kubernetes,
# MUSTER_E2E=full adds what is slow, the controllers of other projects, the older one, and of 1.36 what it alone serves. The last
# line counts. MUSTER_E2E_TABLE=docs/reference/framework-tests.md writes there what became of the gangs of frameworks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

folders=(kubernetes/v1.37 kwok)
timeout=40m
if [ -n "${MUSTER_E2E_VERSION:-}" ]; then
  folders+=("kubernetes/$MUSTER_E2E_VERSION")
fi
if [ "${MUSTER_E2E:-}" = full ]; then
  folders+=(kubernetes/v1.34 kubernetes/v1.36)
  timeout=150m
fi
./build.sh "${folders[@]}"
# Its tests are skipped where it cannot be built.
./build.sh kueue || printf 'Kueue is not built; the tests with it are skipped\n'
if [ "${MUSTER_E2E:-}" = full ]; then
  ./build.sh operators || printf 'What is named above is not built; the tests with it are skipped\n'
  ./build.sh autoscalers || printf 'What is named above is not built; the tests with it are skipped\n'
  ./build.sh previous || printf 'The release before this one is not built; upgrades are not tested\n'
fi
# The flags are those of build.sh, so that the client libraries are compiled once.
export CGO_ENABLED=0
unformatted="$(gofmt -l .)"
if [ -n "$unformatted" ]; then
  printf 'gofmt -w these:\n%s\n' "$unformatted"
  exit 1
fi
go vet -trimpath ./...
run_tests() { go test -trimpath -p 1 -count=1 -json -timeout "$timeout" "$@"; }
# Results on another Kubernetes are told apart by the name of their package.
run_on() { # VERSION [go test flags]
  local version="$1"
  shift
  MUSTER_E2E_VERSION="$version" run_tests "$@" ./suite \
    | sed -u 's|"Package":"muster.dev/e2e/suite"|"Package":"suite on '"$version"'"|'
}
# A lane runs what of the suite no other lane has claimed; the first one runs the other packages, too.
run_lane() { # NUMBER [go test flags]
  local lane="$1" packages=./suite
  shift
  export MUSTER_E2E_CLAIMS="$claims" MUSTER_E2E_LANE="-$lane"
  if [ "$lane" -eq 1 ]; then packages=./...; fi
  run_tests "$@" "$packages" || true
  if [ "${MUSTER_E2E:-}" = full ]; then
    run_on v1.34 "$@" || true
    run_on v1.36 -run Native "$@" || true # unless the flags choose otherwise
    if [ "$lane" -eq 1 ]; then
      (cd operators && run_tests -mod=mod "$@" ./fields) || true
      (cd fields/workflows && run_tests "$@" .) || true
    fi
  fi
}

claims="$(mktemp -d)"
trap 'rm -rf "$claims"' EXIT
go build -trimpath -o "$claims/count" ./cmd/count
mkfifo "$claims/told-"{1,2}
run_lane 1 "$@" > "$claims/told-1" &
run_lane 2 "$@" > "$claims/told-2" &
"$claims/count" "$claims/told-"{1,2}
