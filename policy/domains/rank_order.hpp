// ByRank: which member of a role gets which of the places that were found for the role (internal to
// policy/). Pure function.
//
// Neighbours in rank become neighbours in the fabric: places are ordered by their domains from the
// outermost to the innermost, then by node, then as they were taken; pods by rank. So a ring of
// ranks, closed from the last to the first, leaves each domain once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

struct RankedPod {
  size_t demand = 0;
  uint32_t rank = 0;
  cluster::NodeIndex node;
  size_t taken = 0;    // when, among the places of the gang
  bool stays = false;  // it keeps its place
};

// For each pod's place (by its demand) the demand that gets it.
std::vector<std::pair<size_t, size_t>> ByRank(const topology::Fabric& fabric, size_t tree,
                                              std::vector<RankedPod> pods);

}  // namespace muster::policy
