// What happens to victims, and the gangs that wait for them (internal to engine/).
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

// The pod lives on and is not what it was when it was chosen.
void InvalidateVictim(StandingState& state, const Member& victim);

// One of the preemptor's victims was evicted.
void NoteEvicted(StandingState& state, const GangId& preemptor);

// Something happened to the member that a gang may wait for.
void TouchPreemptor(StandingState& state, const Member& victim);

// The gang that the pod belongs to is looked at again.
void TouchGangOf(StandingState& state, const cluster::PodUid& pod);

}  // namespace muster::engine
