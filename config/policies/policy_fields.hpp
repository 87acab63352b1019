// The fields of a policy file, listed once, as a table (fields.hpp).
#pragma once

#include <string>
#include <vector>

#include "config/fields/fields.hpp"
#include "config/policies/policy.hpp"

namespace muster::config {

// Visits every field of `policy`, in the order of the file.
void VisitPolicy(Policy* policy, FieldVisitor* visitor);

// What ListFields says of it.
std::vector<std::string> ListPolicyFields();

std::vector<Contradiction> FindContradictions(const Policy& policy);

}  // namespace muster::config
