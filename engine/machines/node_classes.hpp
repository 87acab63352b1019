// NodeClasses: which nodes a gang may use, whoever is there (internal to engine/). Two gangs
// contend for room where they have a node in common (R10, R11). Owned and guarded by Scheduler.
//
// 1. A node counts that matches the pod's selector, affinity and tolerations and has as many
//    devices that can serve it, in use or not, ready or not.
// 2. Remembered by spec until a node's record changes; a restart forgets it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_set.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

class NodeClasses {
 public:
  static constexpr size_t kMostSpecs = 1024;

  // Of all of its members that have not ended: nodes that one of them may use.
  cluster::NodeSet Of(const Gang& gang, cluster::ClusterState& cluster);

 private:
  const cluster::NodeSet& Of(const std::shared_ptr<const cluster::PodSpec>& spec,
                             const cluster::Snapshot& nodes);

  uint64_t layout_ = 0;
  // Specs are shared by those that ask for the same (SpecTable), and kept from being given up.
  std::map<std::shared_ptr<const cluster::PodSpec>, cluster::NodeSet> known_;
};

}  // namespace muster::engine
