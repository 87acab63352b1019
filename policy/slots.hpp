// Slots: how many pods of a shape there is room for, in every domain of a fabric (internal to
// policy/).
//
// Counted node by node and kept while the free numbers of a chunk of 64 nodes (its token), the node
// records and the fabric stay. So asking again costs one comparison per chunk, a count of the nodes
// of those that changed, and a sum up for each count that did. The answer never depends on what is
// kept.
//
// One belongs to a shape and a Search::memory; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/snapshot.hpp"
#include "topology/fabric.hpp"

namespace muster::policy {

struct Shape;
struct Role;
class Search;

class Slots {
 public:
  // What is kept of that chunk says nothing any more.
  void ForgetChunk(uint32_t chunk) {
    if (chunk < tokens_.size()) tokens_[chunk] = nullptr;
  }
  // For `search`, which is not within a set of nodes.
  const topology::DomainSums& Follow(const Search& search, const Shape& shape,
                                     const std::shared_ptr<const topology::Fabric>& fabric);

 private:
  std::vector<cluster::FreeTable::Token> tokens_;  // of what is counted, by chunk
  std::unique_ptr<topology::DomainSums> sums_;
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
