// Slots: how many pods of a shape there is room for, in every domain of a fabric (internal to
// policy/).
//
// Counted node by node and kept (followed_sums.hpp), as long as the node records stay too. The
// answer never depends on what is kept.
//
// One belongs to a shape and a Search::memory; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
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

 private:
  FollowedSums sums_;
};

struct DomainRoom;

// By DomainId: how the roles, the hardest first, fit there.
std::vector<DomainRoom> RoomByDomain(const Search& search, const std::vector<Role>& roles,
                                     const std::shared_ptr<const topology::Fabric>& fabric);

struct NodeRoom;

// The nodes that have room for each of the roles, taken by itself; rising. None with GPUs where no
// role wants any.
std::vector<NodeRoom> SingleNodes(const Search& search, const std::vector<Role>& roles,
                                  const std::shared_ptr<const topology::Fabric>& fabric);

}  // namespace muster::policy
