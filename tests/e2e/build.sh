#!/usr/bin/env bash
# Builds the real programs of a control plane from their Go modules: build.sh FOLDER...
# A FOLDER is kubernetes/VERSION (v1.37, v1.36, v1.34), kwok, kueue, operators or autoscalers; or previous: the release before this
# one, which previous_release names. Programs land in build/e2e/bin/<its last part>/, each beside a key: the hash of what it was built from.
# Where the key still fits, nothing is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

needed_minor=26
bin="$(cd ../.. && pwd)/build/e2e/bin"
parallel="${MUSTER_E2E_JOBS:-2}"

say() { printf '%s\n' "$*"; }

require_go() {
  local version=""
  if command -v go >/dev/null; then
    version="$(cd kubernetes/v1.37 && go env GOVERSION)"
  fi
  case "$version" in
    go1.*) if [ "$(sed 's/^go1\.\([0-9]*\).*/\1/' <<<"$version")" -ge "$needed_minor" ]; then return; fi ;;
  esac
  say "The end-to-end tests build Kubernetes from its Go modules and need Go 1.$needed_minor or newer; found: ${version:-no go in PATH}." >&2
  say "Install it from https://go.dev/dl and put it into PATH." >&2
  exit 1
}

# The flags that make a program say its release; without them version-dependent features misbehave.
version_flags() {  # v1.37.0
  local package minor key
  minor="${1#v1.}"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    for key in gitVersion="$1" gitMajor=1 gitMinor="${minor%%.*}" gitTreeState=clean gitCommit=release \
               buildDate=1970-01-01T00:00:00Z; do
      printf -- '-X %s.%s ' "$package" "$key"
    done
  done
}

build_one() {  # FOLDER PACKAGE [extra linker flags] [name of the program]
  local folder="$1" package="$2" flags="-s -w ${3:-}" name="${4:-$(basename "$2")}" out key begin="$SECONDS"
  out="$bin/$(basename "$folder")/$name"
  key="$(cat <(go version) "$folder/go.mod" "$folder/go.sum" \
    <(printf '%s %s%s' "$package" "$flags" "${modfile:+$(declare -f adapted)}") | sha256sum)"
  if [ -x "$out" ] && [ "$(cat "$out.key" 2>/dev/null)" = "$key" ]; then
    return
  fi
  say "building $(basename "$folder")/$name ..."
  (cd "$folder" && CGO_ENABLED=0 nice go build -mod=mod -trimpath -p "$parallel" ${modfile:+-modfile "$modfile"} -ldflags "$flags" \
    -o "$out.new" "$package") || return 1
  mv "$out.new" "$out"
  printf '%s' "$key" > "$out.key"
  say "built    $(basename "$folder")/$name in $((SECONDS - begin)) s"
}

build_kubernetes() {
  local folder="$1" version program flags
  version="$(awk '$1 == "k8s.io/kubernetes" { print $2 }' "$folder/go.mod")"
  flags="$(version_flags "$version")"
  build_one "$folder" ./etcd
  for program in kube-apiserver kube-scheduler kube-controller-manager kubectl; do
    build_one "$folder" "k8s.io/kubernetes/cmd/$program" "$flags"
  done
}

# KWOK's stages say what its kubelets do; they are files of the same module.
build_kwok() {
  local folder="$1" module
  build_one "$folder" sigs.k8s.io/kwok/cmd/kwok
  module="$(cd "$folder" && go list -mod=mod -m -f '{{.Dir}}' sigs.k8s.io/kwok)"
  mkdir -p "$bin/kwok/stages"
  for stage in pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete node/fast/node-initialize \
               node/heartbeat-with-lease/node-heartbeat-with-lease; do
    install -m 0644 "$module/kustomize/stage/$stage.yaml" "$bin/kwok/stages/"
  done
}

