// How the GPUs of a node are connected, from the best source that the node object has. For kube/
// only.
//
//   1. annotation muster.dev/gpu-topology: what topology::ParseMachine reads, with links
//   2. annotation hami.io/node-nvidia-score: HAMi's scores of pairs,
//      [{"uuid": "GPU-a", "score": {"GPU-b": 150, …}}, …]: for each pair the PCIe relation, 0 to
//      60, and 100 for each NVLink. The devices that the node offers must have UUIDs; what it says
//      of others counts for nothing.
// A source that is malformed, or of another machine than the node is, is left out, with a warning,
// for the next one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/selector.hpp"
#include "topology/links/machine.hpp"

namespace muster::kube {

inline constexpr const char* kHamiScoresAnnotation = "hami.io/node-nvidia-score";

// Sets node.topology and its source. The node's labels and devices are there already.
void ReadNodeLinks(const cluster::Labels& annotations, cluster::Node& node,
                   std::vector<std::string>& warnings);

// HAMi's scores (hami_scores.cpp), for the whole devices among `gpus`, in their order. Errors name
// the annotation and the place in it.
cluster::Result<topology::Machine> ParseHamiScores(std::string_view text,
                                                   const std::vector<cluster::Gpu>& gpus);
// A text that ParseHamiScores reads as node.topology, for a node with this source.
void AppendHamiScores(std::string& out, const cluster::Node& node);

}  // namespace muster::kube
