#include "engine/standing/queue_hold.hpp"

namespace muster::engine {

using queues::QueueState;

namespace {

std::string StateText(QueueState state) {
  return state == QueueState::kDrain ? " is drained" : " is on hold";
}

}  // namespace

QueueHold HoldOf(const queues::Tree& tree, const StandingOrders& orders, queues::QueueIndex queue) {
  const queues::Queue& own = tree.at(queue);
  QueueHold hold;
  hold.state = own.state;
  if (own.state != QueueState::kOpen) hold.why = "queue " + own.state_of + StateText(own.state);
  if (orders.queues.empty()) return hold;
  for (const queues::QueueIndex at : tree.PathOf(queue)) {
    const std::string& name = tree.at(at).name;
    const auto found = orders.queues.find(name);
    if (found == orders.queues.end()) continue;
    const QueueOrder& order = found->second;
    if (order.state > hold.state) {
      hold = {order.state, "queue " + name + StateText(order.state) + ", ordered by " + order.by,
              std::nullopt};
    }
    // A pause ends by itself, so what does not takes precedence; of two pauses the longer one.
    const bool stricter = hold.state != QueueState::kDrain ||
                          (hold.until && order.paused_until && *hold.until < *order.paused_until);
    if (order.paused_until && stricter) {
      hold = {QueueState::kDrain,
              "GPUs of queue " + name + " were reclaimed by " + order.paused_by +
                  ": nothing of it starts until the pause is over or it is resumed",
              order.paused_until};
    }
  }
  return hold;
}

}  // namespace muster::engine
