// Ordering: what operators order is checked, carried out and followed (internal to engine/).
// Changes OrderBook, and what follows from it.
#pragma once

#include <string>

#include "cluster/base/result.hpp"
#include "engine/orders.hpp"

namespace muster::engine {

struct EngineState;

// What it would do; an error says why it cannot be done now.
cluster::Result<OrderEffect> Consider(const EngineState& state, const Order& order,
                                      cluster::Time now);
// As Consider, and does it. Each order gets an Event on the gang, or on what keeps the orders.
cluster::Result<OrderEffect> Carry(EngineState& state, const Order& order, cluster::Time now);

// Takes over orders that stood before this process began; no Events.
void AdoptOrders(EngineState& state, const StandingOrders& orders, cluster::Time now);
// Orders, pauses and reclaims that are over.
void FollowOrders(EngineState& state, cluster::Time now);
// An Event on what keeps the orders.
void TellOfQueue(EngineState& state, const std::string& queue, bool warning, std::string reason,
                 std::string message);

}  // namespace muster::engine
