// DomainUse: which nodes of each domain are free as a whole, and in which some GPU is taken.
// Losses: what the rest of the cluster loses when free nodes of a domain are taken (internal to
// policy/).
//
// DomainUse keeps what it counted as long as a node's chunk stays (followed_sums.hpp), and the
// records of its nodes do. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "cluster/holdings/snapshot.hpp"
#include "policy/search/followed_sums.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

class DomainUse {
 public:
  void Follow(const cluster::FreeTable& free, const cluster::NodeTable& nodes,
              const std::shared_ptr<const topology::Fabric>& fabric);
  // Valid after Follow. Nodes with a GPU that is not free as a whole, or that are down.
  int64_t TakenIn(topology::DomainId domain) const { return sums_.sums().Of(domain) / kTaken; }
  // Nodes with GPUs all of which are.
  int64_t FreeIn(topology::DomainId domain) const { return sums_.sums().Of(domain) % kTaken; }

 private:
  // A taken node counts so much, a free one 1; there are fewer than that.
  static constexpr int64_t kTaken = int64_t{1} << 32U;
  FollowedSums sums_;
  cluster::NodeTable nodes_;  // that were followed
};

// So many free nodes of a domain are taken.
struct Opening {
  topology::DomainId domain = topology::kNoDomain;
  int64_t nodes = 0;
};

// Refers to its arguments.
class Losses {
 public:
  Losses(const topology::Fabric& fabric, const DomainUse& use) : fabric_(fabric), use_(use) {}
  // Which of two loses less: below 0, 0, above 0. A strict weak order. What takes no free node
  // loses nothing; of others:
  //   1. In a domain with one free node nothing is broken up: it loses less than any other.
  //   2. The largest domain that is wholly free and would not be any more, by its nodes; a smaller
  //      one is less.
  //   3. Slots of 1, 2, 4 … free nodes of the domain: ⌊free / s⌋ before less that afterwards; the
  //      smallest slots first.  4. Likewise for the domains around them, outwards; where those are
  //      equal as far as they go, the one with more domains around it loses less.
  //   5. Fewer nodes.
  int Compare(const Opening& a, const Opening& b) const;

 private:
  int64_t LargestLost(const Opening& opening) const;
  int CompareSlots(const Opening& a, const Opening& b) const;

  const topology::Fabric& fabric_;
  const DomainUse& use_;
};

}  // namespace muster::policy
