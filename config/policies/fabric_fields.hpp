// The fields of a policy's fabric section (topology::FabricOptions and what engine::Options says of
// lost members), for policy_fields.cpp.
#pragma once

#include <vector>

#include "config/fields/fields.hpp"
#include "engine/contract/options.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::config {

void VisitFabric(topology::FabricOptions* fabric, engine::LostMember* lost_member,
                 FieldVisitor* visitor);

// In fields that are each right.
void FindFabricContradictions(const topology::FabricOptions& fabric,
                              std::vector<Contradiction>* found);

}  // namespace muster::config
