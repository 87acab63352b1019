// What room the domains of a fabric have for the roles of a gang, by the slots of their shapes
// (internal to policy/). Functions of what is free in a Search that is not within a set of nodes.
#pragma once

#include <memory>
#include <vector>

#include "policy/domains/fragmentation.hpp"
#include "policy/search/roles.hpp"
#include "policy/search/search.hpp"
#include "policy/terms/gang_request.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

// Brings the shape's slots for that search up to date.
const topology::DomainSums& FollowSlots(const Search& search, Shape& shape,
                                        const std::shared_ptr<const topology::Fabric>& fabric);

// By DomainId: how the roles, the hardest first, fit there. `use`: of the same fabric.
std::vector<DomainRoom> RoomByDomain(const Search& search, const std::vector<Role>& roles,
                                     const std::shared_ptr<const topology::Fabric>& fabric,
                                     const DomainUse& use);

// The nodes that have room for each of the roles, taken by itself; rising. None with GPUs where no
// role wants any.
std::vector<NodeRoom> SingleNodes(const Search& search, const std::vector<Role>& roles,
                                  const std::shared_ptr<const topology::Fabric>& fabric);

}  // namespace muster::policy
