// What a process knows of a gang's past when it comes (internal to engine/). Pure.
#pragma once

#include "cluster/records/gang_record.hpp"
#include "cluster/records/pod_group.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

// What is wanted of a gang that declares this (Past::Wanted), less those of which its owner alone
// knows that they have ended well. `group`: may be null. The tally must be of now.
cluster::Headcount WantedNow(const Gang& gang, const cluster::PodGroup* group,
                             const cluster::Headcount& declared);

}  // namespace muster::engine
