#!/usr/bin/env bash
# Lists the labels and annotations that other schedulers know, from the constants in their sources:
#   tests/kube/dialect_keys.sh DIRECTORY > tests/kube/dialect_keys.txt
# DIRECTORY holds git clones named volcano, KAI-Scheduler, koordinator, kueue and HAMi. What Muster makes of each key is
# in kube/dialects/dialect_keys.cpp.
set -euo pipefail
cd "$1"

# The keys that match PATTERN, an extended regular expression, in the files of a clone that are named. Constants of
# Koordinator and Volcano are a prefix and a rest.
keys() { # CLONE PATTERN FILES...
  local clone="$1" pattern="$2"
  shift 2
  printf '# %s %s\n' "$clone" "$(git -C "$clone" rev-parse --short=8 HEAD)"
  git -C "$clone" grep -hE '["`]' HEAD -- "$@" ':!*_test.go' \
    | sed -E 's#\bInternalSchedulingDomainPrefix \+ "#"internal.scheduling.koordinator.sh#
      s#\bSchedulingDomainPrefix \+ "#"scheduling.koordinator.sh#
      s#\bAnnotationGangPrefix \+ "#"gang.scheduling.koordinator.sh#
      s#\bQuotaKoordinatorPrefix \+ "#"quota.scheduling.koordinator.sh#
      s#\bNodeDomainPrefix \+ "#"node.koordinator.sh#
      s#\bPodDomainPrefix \+ "#"pod.koordinator.sh#
      s#\bDomainPrefix \+ "#"koordinator.sh/#
      s#\bAnnotationPrefix \+ "#"volcano.sh/#
      s#\bGroupName \+ "#"scheduling.volcano.sh#' \
    | grep -oE "[\"\`]($pattern)[\"\`]" | tr -d '"`' | LC_ALL=C sort -u
}

keys volcano '((scheduling\.)?volcano\.sh|scheduling\.k8s\.io)/[a-z-]+' staging/src/volcano.sh/apis/pkg/apis/scheduling \
  staging/src/volcano.sh/apis/pkg/apis/batch staging/src/volcano.sh/apis/pkg/apis/topology pkg/scheduler/api pkg/scheduler/plugins pkg/controllers/podgroup
kai='(kai\.scheduler|runai)/[a-z-]+|pod-group-name|gpu-(fraction|memory)[a-z-]*|mps|received-resource-type|runai-gpu-group'
keys KAI-Scheduler "$kai|project|user|priorityClassName" \
  pkg/common/constants pkg/scheduler/constants/labels pkg/podgrouper/podgrouper/plugins/constants
keys koordinator '([a-z]+\.)*koordinator\.sh/[A-Za-z.-]+|pod-group\.scheduling\.sigs\.k8s\.io/[a-z-]+' apis/extension
keys kueue 'kueue\.x-k8s\.io/[a-z-]+' pkg/controller/constants pkg/controller/jobs/pod/constants apis/kueue/v1beta2
keys HAMi '(hami\.io|nvidia\.com)/[a-z.-]+' pkg/util/types.go pkg/device/nvidia/device.go pkg/device/nvidia/links.go
