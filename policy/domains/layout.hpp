// Divide: over which domains of a fabric pods that are alike are divided (internal to policy/).
// Pure functions of the counts.
//
// 1. Below the domain that holds them all they use as few domains of the next level as can be; then
//    of the level below that, and so on.
// 2. Those of one level hold equal shares, as far as there is room: shares as equal as can be. Or
//    they are packed: each but one is as full as can be, the ones with the most room first, and
//    that one has the rest, the least that can be.
// 3. Ties go to the domains with the least room, then by DomainId.
// 4. Where segments are asked for, the share of every domain is a multiple of what its level asks
//    for, and only room for whole segments counts.
//
// The first number of 1, and 2 at that level, are exact. For the levels below, domains are compared
// one by one, not in combination; and where shares cannot be equal the domains with the most room
// are taken.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/node_set.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

// A domain in which `count` pods are to be placed.
struct Part {
  topology::DomainId domain = topology::kNoDomain;
  int64_t count = 0;
};

// Below which domain a gang is divided.
struct LayoutScope {
  std::shared_ptr<const topology::Fabric> fabric;
  size_t tree = 0;
  topology::DomainId domain = topology::kNoDomain;  // kNoDomain: all domains of the tree
  topology::Multiples multiples = {};               // by level; empty: no segments
  bool packed = false;                              // as 2 says; else equal shares
};

// `room`: by DomainId, how many of the pods fit there; that of a domain is the sum of those of its
// children, or more: nodes that are in none of them. In the order of the fabric. Empty when the
// domains below do not hold `count`; then nodes outside of them are needed. A domain with none
// below it is one part.
std::vector<Part> Divide(const LayoutScope& scope, const std::vector<int64_t>& room, int64_t count);

// The same, but as many as have room there go into the innermost domains that `nodes` are in, and
// only the others elsewhere.
std::vector<Part> DivideNear(const LayoutScope& scope, const std::vector<int64_t>& room,
                             const std::vector<cluster::NodeIndex>& nodes, int64_t count);

// The same in segments, for a role of which `held` pods, by DomainId, have their places already:
// first what partial segments lack, the innermost first, then whole segments. Where `count` is less
// than that, the last segment stays partial, in a domain that has room for all of it. In the order
// of the fabric. Empty when it cannot be.
std::vector<Part> DivideInSegments(const LayoutScope& scope, std::vector<int64_t> room,
                                   std::vector<int64_t> held, int64_t count);

// The room in those domains, which are of one level and within the scope, and none elsewhere.
std::vector<int64_t> RoomWithin(const LayoutScope& scope, const std::vector<int64_t>& room,
                                const std::vector<topology::DomainId>& domains);

// By DomainId: how many of the nodes, each as often as it is named, lie there.
std::vector<int64_t> CountByDomain(const LayoutScope& scope,
                                   const std::vector<cluster::NodeIndex>& nodes);

// Whether pods on these nodes, one for each time that it is named, are in whole segments.
bool InWholeSegments(const LayoutScope& scope, const std::vector<cluster::NodeIndex>& nodes);

}  // namespace muster::policy
