#include "kube/dialects/queue_name.hpp"

#include <utility>

#include "cluster/records/pod_group.hpp"

namespace muster::kube {

std::string ReadQueueName(const JsonView& labels, const JsonView& annotations) {
  for (const auto& [texts, key] :
       {std::pair(&annotations, cluster::kQueueName), std::pair(&labels, cluster::kQueueName),
        std::pair(&labels, "kueue.x-k8s.io/queue-name"), std::pair(&labels, "kai.scheduler/queue"),
        std::pair(&annotations, "scheduling.volcano.sh/queue-name"),
        std::pair(&labels, "scheduling.volcano.sh/queue-name"),
        std::pair(&labels, "quota.scheduling.koordinator.sh/name")}) {
    std::string name(texts->Get(key).Text());
    if (!name.empty()) return name;
  }
  return {};
}

std::string ReadSpecQueue(const JsonView& spec) { return SpecQueue(spec.Get("queue").Text()); }

std::string SpecQueue(std::string_view name) {
  return name == "default" || name == "default-queue" ? std::string() : std::string(name);
}

}  // namespace muster::kube
