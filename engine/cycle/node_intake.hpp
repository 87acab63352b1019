// Facts about nodes, and which gangs are looked at again because of them (internal to engine/).
#pragma once

#include "cluster/records/node.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

void ApplyNode(StandingState& state, const cluster::Node& node);
void RemoveNode(StandingState& state, const cluster::NodeUid& uid);

// The pod's plan may not hold any more: its gang is looked at again.
void TouchPlan(StandingState& state, const cluster::PodUid& uid);
// If more is held on the node than it has, the gangs that hold it are looked at again.
void TouchUnsound(StandingState& state, cluster::NodeIndex node);
// Gangs whose Bind calls wait for the node's turn (HamiTurns) are looked at again.
void TouchTurns(StandingState& state, cluster::NodeIndex node);

}  // namespace muster::engine
