// Planning: the gang that is next in order becomes a PlanJob, which is planned outside the lock;
// engine/cycle/commit.hpp has what comes of it (internal to engine/).
#pragma once

#include "engine/cycle/planner.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct EngineState;

// What queues have used, and who may have others evicted because of that.
void FollowUse(EngineState& state, cluster::Time now);
// Some gang of those that are to be tried has a turn.
bool PassNeeded(const EngineState& state, cluster::Time now);
// When there is work without further facts; Never: only a fact can bring some.
cluster::Time NextWake(const EngineState& state);
// Looks at some gangs more. Begins a pass where none is under way.
Turn NextJob(EngineState& state, cluster::Time now);

}  // namespace muster::engine
