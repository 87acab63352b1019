// DefectOf: what is wrong with a gang as it is written (internal to engine/). Pure.
#pragma once

#include <string>

#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

// kNone: nothing. `group`: null for a gang of one, or where its PodGroup is gone. Malformed members
// of a gang that runs are left out, they do not make it invalid.
Reason DefectOf(const Gang& gang, const cluster::PodGroup* group, const Options& options);

// Of the PodGroup alone.
Reason DefectOf(const cluster::PodGroup& group, const Options& options);

// What is wrong with a malformed pod, and what to do about it.
std::string DefectOf(const cluster::Pod& pod);

}  // namespace muster::engine
