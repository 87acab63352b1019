#include "policy/search/slots.hpp"

#include <algorithm>

namespace muster::policy {

using cluster::NodeIndex;

void Slots::Note(NodeIndex node, const std::vector<uint32_t>& rings) {
  for (const uint32_t ring : rings) {
    if (several_rings_) {
      by_ring_.try_emplace(ring, sums_.sums().fabric());
    } else if (ring_.value_or(ring) != ring) {
      several_rings_ = true;  // all nodes are counted again
      return;
    } else {
      ring_ = ring;
    }
  }
  for (auto& [ring, sums] : by_ring_) sums.Set(node, std::count(rings.begin(), rings.end(), ring));
}

uint32_t Slots::RingIn(topology::DomainId domain, int64_t pods) const {
  for (const auto& [ring, sums] : by_ring_) {
    pods -= sums.Of(domain);
    if (pods <= 0) return ring;
  }
  return ring_.value_or(0);
}

uint32_t Slots::RingOn(NodeIndex node, int64_t pods) const {
  for (const auto& [ring, sums] : by_ring_) {
    if (node.value < sums.counts().size()) pods -= sums.counts()[node.value];
    if (pods <= 0) return ring;
  }
  return ring_.value_or(0);
}

}  // namespace muster::policy
