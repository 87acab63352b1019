// Slots: how many pods of a shape there is room for, in every domain of a fabric (internal to
// policy/).
//
// Counted node by node and kept (followed_sums.hpp), as long as the node records stay too. The
// answer never depends on what is kept.
//
// One belongs to a shape and a Search::memory; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "policy/search/followed_sums.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

class Slots {
 public:
  void ForgetChunk(uint32_t chunk) { sums_.ForgetChunk(chunk); }
  // As things are in `free`. `pods(node)`: so many fit there; `rings(node, pods)`: the ring that
  // each of so many gets, where a pod takes several GPUs (`several`).
  template <typename Pods, typename Rings>
  const topology::DomainSums& Follow(const cluster::FreeTable& free,
                                     const std::shared_ptr<const topology::Fabric>& fabric,
                                     bool several, const Pods& pods, const Rings& rings) {
    if (!sums_.IsOf(fabric)) {
      ring_.reset();
      several_rings_ = false;
      by_ring_.clear();
    }
    const bool before = several_rings_;
    const auto count = [&](cluster::NodeIndex node) {
      const int64_t fit = pods(node);
      // None where none has room: the node may be gone.
      if (several && (fit > 0 || several_rings_))
        Note(node, fit > 0 ? rings(node, fit) : std::vector<uint32_t>());
      return fit;
    };
    sums_.Follow(free, fabric, count);
    if (several_rings_ == before) return sums_.sums();
    ring_.reset();
    sums_.ForgetAll();
    return sums_.Follow(free, fabric, count);
  }
  // After Follow: so many pods have a ring of at least so much in the domain, on the node, if they
  // get the fastest ones; MB/s. 0: rings are not known, or do not matter.
  uint32_t RingIn(topology::DomainId domain, int64_t pods) const;
  uint32_t RingOn(cluster::NodeIndex node, int64_t pods) const;

 private:
  void Note(cluster::NodeIndex node, const std::vector<uint32_t>& rings);

  FollowedSums sums_;
  // Of all slots seen on this fabric; nothing: none, or several.
  std::optional<uint32_t> ring_;
  bool several_rings_ = false;
  // Where there are several: the slots that have it, the fastest ring first.
  std::map<uint32_t, topology::DomainSums, std::greater<>> by_ring_;
};

}  // namespace muster::policy
