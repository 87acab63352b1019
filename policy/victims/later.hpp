// PlaceLater: where a whole gang finds room first when others leave one after the other.
// PlaceByClosing: which nodes to close so that it finds room as soon as those who are there leave.
//
// Pure: no clock, no randomness, the same answer for the same input.
//
// 1. The answer needs the shortest prefix of what leaves; where more room makes a gang of unequal
//    pods fail, some prefix with which it fits. Costs O(log n) plans.
// 2. A gang that fits as it is needs no step: `steps` is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "policy/placing/placement.hpp"

namespace muster::policy {

// What becomes free together.
using Leaving = std::vector<cluster::Placement>;

struct LaterAnswer {
  bool placed = false;
  size_t steps = 0;                            // so many of them, from the first
  std::vector<cluster::Placement> placements;  // in the order of the demands
};

LaterAnswer PlaceLater(Placer& placer, const std::shared_ptr<const cluster::Snapshot>& snapshot,
                       const std::vector<Leaving>& steps, const std::vector<Demand>& demands,
                       const GangTerms& terms);

// A node, and what would leave it in time.
struct BusyNode {
  cluster::NodeIndex node;
  int64_t gpu_milli = 0;  // of that
  cluster::Time last;     // when the last of them started
  Leaving leave;
};

// Of the domains of `level` (empty: of all nodes as one) the first in which the gang fits when all
// have left: by GPUs in use, then by the start of the last one, then by name; in it the first nodes
// by the same key. `steps`: of no meaning.
LaterAnswer PlaceByClosing(Placer& placer, const std::shared_ptr<const cluster::Snapshot>& snapshot,
                           std::vector<BusyNode> nodes, const std::string& level,
                           const GangRequest& request);

}  // namespace muster::policy
