// Resizing a running pod in place (pods/resize): what its kubelet makes of it, and what it holds
// meanwhile. Pure functions; what they work on is in PodRecord.
//
//   ApiServer::ResizePod ──▶ spec ──kubelet──▶ allocated ──kubelet──▶ in force
//                                     │ larger than the node:            Infeasible
//                                     │ the others leave too little:     Deferred, until they do
//
// CPU and memory only, of the pod as a whole, and of pods that run.
#pragma once

#include <memory>
#include <optional>

#include "sim/api_server/records.hpp"

namespace muster::sim {

// What kube-scheduler counts for the pod, and Muster's decoder (kube/decode/pod_holds.hpp): the
// most of what it asks for, is allocated and has; but not what its kubelet has called infeasible.
// Null: what its spec requests.
std::shared_ptr<const cluster::Resources> ResizedOf(const PodRecord& pod);

// It has what its spec requests, and nothing is pending.
bool IsResized(const PodRecord& pod);

// What the kubelet has allocated to the pod.
const cluster::Resources& AllocatedTo(const PodRecord& pod);

// The kubelet's next step. `others`: what it has allocated to the other pods of the node. Nothing:
// there is none for now.
std::optional<ResizeStatus> NextStep(const PodRecord& pod, const cluster::Resources& allocatable,
                                     const cluster::Resources& others);

}  // namespace muster::sim
