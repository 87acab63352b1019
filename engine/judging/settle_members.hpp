// SettleMembers: brings a gang's members up to date (internal to engine/).
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

// Tallies the members, forgets plans that were carried out or whose pod can no longer use them, and
// notes the owners of the pods.
void SettleMembers(StandingState& state, Gang& gang);
// Takes up what the gang has been, and says what it wants now: Gang::minimum. See
// engine/gangs/past.hpp.
void Remember(StandingState& state, Gang& gang, cluster::Time now);

}  // namespace muster::engine
