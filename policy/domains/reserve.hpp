// Reserve: the nodes that are kept for members that a gang lost (FabricOptions::reserve; internal
// to policy/ and engine/). Pure functions.
//
// 1. Of each domain of a level of the reserve so many nodes are kept as it says, or as many as are
//    free as a whole, if that is fewer. A node without GPUs is never kept.
// 2. Inner levels come first. A node that is kept for one counts for every domain that it is in.
// 3. The last ones by name are kept: placement takes the first one of equal nodes, so what is kept
//    changes only where one of them is taken, or a later one becomes free.
#pragma once

#include <memory>
#include <string>

#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "policy/terms/node_filter.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

// With kSchedulable of the nodes that may get new pods, with kAll of all. Null: the policy keeps
// nothing. One look at every node of the domains.
std::shared_ptr<const cluster::NodeSet> KeptNodes(const cluster::Snapshot& nodes,
                                                  const topology::Fabric& fabric,
                                                  NodeFilter filter);

// For people: "1 node of each rack is kept for lost members". Empty: nothing is.
std::string TextOfReserve(const topology::FabricOptions& fabric);

}  // namespace muster::policy
