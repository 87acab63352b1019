// Labels and annotations that are read and written here, by name. Constants.
#pragma once

#include "cluster/records/node.hpp"

namespace muster::kube {

// Labels and annotations that are Muster's own (see also cluster/records/pod.hpp).
inline constexpr const char* kRoleLabel = "muster.dev/role";
// KAI's, on a pod or on one of its PodGroups: the name of the PriorityClass of the gang.
inline constexpr const char* kKaiPriorityLabel = "priorityClassName";
// On a pod: how many members its gang needs to start, where no PodGroup object says so.
inline constexpr const char* kMinMemberAnnotation = "muster.dev/min-member";
// A pod's number in its Job, and its Job's in the JobSet, as their controllers write them.
inline constexpr const char* kCompletionIndex = "batch.kubernetes.io/job-completion-index";
inline constexpr const char* kJobIndex = "jobset.sigs.k8s.io/job-global-index";
// On a node, label or annotation: "fractional" or "exclusive".
inline constexpr const char* kGpuSharing = "muster.dev/gpu-sharing";
// On a node: its devices as a JSON list, see node_devices.hpp.
inline constexpr const char* kGpuDevicesAnnotation = "muster.dev/gpu-devices";
// On a node: how its GPUs are connected, the text of `nvidia-smi topo -m` or of a tool like it.
inline constexpr const char* kGpuTopologyAnnotation = "muster.dev/gpu-topology";
// topologyManagerPolicy of the node's kubelet.
inline constexpr const char* kNumaPolicyAnnotation = "muster.dev/topology-manager-policy";
struct NumaPolicyName {
  const char* name;
  cluster::NumaPolicy policy;
};
inline constexpr NumaPolicyName kNumaPolicyNames[] = {
    {"none", cluster::NumaPolicy::kNone},
    {"best-effort", cluster::NumaPolicy::kBestEffort},
    {"restricted", cluster::NumaPolicy::kRestricted},
    {"single-numa-node", cluster::NumaPolicy::kSingleNumaNode}};
// On a pod written from a record that has a defect: the defect, which nothing else would show.
inline constexpr const char* kDefectAnnotation = "muster.dev/defect";

}  // namespace muster::kube
