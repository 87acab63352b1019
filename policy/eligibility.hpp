// Eligibility: what can be said about (pod spec, node) as long as the node records stay as they
// are, so that a placement looks at free numbers only (internal to policy/). Immutable once built.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/pod.hpp"
#include "cluster/snapshot.hpp"

namespace muster::policy {

// Why a node is out whatever is free on it; in the order in which kube-scheduler looks.
enum class Bar : uint8_t { kNone, kNoNode, kUnschedulable, kTaint, kConstraint };

struct Eligibility {
  std::vector<Bar> bars;  // by node index
  // What the pod takes of each device where all devices of the node are alike; -1: they differ; 0:
  // they cannot serve it.
  std::vector<int16_t> share;
};

Eligibility Judge(const cluster::PodSpec& spec, const cluster::NodeTable& nodes);

// Position of each node in the order of names, by node index.
std::vector<uint32_t> NameRanks(const cluster::NodeTable& nodes);

}  // namespace muster::policy
