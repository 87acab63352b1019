// What becomes of a gang that had its turn and starts nothing, and whose fate it shares (internal
// to engine/).
#pragma once

#include <optional>

#include "engine/gangs/gang.hpp"
#include "engine/judging/plan_job.hpp"
#include "engine/standing/kind.hpp"

namespace muster::engine {

struct StandingState;

// Whose fate it shares; nothing: nobody's. Under strict order the first one's is its own.
std::optional<KindKey> KindOf(const StandingState& state, const Gang& gang, const PlanJob& job);
// It waits in that state, and so do the others of its kind.
void Wait(StandingState& state, Gang& gang, const std::optional<KindKey>& kind, GangState waits,
          Reason reason);
// It has all that it may have.
std::optional<PlanJob> NoneIsWanted(StandingState& state, Gang& gang);

// What does not fit for one queue fits for none: nobody is evicted, and no node is closed to it.
policy::RequestKey OfAnyQueue(policy::RequestKey key);
bool DependsOnQueue(const PlanJob& job);

}  // namespace muster::engine
