// Times and nodes, for people (internal to engine/).
#pragma once

#include <string>

#include "cluster/base/units.hpp"
#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_set.hpp"

namespace muster::engine {

std::string ShowTime(cluster::Time time);

// Of nodes: their names in order, a few of them.
std::string NamesOf(const cluster::ClusterState& cluster, const cluster::NodeSet& nodes);

}  // namespace muster::engine
