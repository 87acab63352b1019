// What happens to victims, and the gangs that wait for them (internal to engine/).
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

// The pod stays, and is no longer what it was when it was chosen as a victim.
void InvalidateVictim(StandingState& state, const Member& victim);

// One of the preemptor's victims was evicted.
void NoteEvicted(StandingState& state, const GangId& preemptor);

// Something happened to a member that may be a victim: the gang that waits for it is looked at.
void TouchPreemptor(StandingState& state, const Member& victim);

// The gang that the pod belongs to is looked at again.
void TouchGangOf(StandingState& state, const cluster::PodUid& pod);

}  // namespace muster::engine
