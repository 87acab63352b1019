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

#include "policy/followed_sums.hpp"
#include "topology/fabric.hpp"

namespace muster::policy {

struct Shape;
struct Role;
class Search;

class Slots {
 public:
  void ForgetChunk(uint32_t chunk) { sums_.ForgetChunk(chunk); }
  // For `search`, which is not within a set of nodes.
  const topology::DomainSums& Follow(const Search& search, const Shape& shape,
                                     const std::shared_ptr<const topology::Fabric>& fabric);
  // After Follow: so many pods have a ring of at least so much in the domain, on the node, if they
  // get the fastest ones; MB/s. 0: rings are not known, or do not matter.
  uint32_t RingIn(topology::DomainId domain, int64_t pods) const;
  uint32_t RingOn(cluster::NodeIndex node, int64_t pods) const;

 private:
  void Note(const Search& search, const Shape& shape, cluster::NodeIndex node, int64_t pods);

  FollowedSums sums_;
  // Of all slots seen on this fabric; nothing: none, or several.
  std::optional<uint32_t> ring_;
  bool several_rings_ = false;
  // Where there are several: the slots that have it, the fastest ring first.
  std::map<uint32_t, topology::DomainSums, std::greater<>> by_ring_;
};

struct DomainRoom;

class DomainUse;

// By DomainId: how the roles, the hardest first, fit there. `use`: of the same fabric.
std::vector<DomainRoom> RoomByDomain(const Search& search, const std::vector<Role>& roles,
                                     const std::shared_ptr<const topology::Fabric>& fabric,
                                     const DomainUse& use);

struct NodeRoom;

// The nodes that have room for each of the roles, taken by itself; rising. None with GPUs where no
// role wants any.
std::vector<NodeRoom> SingleNodes(const Search& search, const std::vector<Role>& roles,
                                  const std::shared_ptr<const topology::Fabric>& fabric);

}  // namespace muster::policy
