#include "queues/queue_spec.hpp"

namespace muster::queues {

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
