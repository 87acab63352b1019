#!/usr/bin/env bash
# A demo of one minute on an embedded cluster of 16 nodes with 8 GPUs each: submits six gangs over HTTP and shows the
# results. Needs build/dev/muster (MUSTER names another program) and leaves nothing running.
set -euo pipefail
cd "$(dirname "$0")/.."

MUSTER=${MUSTER:-build/dev/muster}
work=$(mktemp -d)
server=
cleanup() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Headings are bold on a terminal only.
bold=''
plain=''
if [ -t 1 ]; then
  bold=$'\033[1m'
  plain=$'\033[0m'
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
fail() {
  printf 'demo: %s\n' "$*" >&2
  [ -f "$work/log" ] && tail -n 20 "$work/log" >&2
  exit 1
}

start_server() {
  : >"$work/out"
  : >"$work/log"
  "$MUSTER" serve --listen 127.0.0.1:0 --metrics 127.0.0.1:0 >"$work/out" 2>"$work/log" &
  server=$!
  for _ in $(seq 100); do
    url=$(cat "$work/out" "$work/log" | sed -n 's|^api: *\(http://[^/]*\)/.*|\1|p' | head -n 1)
    [ -n "$url" ] && return 0
    kill -0 "$server" 2>/dev/null || fail "muster serve ended at once"
    sleep 0.1
  done
  fail "muster serve did not say where it listens"
}

# Prints member number $3 of gang $1 in namespace $2, with 8 GPUs; $4: its run time.
member() {
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata:
  name: $1-$3
  namespace: $2
  labels: {scheduling.x-k8s.io/pod-group: $1}
  annotations: {sim.muster.dev/runs-for: $4}
spec:
  schedulerName: muster
  containers:
  - {name: main, image: train, resources: {limits: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "8"}}}
YAML
}

group() {
  cat <<YAML
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: $1, namespace: $2}
spec: {minMember: 10}
YAML
}

# Two gangs of 80 GPUs on 128, with alternating pods: placed pod by pod, each would hold 64 GPUs and wait forever.
two_halves() {
  group pretrain-a team-a
  group pretrain-b team-b
  for i in 0 1 2 3 4 5 6 7 8 9; do
    member pretrain-a team-a "$i" 15s
    member pretrain-b team-b "$i" 15s
  done
}

state_of() { "$MUSTER" explain gang "$1" --server "$url" -o json 2>/dev/null | sed -n 's/.*"state": *"\([A-Za-z]*\)".*/\1/p' | head -n 1; }

# Waits until gang $1 is in state $2, $3 seconds at most.
await() {
  local deadline=$((SECONDS + $3)) state=
  while [ "$SECONDS" -lt "$deadline" ]; do
    state=$(state_of "$1" || true)
    [ "$state" = "$2" ] && return 0
    sleep 0.2
  done
  "$MUSTER" get gangs --server "$url" >&2 || true
  fail "gang $1 should be $2 within $3 s, it is ${state:-unknown}"
}

[ -x "$MUSTER" ] || fail "$MUSTER is missing; run: make build"
say "1. muster serve, on an embedded cluster of 16 nodes with 8 GPUs each"
start_server
echo "API at $url"

say "2. Two gangs of 80 GPUs with alternating pods; two small gangs; one that can never fit; one that is malformed"
two_halves | "$MUSTER" submit -f - --server "$url" >"$work/submitted" || fail "submit failed"
tail -n 1 "$work/submitted"
"$MUSTER" submit -f sim/demo/small.yaml -f sim/demo/hopeless.yaml --server "$url" >"$work/submitted" || fail "submit failed"
tail -n 1 "$work/submitted"
await team-a/pretrain-a Running 30
await team-c/fine-tune Running 30
await team-d/sweep Running 30
await team-b/pretrain-b Queued 30
await team-e/moonshot Unsatisfiable 30
await team-f/typo Invalid 30
"$MUSTER" get gangs --server "$url"

say "3. Why does pretrain-b wait? It holds nothing meanwhile."
"$MUSTER" explain gang team-b/pretrain-b --server "$url" | head -n 12

say "4. An invalid manifest is refused with its line, and changes nothing"
printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec:\n  schedulerName: muster\n  schedulerName: master\n' >"$work/broken.yaml"
if "$MUSTER" submit -f "$work/broken.yaml" --server "$url" 2>"$work/refusal"; then fail "a broken manifest was accepted"; fi
sed "s|$work/||" "$work/refusal"

say "5. pretrain-a ends after 15 s, and all of pretrain-b starts"
await team-a/pretrain-a Finished 60
await team-b/pretrain-b Running 30
"$MUSTER" get gangs --server "$url"

kill "$server"
wait "$server" || fail "muster serve ended with an error"
server=
say "Done; nothing is left running. Next steps:"
cat <<TEXT
  $MUSTER serve                       # extender on :8888; gangs, nodes, metrics on http://127.0.0.1:8889
  $MUSTER submit -f sim/demo/small.yaml
  $MUSTER get gangs                   # also: get nodes, explain gang team-c/fine-tune
  curl http://127.0.0.1:8889/metrics    # also: /v1/gangs /v1/nodes /v1/policy /healthz /readyz
  $MUSTER simulate --nodes 16x8 --jobs sim/demo/jobs.csv   # replay a trace; muster help simulate
TEXT
