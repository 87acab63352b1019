// Entitle: the share of one resource that each queue is entitled to (R1). Pure function.
//
//   demand of a leaf   = min(its limit, what it uses and what waits)
//   demand of a queue  = min(its limit, Σ demands of its children)
//   base               = min(its guarantee, its demand)
//
// From the root down: each child has its base, and what is left of the queue's share is poured over
// them in proportion to their weights, up to each one's demand. Children of weight 0 come last, in
// equal parts. Where the share is less than Σ bases, it is poured in proportion to the guarantees,
// up to each one's base.
#pragma once

#include <cstdint>
#include <vector>

#include "queues/tree.hpp"
#include "queues/wide.hpp"

namespace muster::queues {

// A fraction; never rounded.
struct Share {
  Wide over;
  Wide under = Wide(1);
  int64_t floor() const { return Floor(over, under); }
  bool operator==(const Share& other) const;
};

struct Entitlement {
  int64_t demand = 0;
  Share share;
  bool scaled = false;  // less than its base: the cluster has less than is guaranteed
};

// `demand` of each leaf: what it uses and what waits. Both by QueueIndex. `capacity`: of the root.
std::vector<Entitlement> Entitle(const Tree& tree, size_t resource, int64_t capacity,
                                 const std::vector<int64_t>& demand);

}  // namespace muster::queues