# Its manifests are files of the same module. It asks cluster-autoscaler for nodes, too, whose module has the definition.
build_kueue() {
  local folder="$1" module part apis=k8s.io/autoscaler/cluster-autoscaler/apis
  build_one "$folder" sigs.k8s.io/kueue/cmd/kueue
  module="$(cd "$folder" && go list -mod=mod -m -f '{{.Dir}}' sigs.k8s.io/kueue)"
  rm -rf "$bin/kueue/config"
  for part in crd rbac internalcert webhook; do
    mkdir -p "$bin/kueue/config/$part"
    cp -R --no-preserve=mode "$module/config/components/$part/." "$bin/kueue/config/$part/"
  done
  (cd "$folder" && go mod download "$apis") # else it may have no folder yet
  module="$(cd "$folder" && go list -mod=mod -m -f '{{.Dir}}' "$apis")"
  mkdir -p "$bin/kueue/config/autoscaler"
  cp --no-preserve=mode "$module/config/crd/"*.yaml "$bin/kueue/config/autoscaler/"
}

# One module for all of them: they share Kubernetes' libraries, which then are compiled once. The manifests are those of their
# modules. Each that does not build is named, and the others go on.
build_operators() {
  local folder="$1" failed=0 module
  operator "$folder" jobset sigs.k8s.io/jobset . config/components/{crd,rbac,webhook} || failed=1
  operator "$folder" lws sigs.k8s.io/lws cmd config/{crd,rbac,webhook} || failed=1
  operator "$folder" training-operator github.com/kubeflow/training-operator cmd/training-operator.v1 manifests/base || failed=1
  operator "$folder" mpi-operator github.com/kubeflow/mpi-operator cmd/mpi-operator manifests/base || failed=1
  operator "$folder" trainer github.com/kubeflow/trainer/v2 cmd/trainer-controller-manager manifests/base || failed=1
  module=github.com/ray-project/kuberay/ray-operator
  modfile="$(adapted "$folder" kuberay "$module" pkg/webhooks/v1)" \
    operator "$folder" kuberay "$module" . config/crd/bases || failed=1
  module=github.com/project-codeflare/appwrapper
  modfile="$(adapted "$folder" appwrapper "$module" internal/webhook)" \
    operator "$folder" appwrapper "$module" cmd config/{crd/bases,webhook} || failed=1
  return "$failed"
}

# These two name their webhooks as an older controller-runtime than that of the others wants it. A copy of the module does it as the
# newer one wants it; nothing else of it is changed.
adapted() {  # FOLDER NAME MODULE FOLDER_OF_WEBHOOKS
  local folder="$1" module="$3" copy="$bin/$1/source/$2" file="$bin/$1/source/$2.mod"
  (cd "$folder" && go mod download "$module") # else it may have no folder yet
  rm -rf "$copy"
  mkdir -p "$bin/$1/source"
  cp -R --no-preserve=mode "$(cd "$folder" && go list -mod=mod -m -f '{{.Dir}}' "$module")" "$copy"
  rm -f "$copy/$4/"*_test.go
  perl -0pi -e 's/NewWebhookManagedBy\(mgr\)\.\s*For\(([^)]*)\)/NewWebhookManagedBy(mgr, $1)/g; s/\bWith(Defaulter|Validator)\(/WithCustom$1(/g' \
    "$copy/$4/"*.go
  cp "$folder/go.mod" "$file"
  cp "$folder/go.sum" "${file%.mod}.sum"
  go mod edit -replace "$module=$copy" "$file"
  printf '%s' "$file"
}

operator() {  # FOLDER NAME MODULE PACKAGE MANIFESTS...
  local folder="$1" name="$2" module="$3" package="$3/${4#.}" source part
  shift 4
  if ! build_one "$folder" "${package%/}" "" "$name"; then
    say "$name does not build; its tests are skipped" >&2
    return 1
  fi
  source="$(cd "$folder" && go list -mod=mod -m -f '{{.Dir}}' "$module")"
  rm -rf "$bin/$folder/manifests/$name"
  for part in "$@"; do
    mkdir -p "$bin/$folder/manifests/$name/$part"
    cp -R --no-preserve=mode "$source/$part/." "$bin/$folder/manifests/$name/$part/"
  done
}

