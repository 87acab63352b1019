// NodePromises: which nodes are kept for whom, of those who are to have so many each (internal to
// engine/; R14). Plain value of ShapeBook, and of a trial of what would become of it.
//
// 1. A node is promised to one claim at most.
// 2. Fill gives a claim the nodes that suit it best. Where none is left that it could have, it
//    takes one of another claim that can have another node. So all claims together get as many
//    nodes as they can.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "cluster/base/ids.hpp"

namespace muster::engine {

// How well a node suits a claim, the least first.
struct NodeSuits {
  // 0: only the claim's queue has GPUs there. 1: nobody has. 2: others have, who may be evicted.
  int kind = 0;
  int64_t others_milli = 0;  // GPUs of those
  std::string_view name;
  auto operator<=>(const NodeSuits&) const = default;
};

class NodePromises {
 public:
  // Nothing: the claim could not have the node.
  using Suits = std::function<std::optional<NodeSuits>(size_t claim, cluster::NodeIndex node)>;

  void Reset(size_t claims);
  const std::set<cluster::NodeIndex>& of(size_t claim) const { return nodes_[claim]; }
  std::optional<size_t> ClaimOn(cluster::NodeIndex node) const;
  void Give(size_t claim, cluster::NodeIndex node);
  void Drop(cluster::NodeIndex node);
  // Up to `wanted` in all, of nodes below `end`.
  void Fill(size_t claim, int64_t wanted, uint32_t end, const Suits& suits);

 private:
  bool Exchange(size_t claim, uint32_t end, const Suits& suits, std::set<size_t>& asked);

  std::vector<std::set<cluster::NodeIndex>> nodes_;  // by claim
  std::map<cluster::NodeIndex, size_t> claims_;      // the same by node
};

}  // namespace muster::engine
