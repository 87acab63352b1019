// DefectOf: what is wrong with a gang as it is written (internal to engine/). Pure.
#pragma once

#include "cluster/pod_group.hpp"
#include "engine/gang.hpp"
#include "engine/options.hpp"

namespace muster::engine {

// kNone: nothing. `group`: null for a gang of one, or where its PodGroup is gone. Malformed members
// of a gang that runs are left out, they do not make it invalid.
Reason DefectOf(const Gang& gang, const cluster::PodGroup* group, const Options& options);

}  // namespace muster::engine