# Karpenter and cluster-autoscaler, each with its KWOK provider, and each with its own Kubernetes libraries.
build_autoscalers() {
  local failed=0
  operator karpenter karpenter sigs.k8s.io/karpenter kwok pkg/apis/crds kwok/apis/crds || failed=1
  build_cluster_autoscaler || failed=1
  return "$failed"
}

# Its go.mod names a module of the same repository by a folder that the proxy does not have, so a copy is built.
build_cluster_autoscaler() {
  local out="$bin/cluster-autoscaler" package=k8s.io/autoscaler/cluster-autoscaler version=v0.0.0-20250613073258-1959f5f61f6c
  local apis=v0.0.0-20240830133931-adfbe7e45277 module key begin="$SECONDS"
  key="$(printf '%s %s %s' "$(go version)" "$version" "$apis")"
  if [ -x "$out/cluster-autoscaler" ] && [ "$(cat "$out/cluster-autoscaler.key" 2>/dev/null)" = "$key" ]; then
    return
  fi
  module="$(cd / && go mod download -json "$package@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
  if [ -z "$module" ]; then
    say "cluster-autoscaler: $package@$version cannot be had; the tests with it are skipped" >&2
    return 1
  fi
  say "building cluster-autoscaler ..."
  rm -rf "$out"
  mkdir -p "$out"
  cp -R --no-preserve=mode "$module" "$out/source"
  (cd "$out/source" && go mod edit -dropreplace "$package/apis" -require "$package/apis@$apis" \
    && CGO_ENABLED=0 nice go build -mod=mod -trimpath -p "$parallel" -tags kwok -o "$out/cluster-autoscaler.new" .) || return 1
  mv "$out/cluster-autoscaler.new" "$out/cluster-autoscaler"
  printf '%s' "$key" > "$out/cluster-autoscaler.key"
  say "built    cluster-autoscaler in $((SECONDS - begin)) s"
}

# Muster's release before this one: its binary and its manifests. MUSTER_E2E_PREVIOUS_CMAKE has further flags of CMake.
build_previous() {
  local out="$bin/previous" ref commit source begin="$SECONDS"
  ref="$(grep -v '^#' previous_release)"
  if ! commit="$(git rev-parse --quiet --verify "$ref^{commit}")"; then
    say "this clone does not have $ref, which previous_release names: git fetch --unshallow --tags" >&2
    return 1
  fi
  if [ -x "$out/muster" ] && [ "$(cat "$out/muster.key" 2>/dev/null)" = "$commit" ]; then
    return
  fi
  source="$out/source/$commit" # what an interrupted build has made stays
  if [ ! -d "$source" ]; then
    rm -rf "$out/source"
    mkdir -p "$source"
    git -C ../.. archive "$commit" | tar -x -C "$source"
  fi
  say "building previous/muster ($ref) ..."
  # shellcheck disable=SC2086
  (cd "$source" && cmake --preset release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=6 ${MUSTER_E2E_PREVIOUS_CMAKE:-} \
    >"$out/build.log" && nice cmake --build build/release -j "$parallel" --target muster >>"$out/build.log") || {
    say "it does not build: $out/build.log" >&2
    return 1
  }
  rm -rf "$out/manifests"
  cp -R "$source/manifests" "$out/manifests"
  cp "$source/build/release/muster" "$out/muster.new"
  mv "$out/muster.new" "$out/muster"
  printf '%s' "$commit" > "$out/muster.key"
  say "built    previous/muster in $((SECONDS - begin)) s"
}

if [ "$#" -eq 0 ]; then
  say "usage: build.sh FOLDER...   (kubernetes/v1.37, kubernetes/v1.34, kwok, kueue, operators, autoscalers, previous)" >&2
  exit 2
fi
require_go
for folder in "$@"; do
  mkdir -p "$bin/$(basename "$folder")"
  case "$folder" in
    kwok) build_kwok "$folder" ;;
    kueue) build_kueue "$folder" ;;
    operators) build_operators "$folder" ;;
    autoscalers) build_autoscalers ;;
    previous) build_previous ;;
    *) build_kubernetes "$folder" ;;
  esac
done
