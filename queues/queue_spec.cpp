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
