// ReadPod: the body of a pod, shared by pods and pod templates. For the decoders of kube/ only.
#pragma once

#include "cluster/records/pod.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// Fills in everything but the identity (UID, key, times, version) from a Pod or a PodTemplateSpec.
// What is malformed is a problem of the view. These decide, first match first:
//   PodGroup  spec.schedulingGroup.podGroupName; labels scheduling.x-k8s.io/pod-group,
//   scheduling.k8s.io/pod-group,
//             pod-group.scheduling.sigs.k8s.io, pod-group.scheduling.sigs.k8s.io/name,
//             kueue.x-k8s.io/pod-group-name (not with annotation
//             kueue.x-k8s.io/pod-group-serving: "true"), grove.io/podgang; annotations
//             scheduling.k8s.io/group-name, scheduling.volcano.sh/group-name, pod-group-name,
//             gang.scheduling.koordinator.sh/name
//   its size  annotations muster.dev/min-member, scheduling.volcano.sh/group-min-member,
//             kueue.x-k8s.io/pod-group-total-count, gang.scheduling.koordinator.sh/min-available,
//             labels pod-group.scheduling.sigs.k8s.io/min-available, fluence.group-size
//             beside it: ReadKoordinatorGang
//   role      label muster.dev/role, annotation or label volcano.sh/task-spec (getTaskRole in
//             pkg/scheduler/api/job_info.go of Volcano), labels kai.scheduler/subgroup-name,
//             grove.io/podclique
//   index     label or annotation batch.kubernetes.io/job-completion-index, labels
//             leaderworkerset.sigs.k8s.io/worker-index (before apps.kubernetes.io/pod-index, which
//             such pods have too, and which counts the groups there), grove.io/podclique-pod-index,
//             training.kubeflow.org/replica-index, ray.io/replica-host-index,
//             kueue.x-k8s.io/pod-group-pod-index, apps.kubernetes.io/pod-index; what is no whole
//             number is passed over
//   job_index label or annotation jobset.sigs.k8s.io/job-global-index, label
//             ray.io/worker-group-replica-index
//   queue     see ReadQueueName
void ReadPod(const JsonView& pod, const DecodeOptions& options, cluster::Pod& record);

// "0,3" -> indices, as the annotation muster.dev/gpus has them; empty when it is malformed.
std::vector<cluster::GpuIndex> ParseGpuIndices(std::string_view text);

}  // namespace muster::kube
