// Settle: gangs that something happened to are judged, and what their verdicts call for is done
// (internal to engine/).
#pragma once

#include <utility>

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct EngineState;

// Some of what is to be looked at; true when nothing is left.
//   1. Nodes that are left out or come back.  2. What a fact called for in many gangs.  3. Timers.
//   4. Gangs that were touched: judged, their actions asked for, their state published.
//   5. Gangs that were tried in vain: published.
bool Settle(EngineState& state, cluster::Time now);

// Publishes states that have lasted long enough by now, of some such gangs; the next call goes on.
// Gangs that were touched are left to Settle. Called before Settle, so that a state that ends just
// now is published, too.
void TellDue(EngineState& state, cluster::Time now);

}  // namespace muster::engine
