#include "queues/queue_spec.hpp"

#include <utility>

namespace muster::queues {

const char* ToString(QueueState state) {
  switch (state) {
    case QueueState::kOpen:
      return "open";
    case QueueState::kHold:
      return "hold";
    case QueueState::kDrain:
      break;
  }
  return "drain";
}

std::vector<QueueSpec> OneQueue(Order order, WithinQueue within) {
  QueueSpec root{.name = kRoot, .order = order};
  root.preemption.within_queue = within;
  root.preemption.reclaim = Reclaim::kNever;
  root.preemption.max_evictions_per_hour = kMostEvictions;
  root.preemption.max_evicted_ratio = 0;
  root.preemption.restart_window = 0;
  root.bookings.depth = 0;
  return {std::move(root)};
}

bool OnlyRoot(const std::vector<QueueSpec>& queues) {
  return queues.size() == 1 && queues.front().name == kRoot &&
         queues.front().fair_by == FairBy::kNone;
}

int64_t WholeNodesOf(const QueueSpec& queue, const std::string& model) {
  for (const Shape& shape : queue.shapes) {
    if (shape.model == model) return shape.whole_nodes;
  }
  return 0;
}

std::string ToString(const Shape& shape) {
  return std::to_string(shape.whole_nodes) + " whole " +
         (shape.model.empty() ? "" : shape.model + " ") +
         (shape.whole_nodes == 1 ? "node" : "nodes");
}

Amount GuaranteedByModel(const QueueSpec& queue) {
  Amount sum;
  for (const auto& [resource, amount] : queue.guarantee.said()) {
    if (resource.kind == Resource::Kind::kGpuModel) sum += amount;
  }
  return sum;
}

Amount GuaranteeOf(const QueueSpec& queue, const Resource& resource) {
  const bool by_models = resource.kind == Resource::Kind::kGpu && !queue.guarantee.has(resource);
  return by_models ? GuaranteedByModel(queue) : queue.guarantee.of(resource);
}

}  // namespace muster::queues
