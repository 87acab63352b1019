// The fields of a policy's fabric section (topology::FabricOptions), for policy_fields.cpp.
#pragma once

#include <vector>

#include "config/fields.hpp"
#include "topology/fabric_options.hpp"

namespace muster::config {

void VisitFabric(topology::FabricOptions* fabric, FieldVisitor* visitor);

// In fields that are each right.
void FindFabricContradictions(const topology::FabricOptions& fabric,
                              std::vector<Contradiction>* found);

}  // namespace muster::config
