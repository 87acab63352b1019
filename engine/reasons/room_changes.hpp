// RoomChanges: what would have to change in the cluster, or in what its pods tolerate, so that a
// gang that does not fit fits: each a text for people, found out by placing it (internal to
// engine/). Pure functions of a snapshot; whether anybody is entitled to a change does not matter.
//
// 1. Nothing is given for a gang that fits, and for one that the change would not let fit.
// 2. Nothing of a change can be left out; among several that would do, the smallest is looked for
//    by taking what is nearest first, not by trying all sets. For a gang of equal members that
//    wishes for no domain, the fewest GPUs are found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "policy/placing/placement.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

// A node, and GPUs that become free there; 0: all of it can be used again.
struct NodeShare {
  std::string node;
  int64_t gpus = 0;
  auto operator<=>(const NodeShare&) const = default;
};

struct RoomChange {
  std::string text;
  int64_t gpus = 0;  // that become free
  std::vector<NodeShare> nodes = {};
  std::vector<std::string> taints = {};  // "gpu=yes"
};

struct RoomAsk {
  policy::Placer& placer;
  std::shared_ptr<const cluster::Snapshot> nodes;
  policy::GangRequest request;  // `required` is what has to fit
};

// "4 more GPUs become free: 2 on n1, 2 on n2". CPU and memory stay as they are.
std::optional<RoomChange> GpusToFree(const RoomAsk& ask);

// "its pods tolerate taint gpu=yes (of 5 nodes)".
std::optional<RoomChange> TaintsToTolerate(const RoomAsk& ask);

// "nodes n1 (cordoned) and n2 (not ready) can be used again".
std::optional<RoomChange> NodesToReturn(const RoomAsk& ask);

// Where no one of them is enough: all taints tolerated, and GPUs freed on what is there then.
std::optional<RoomChange> TaintsAndGpus(const RoomAsk& ask);

}  // namespace muster::engine
