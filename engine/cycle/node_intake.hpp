// Facts about nodes, and which gangs are looked at for them (internal to engine/).
#pragma once

#include "cluster/records/node.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

void ApplyNode(StandingState& state, const cluster::Node& node);
void RemoveNode(StandingState& state, const cluster::NodeUid& uid);

// The pod has a plan there that may not hold any more.
void TouchPlan(StandingState& state, const cluster::PodUid& uid);
// The gangs of whatever is held on the node are looked at, if it is more than there is.
void TouchUnsound(StandingState& state, cluster::NodeIndex node);
// Gangs whose Bind calls wait for the node's turn (HamiTurns).
void TouchTurns(StandingState& state, cluster::NodeIndex node);

}  // namespace muster::engine
