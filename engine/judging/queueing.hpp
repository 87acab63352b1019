// Enqueue and Dequeue: a gang's place among those that wait for a plan (internal to engine/).
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

void Enqueue(StandingState& state, Gang& gang);
// Its reason then is the newest one of those that share its fate.
void Dequeue(StandingState& state, Gang& gang);

}  // namespace muster::engine
