#!/usr/bin/env bash
# Writes the module from which one Kubernetes version is built: add_version.sh 1.37.0 makes v1.37/.
# Kubernetes' own go.mod names its staging modules by folder; here each is the published module of the same release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version="${1:?usage: add_version.sh 1.37.0}"
staging="v0.${version#1.}"
folder="v${version%.*}"

go_mod="$(cd / && go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')"
mkdir -p "$folder/etcd"
cat > "$folder/etcd/main.go" <<'END'
// Command etcd is the real etcd, in the release that this Kubernetes version asks for.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
END
cat > "$folder/tools.go" <<'END'
//go:build tools

// Package tools names the programs of a control plane, so that go.mod holds what they need.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
END
{
  printf 'module muster.dev/e2e/kubernetes/%s\n\n' "$folder"
  grep -E '^(go|godebug) ' "$go_mod"
  printf '\nrequire (\n\tk8s.io/kubernetes v%s\n' "$version"
  sed -n 's/^\t\(go\.etcd\.io\/etcd\/server\/v3 v[^ ]*\).*/\t\1/p' "$go_mod"
  printf ')\n\nreplace (\n'
  sed -n "s|^\t\(k8s\.io/[a-z-]*\) => \./staging/src/.*|\t\1 => \1 $staging|p" "$go_mod"
  printf ')\n'
} > "$folder/go.mod"
(cd "$folder" && go mod tidy)
