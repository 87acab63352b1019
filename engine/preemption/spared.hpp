// Why nobody makes way for a gang that waits for room (internal to engine/), for people.
#pragma once

#include <string>
#include <vector>

#include "engine/gangs/gang.hpp"
#include "engine/preemption/candidates.hpp"

namespace muster::engine {

struct StandingState;

// Of a gang that was planned in vain with these: who is spared and why, else that there is nobody,
// or that all of them together are not enough.
std::vector<std::string> WhyNotEnough(const KnownCandidates& candidates);
// Why it may preempt nobody at all; empty: it may.
std::string EvictionBar(const StandingState& state, const Gang& gang, cluster::Time now);
// One of both, of a gang that waits for room; none: it does not, or its reason says it.
std::vector<std::string> WhyNobodyMakesWay(const StandingState& state, const Gang& gang,
                                           cluster::Time now);

}  // namespace muster::engine
