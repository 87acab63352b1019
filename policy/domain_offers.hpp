// OffersFor: what the domains of the fabric have for a gang that waits, for people.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/snapshot.hpp"
#include "policy/gang_request.hpp"
#include "policy/placement.hpp"

namespace muster::policy {

// By DomainId: for how many of the demands there is room if nobody else is placed, each role by
// itself. A look at all nodes for each role; a pure function.
std::vector<int64_t> OffersFor(const std::shared_ptr<const cluster::Snapshot>& nodes,
                               const std::shared_ptr<const topology::Fabric>& fabric,
                               const Options& options, const GangRequest& request);

}  // namespace muster::policy
