// Moves: where lost members find no room in the domain that they have to be in, who else has to
// leave so that the gang is whole again elsewhere (internal to engine/; Options::lost_member).
//
// 1. First the members of the segment that the lost ones belong to, of the innermost required
//    segments, then of those around them; those of their subgroup that requires a level, the
//    innermost first, each after its segments. Where several subgroups lost some and none of these
//    alone will do, several of them together, as few as will do. Then, with kMoveGang, all of the
//    gang. Muster's alone. Of a gang that goes whole (GroupTerms) all or none.
// 2. Only where all of them, and the lost ones, find room now. That room is not kept: their
//    controllers make new pods, which are planned as any others.
// 3. Never before all lost ones are there, while members are planned, or leave nodes that work, nor
//    again before Course::move_from, nor while any member of the gang, be it one that would stay,
//    cannot be evicted (Preemptions::Protect). Nor of a gang that may go on without the lost ones
//    (PodGroup::keeps_rest) where an eviction loses more than time (JobTable::LosesByEviction).
// 4. Begun only where the room that was found is still there.
#pragma once

#include <optional>

#include "engine/judging/plan_job.hpp"

namespace muster::engine {

struct StandingState;

// Of a gang of which some members are bound. `request`: what it asks for.
MoveJob MoveJobOf(const StandingState& state, const Gang& gang, const policy::GangRequest& request,
                  cluster::Time now);
// After the job's required pods found no place. Pure; runs outside the lock.
std::optional<Move> FindMove(policy::Placer& placer, const PlanJob& job);
// What FindMove found on the job's snapshot is there still.
bool StillHolds(StandingState& state, const PlanJob& job, const Move& move);
// Those members are evicted.
void BeginMove(StandingState& state, Gang& gang, const Move& move, cluster::Time now);

}  // namespace muster::engine
