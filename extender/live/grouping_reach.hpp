// What grouping rules may look at of a pod: a path to something that is not kept of it is always
// absent, and whoever wrote the rule should hear of it. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "cluster/records/grouping_rule.hpp"

namespace muster::extender {

// One sentence for each path of a rule that leads to what is not kept of pods, in the rules' order.
std::vector<std::string> UnkeptPodPaths(const cluster::GroupingRules& rules);

}  // namespace muster::extender
