#!/usr/bin/env bash
# Runs h2spec (RFC 9113 and RFC 7541, all its cases) against `muster serve` with TLS. Usage: run.sh PROGRAM, as in
#   tests/http/h2spec/run.sh build/dev/muster
# A case that fails or is skipped must be in exceptions.txt; a case in exceptions.txt must fail or be skipped.
# Needs Go 1.26 and openssl; build/h2spec keeps the program and the last report.
set -euo pipefail
program="$(realpath "${1:?usage: run.sh PROGRAM}")"
cd "$(dirname "${BASH_SOURCE[0]}")"
out="$(cd ../../.. && pwd)/build/h2spec"
work="$(mktemp -d)"
server=""

say() { printf '%s\n' "$*"; }

finish() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT

build() {
  mkdir -p "$out"
  CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags '-s -w' -o "$out/h2spec" github.com/summerwind/h2spec/cmd/h2spec
}

# Sets `port`.
serve() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
  "$program" serve --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" \
    >"$work/out" 2>"$work/log" &
  server=$!
  for _ in $(seq 300); do
    port="$(sed -n 's/^extender: port \([0-9]*\)$/\1/p' "$work/out")"
    if [ -n "$port" ]; then return; fi
    sleep 0.1
  done
  say "the server did not start:"
  cat "$work/log"
  exit 1
}

# Prints "SECTION CASE" of every case in the report that failed or was skipped.
unmet() {
  awk '
    /<testcase / {
      section = $0; sub(/.* package="/, "", section); sub(/".*/, "", section)
      name = $0; sub(/.* classname="/, "", name); sub(/".*/, "", name); gsub(/&#34;/, "\"", name)
    }
    /<(failure|skipped|error)[ >]/ { print section " " name }
  ' "$out/report.xml" | sort -u
}

build
serve
# A path that nobody serves: its answer is long enough for the cases about windows. h2spec fails when a case does.
"$out/h2spec" --strict --tls --insecure --port "$port" --path /no-such-path --timeout 10 \
  --junit-report "$out/report.xml" >"$out/h2spec.log" 2>&1 || true
if ! kill -0 "$server"; then
  say "the server has ended:"
  cat "$work/log"
  exit 1
fi
cases="$(grep -c '<testcase ' "$out/report.xml")"
if [ "$cases" -lt 146 ]; then
  say "only $cases of 146 cases were run; see $out/h2spec.log"
  exit 1
fi
unmet >"$work/unmet"
sed '/^#/d; /^$/d' exceptions.txt | sort >"$work/allowed"
if ! diff "$work/allowed" "$work/unmet" >"$work/difference"; then
  say "h2spec: '>' does not pass and is not in exceptions.txt, '<' passes and has to leave it:"
  grep '^[<>]' "$work/difference"
  say "the report: $out/h2spec.log"
  exit 1
fi
say "h2spec: $((cases - $(wc -l <"$work/unmet"))) of $cases cases passed, $(wc -l <"$work/unmet") exceptions"
