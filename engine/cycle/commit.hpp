// Commit: what the planner found for a gang becomes its plan, its wait, or another turn (internal
// to engine/).
#pragma once

#include "engine/cycle/planner.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct EngineState;

void Commit(EngineState& state, const PlanJob& job, const PlanResult& result, cluster::Time now);

// ClusterState has the reservation, or the earmark.
void SetPlan(EngineState& state, Member& member, cluster::Placement placement, bool required);

}  // namespace muster::engine
