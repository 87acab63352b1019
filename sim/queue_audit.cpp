#include "sim/queue_audit.hpp"

#include <algorithm>

#include "queues/resource.hpp"

namespace muster::sim {

using cluster::Pod;
using cluster::Time;
using queues::QueueSpec;
using queues::Resource;

namespace {

// Guarantees of anything else leave more open than is reckoned here.
bool OfGpusAlone(const std::vector<QueueSpec>& queues) {
  return std::all_of(queues.begin(), queues.end(), [](const QueueSpec& queue) {
    const auto& said = queue.guarantee.said();
    return std::all_of(said.begin(), said.end(),
                       [](const auto& entry) { return entry.first.kind == Resource::Kind::kGpu; });
  });
}

}  // namespace

std::string QueueAudit::NameOf(const Pod& pod) const {
  if (!pod.pod_group.empty()) {
    const PodGroupPtr group = api_.FindPodGroup({pod.key.ns, pod.pod_group});
    if (group != nullptr && !group->group.queue.empty()) return group->group.queue;
  }
  return pod.asked_queue;
}

std::set<std::string> QueueAudit::QueuesOf(const Pod& pod) const {
  std::set<std::string> queues = {NameOf(pod)};
  if (pod.pod_group.empty()) return queues;
  for (const PodPtr& other : api_.Pods()) {
    if (other->pod.key.ns == pod.key.ns && other->pod.pod_group == pod.pod_group)
      queues.insert(NameOf(other->pod));
  }
  return queues;
}

bool QueueAudit::Beyond(const std::string& queue, const std::vector<QueueSpec>& queues) const {
  const auto known = std::find_if(queues.begin(), queues.end(),
                                  [&](const QueueSpec& spec) { return spec.name == queue; });
  if (known == queues.end()) return true;  // what is charged to no queue is nobody's guarantee
  int64_t used = 0;
  const auto add = [&](const Pod& pod) {
    if (NameOf(pod) == queue) used += pod.spec->gpus.total().value();
  };
  for (const auto& [uid, pod] : runs_) add(pod->pod);
  for (const auto& [at, pod] : gone_) add(pod->pod);
  return used > GuaranteeOf(*known, {Resource::Kind::kGpu}).value();
}

bool QueueAudit::MayGo(const Pod& victim, const std::vector<QueueSpec>& queues, Time since) {
  while (!gone_.empty() && gone_.front().first < since) gone_.pop_front();
  if (!OfGpusAlone(queues)) return true;
  const std::set<std::string> own = QueuesOf(victim);
  // By its namespace, or one of several.
  if (own.size() > 1 || own.contains("")) return true;
  const std::string& queue = *own.begin();
  if (Beyond(queue, queues)) return true;
  for (const PodPtr& other : api_.Pods()) {
    const Pod& pod = other->pod;
    if (!pod.bound() && pod.spec->priority > victim.spec->priority && NameOf(pod) == queue)
      return true;
  }
  return std::any_of(
      waited_.upper_bound({queue, victim.spec->priority}), waited_.end(),
      [&](const auto& entry) { return entry.first.first == queue && entry.second >= since; });
}

}  // namespace muster::sim
