// Which roles of a gang are to be in a domain of their own, as its PodGroup or pods say; see
// topology_terms.hpp. For the decoders of kube/ only.
#pragma once

#include <vector>

#include "cluster/records/topology_terms.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

inline constexpr size_t kMaxSubgroups = 256;  // of one gang; more are a problem
// What the roles of nested subgroups take in all; each has the roles of those inside it again.
inline constexpr size_t kMaxSubgroupBytes = size_t{4} << 20;

// Muster: annotations muster.dev/topology-roles-required and -preferred, a list
// LEVEL=ROLE+ROLE,LEVEL=ROLE. What both say of the same roles is of one subgroup.
std::vector<cluster::TopologySubgroup> ReadRoles(const JsonView& annotations);

// KAI: spec.subGroups[].topologyConstraint; a subgroup with children is all pods of its
// descendants.
std::vector<cluster::TopologySubgroup> ReadKaiSubgroups(const JsonView& spec);

// Volcano: spec.subGroupPolicy[].networkTopology. The pods of a policy are those of one task, which
// its labelSelector names (label volcano.sh/task-spec), or, without a selector, its own name; with
// matchLabelKeys they are in pieces of subGroupSize, which Volcano's job controller numbers in the
// order of the pods (its partitionPolicy). A policy of other pods, or of pieces without a size, is
// a problem where its level is required (hard), else it is ignored.
std::vector<cluster::TopologySubgroup> ReadVolcanoSubgroups(const JsonView& spec);

// Grove: spec.podgroups[].topologyConstraint and spec.topologyConstraintGroupConfigs[].
std::vector<cluster::TopologySubgroup> ReadGroveSubgroups(const JsonView& spec);

}  // namespace muster::kube
