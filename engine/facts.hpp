// Facts: what the engine is told about the cluster. Each is idempotent and keyed by UID (see
// cluster/cluster_state.hpp).
#pragma once

#include <variant>

#include "cluster/node.hpp"
#include "cluster/pod.hpp"
#include "cluster/pod_group.hpp"

namespace muster::engine {

struct NodeRemoved {
  cluster::NodeUid uid;
};
struct PodRemoved {
  cluster::PodUid uid;
};
struct PodGroupRemoved {
  cluster::PodGroupUid uid;
};

// An upserted record, or the removal of one.
using Fact = std::variant<cluster::Node, NodeRemoved, cluster::Pod, PodRemoved, cluster::PodGroup,
                          PodGroupRemoved>;

}  // namespace muster::engine
