// The fields of grouping rules, as a table (fields.hpp): a list of rules in a file of
// config/grouping or in a policy.
#pragma once

#include <string>
#include <vector>

#include "cluster/records/grouping_rule.hpp"
#include "config/fields/fields.hpp"

namespace muster::config {

inline constexpr std::size_t kMostGroupingRules = 200;
// Roles, cases and the like of one rule, conditions of one list.
inline constexpr std::size_t kMostGroupingParts = 16;

void VisitGroupingRules(const FieldInfo& info, cluster::GroupingRules* rules,
                        FieldVisitor* visitor);

// `field`: what the list is called in its file.
void FindGroupingContradictions(const std::string& field, const cluster::GroupingRules& rules,
                                std::vector<Contradiction>* found);

// Whether both are for one kind in one version.
bool SameKind(const cluster::GroupingRule& a, const cluster::GroupingRule& b);

}  // namespace muster::config
