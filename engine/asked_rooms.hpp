// What is kept for gangs that asked for nodes (internal to engine/). cluster-autoscaler alone knows
// that the nodes which it adds, and the room that it has found, are for the gang that asked: Muster
// keeps them, from the moment at which they are ordered until the gang has its plan or
// cluster-autoscaler keeps them no more.
//
// The room is that of as many of the members which the gang needs as find some, on the emptiest
// nodes first: nodes that were just added are empty. It grows as nodes come. Where the gang has to
// be in the fabric does not count for it.
//
// It keeps off gangs that come after the one that asked in order (booking_rules.hpp).
#pragma once

#include "engine/booking.hpp"
#include "engine/gang.hpp"
#include "engine/node_requests.hpp"

namespace muster::engine {

struct EngineState;

// Nothing is kept any more: others may fit now.
void GiveUpAskedRoom(EngineState& state, NodeRequest& request);
// Before a pass.
void FollowAskedRooms(EngineState& state, cluster::Time now);
// Adds those from which the gang is kept, where it may use `useful`.
void AddAskedRooms(EngineState& state, const Gang& gang, const cluster::NodeSet& useful,
                   BookingNumbers& numbers);
// It would fit, but for such room alone: cluster-autoscaler does not see that as free.
bool WaitsForAskedRoom(const EngineState& state);
// "gang a/b, for which the nodes were asked for".
std::string Describe(const NodeRequest& request);

}  // namespace muster::engine
