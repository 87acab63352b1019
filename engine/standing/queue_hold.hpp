// What keeps the gangs of a queue from being started for now: the strictest of what the policy and
// operators say of the queues on its path. Pure functions (internal to engine/).
#pragma once

#include <optional>
#include <string>

#include "engine/contract/orders.hpp"
#include "queues/tree.hpp"

namespace muster::engine {

struct QueueHold {
  queues::QueueState state = queues::QueueState::kOpen;
  std::string why;  // for people; empty: it is open
  // It holds only because GPUs were reclaimed: until then.
  std::optional<cluster::Time> until;
};

QueueHold HoldOf(const queues::Tree& tree, const StandingOrders& orders, queues::QueueIndex queue);

}  // namespace muster::engine
