// SettleMembers: a gang's members as they are now (internal to engine/).
#pragma once

#include "engine/gang.hpp"

namespace muster::engine {

struct EngineState;

// Tallies the members, forgets plans that came true or whose pod can no longer use them, and notes
// whose pods they were.
void SettleMembers(EngineState& state, Gang& gang);
// Takes up what the gang has been, and says what it wants now: Gang::minimum. See past.hpp.
void Remember(EngineState& state, Gang& gang, cluster::Time now);

}  // namespace muster::engine
