#include "queues/queue_spec.hpp"

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
