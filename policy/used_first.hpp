// UsedFirst: in which domains a pod by itself is tried, so that small jobs break no whole racks
// (internal to policy/). Pure function.
#pragma once

#include <vector>

#include "cluster/snapshot.hpp"
#include "policy/gang_request.hpp"
#include "topology/fabric.hpp"

namespace muster::policy {

// The domains with room of the innermost level that the fabric's first tree has.
//   1. Those in use first: one in which some GPU is taken; of equal ones those in a domain in use,
//      and so on outwards.
//   2. Then those with the least room left; of equal ones likewise outwards.  3. By DomainId.
// Looks at each node once at most. `room`: by DomainId, of the pod.
std::vector<topology::DomainId> UsedFirst(const cluster::Snapshot& nodes,
                                          const topology::Fabric& fabric,
                                          const std::vector<DomainRoom>& room);

}  // namespace muster::policy
