#!/usr/bin/env bash
# Prints the Namespace and the two Secrets with which kube-scheduler and Muster authenticate each other:
#   manifests/certificates/make-secrets.sh | kubectl apply -f -
# Every run creates a new CA, signs both certificates and discards the CA's key, so no third one can be signed.
# Usage: make-secrets.sh [--days N] [--out FOLDER]
#   --days N       validity of the certificates in days (default 825)
#   --out FOLDER   keep the PEM files too (for a kube-scheduler that runs outside of pods); the folder must be new
set -euo pipefail

days=825
out=""
while [ $# -gt 0 ]; do
  case "$1" in
    --days) days="${2:?--days needs a number}"; shift 2 ;;
    --out) out="${2:?--out needs a folder}"; shift 2 ;;
    *) sed -n '2,7s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
command -v openssl >/dev/null || { echo "make-secrets: openssl is not installed" >&2; exit 1; }

umask 077
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

make_ca() {
  new_key "$work/ca.key"
  openssl req -x509 -new -key "$work/ca.key" -sha256 -days "$days" -subj "/CN=muster-ca" -out "$work/ca.crt" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign"
}

sign() {  # FOLDER COMMON-NAME USAGE [DNS-NAMES]
  local folder="$work/$1"
  mkdir "$folder"
  new_key "$folder/tls.key"
  {
    echo "basicConstraints=critical,CA:FALSE"
    echo "keyUsage=critical,digitalSignature"
    echo "extendedKeyUsage=$3"
    if [ -n "${4:-}" ]; then echo "subjectAltName=$4"; fi
  } > "$work/extensions"
  openssl req -new -key "$folder/tls.key" -subj "/CN=$2" -out "$work/request"
  openssl x509 -req -in "$work/request" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -sha256 \
    -days "$days" -extfile "$work/extensions" -out "$folder/tls.crt" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
  cp "$work/ca.crt" "$folder/ca.crt"
}

print_secret() {  # NAME FOLDER
  printf -- '---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata:\n  name: %s\n  namespace: muster-system\ndata:\n' "$1"
  local file
  for file in ca.crt tls.crt tls.key; do
    printf '  %s: %s\n' "$file" "$(openssl base64 -A -in "$work/$2/$file")"
  done
}

make_ca
sign extender muster serverAuth "DNS:muster.muster-system.svc,DNS:muster.muster-system.svc.cluster.local"
sign scheduler muster-scheduler clientAuth
if [ -n "$out" ]; then
  mkdir "$out"
  cp -r "$work/extender" "$work/scheduler" "$out/"
fi
sed -n '1,/^---$/{/^---$/!p;}' "$(dirname "${BASH_SOURCE[0]}")/../base/namespace.yaml"
print_secret muster-tls extender
print_secret muster-scheduler-tls scheduler
