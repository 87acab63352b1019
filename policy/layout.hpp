// Divide: over which domains of a fabric pods that are alike are divided (internal to policy/).
// Pure function of the counts.
//
// 1. Below the domain that holds them all they use as few domains of the next level as can be; then
//    of the level below that, and so on.
// 2. Those of one level hold equal shares, as far as there is room.
// 3. Ties go to the domains with the least room, then by DomainId.
//
// 1 is exact where shares are equal, else a rule: the largest domains hold what they can. Domains
// of one level are compared one by one, not in combination.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/node_set.hpp"
#include "topology/fabric.hpp"

namespace muster::policy {

// A domain in which `count` pods are to be placed.
struct Part {
  std::shared_ptr<const cluster::NodeSet> nodes;
  int64_t count = 0;
};

struct LayoutScope {
  const topology::Fabric& fabric;
  size_t tree = 0;
  topology::DomainId domain = topology::kNoDomain;  // kNoDomain: all domains of the tree
};

// Those of the outermost level below the scope.
const std::vector<topology::DomainId>& DomainsBelow(const LayoutScope& scope);

// `room`: by DomainId, how many of the pods fit there; that of a domain is the sum of those of its
// children, or more: nodes that are in none of them. In the order of the fabric. Empty when the
// domains below do not hold `count`; then nodes outside of them are needed.
std::vector<Part> Divide(const LayoutScope& scope, const std::vector<int64_t>& room, int64_t count);

}  // namespace muster::policy
