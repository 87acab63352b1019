// Ordering: what operators order is checked, carried out and followed (internal to engine/).
// Changes OrderBook, and what follows from it.
#pragma once

#include <string>

#include "cluster/base/result.hpp"
#include "engine/contract/orders.hpp"

namespace muster::engine {

struct ClaimState;

// What it would do; an error says why it cannot be done now.
cluster::Result<OrderEffect> Consider(const ClaimState& state, const Order& order,
                                      cluster::Time now);
// As Consider, and does it. Each order gets an Event on the gang, or on what keeps the orders.
cluster::Result<OrderEffect> Carry(ClaimState& state, const Order& order, cluster::Time now);

// Takes over orders that stood before this process began; no Events.
void AdoptOrders(ClaimState& state, const StandingOrders& orders, cluster::Time now);
// Orders, pauses and reclaims that are over.
void FollowOrders(ClaimState& state, cluster::Time now);

}  // namespace muster::engine
