// ExpandNodePools: many alike nodes of an embedded cluster from one document.
//
//   apiVersion: sim.muster.dev/v1alpha1
//   kind: NodePool
//   metadata: {name: gpu}
//   spec:
//     count: 16                # nodes gpu-00 to gpu-15, with as many digits as the last one needs
//     template:
//       metadata:
//         labels: {rack: "rack-{index/4}"}
//         annotations: {}
//       spec: {}               # as in a Node: taints, unschedulable
//       status: {allocatable: {cpu: "96", nvidia.com/gpu: "8"}}
//
// In the values of labels and annotations, {name} is the node's name, {index} its number from 0,
// {index/N} that number divided by N without remainder, {index%N} the remainder. What a kubelet
// would fill in is filled in where the template leaves it out: the label kubernetes.io/hostname,
// status.capacity (as allocatable) and the condition Ready. Pure function, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/documents/manifest.hpp"

namespace muster::config {

inline constexpr std::string_view kNodePoolApiVersion = "sim.muster.dev/v1alpha1";
inline constexpr std::string_view kNodePoolKind = "NodePool";

// Every NodePool replaced by a Node document (apiVersion v1) per node, the rest as it was.
// Locations of those documents lead to the template.
cluster::Result<std::vector<ManifestDocument>> ExpandNodePools(
    std::vector<ManifestDocument> documents);

}  // namespace muster::config
