// UsedFirst: which domains a pod by itself is tried in first, so that small jobs break no whole
// racks. DomainUse: in which domains some GPU is taken (internal to policy/).
//
// DomainUse keeps a count for each node as long as the node's chunk stays (its token) and the
// fabric does. So following a snapshot costs one comparison per chunk, and a look at the nodes of
// those that changed. One thread at a time.
#pragma once

#include <memory>

#include "cluster/snapshot.hpp"
#include "policy/followed_sums.hpp"
#include "topology/fabric.hpp"

namespace muster::policy {

class DomainUse {
 public:
  void Follow(const cluster::FreeTable& free,
              const std::shared_ptr<const topology::Fabric>& fabric);
  // Valid after Follow.
  bool At(topology::DomainId domain) const { return taken_.sums().Of(domain) > 0; }

 private:
  FollowedSums taken_;  // by node: 1 where not all of its GPUs are free
};

// Orders the domains of one level.
//   1. Those in use first; of equal ones those in a domain in use, and so on outwards.
//   2. Then those with the least room left; of equal ones likewise outwards.  3. By DomainId.
// Refers to its arguments. `slots`: how many such pods have room, by domain.
class UsedFirst {
 public:
  UsedFirst(const topology::Fabric& fabric, const DomainUse& use, const topology::DomainSums& slots)
      : fabric_(fabric), use_(use), slots_(slots) {}
  bool operator()(topology::DomainId a, topology::DomainId b) const;

 private:
  template <typename Of>
  int Outwards(topology::DomainId a, topology::DomainId b, const Of& of) const;

  const topology::Fabric& fabric_;
  const DomainUse& use_;
  const topology::DomainSums& slots_;
};

}  // namespace muster::policy
