#include "sim/audit/queue_audit.hpp"

#include <algorithm>

#include "queues/resource.hpp"
#include "queues/tree.hpp"

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

// Of one gang: by its PodGroup, or perhaps by its owner.
bool AreTogether(const Pod& a, const Pod& b) {
  if (a.key.ns != b.key.ns || a.pod_group != b.pod_group) return false;
  return !a.pod_group.empty() || (!a.owner_uid.empty() && a.owner_uid == b.owner_uid);
}

}  // namespace

std::string QueueAudit::NameOf(const Pod& pod) const {
  if (!pod.pod_group.empty()) {
    const PodGroupPtr group = api_.FindPodGroup({pod.key.ns, pod.pod_group});
    if (group != nullptr && !group->group.queue.empty()) return group->group.queue;
  }
  return pod.asked_queue;
}

int32_t QueueAudit::Lowest(const Pod& pod) const {
  const auto said = priorities_.find({pod.key.ns, pod.pod_group});
  return said == priorities_.end() ? pod.spec->priority
                                   : std::min(said->second, pod.spec->priority);
}

int32_t QueueAudit::Highest(const Pod& pod) const {
  const auto said = priorities_.find({pod.key.ns, pod.pod_group});
  return said == priorities_.end() ? pod.spec->priority
                                   : std::max(said->second, pod.spec->priority);
}

std::set<std::string> QueueAudit::QueuesOf(const Pod& pod) const {
  std::set<std::string> queues = {NameOf(pod)};
  const auto add = [&](const Pod& other) {
    if (AreTogether(pod, other)) queues.insert(NameOf(other));
  };
  for (const PodPtr& other : api_.Pods()) add(other->pod);
  for (const auto& [at, other] : gone_) add(other->pod);
  return queues;
}

bool QueueAudit::IsKept(const Pod& victim) const {
  constexpr int32_t kSystemPriority = 2'000'000'000;
  if (victim.daemon || victim.spec->priority >= kSystemPriority) return true;
  const bool says = victim.preemptible == false;
  if (!victim.pod_group.empty()) {
    const PodGroupPtr group = api_.FindPodGroup({victim.key.ns, victim.pod_group});
    if (group == nullptr) return false;
    if (group->group.preemptible) return !*group->group.preemptible;
  }
  if (!says) return false;
  const std::vector<PodPtr> pods = api_.Pods();
  return std::all_of(pods.begin(), pods.end(), [&](const PodPtr& other) {
    return !AreTogether(victim, other->pod) || other->pod.preemptible == false;
  });
}

bool QueueAudit::IsKeptBeyond(const Pod& pod, const std::vector<QueueSpec>& queues) const {
  const std::set<std::string> own = QueuesOf(pod);
  const auto known = std::find_if(queues.begin(), queues.end(), [&](const QueueSpec& spec) {
    return own.size() == 1 && spec.name == *own.begin();
  });
  const Resource gpu{Resource::Kind::kGpu};
  const bool any = std::any_of(queues.begin(), queues.end(), [&](const QueueSpec& spec) {
    return GuaranteeOf(spec, gpu).value() > 0;
  });
  if (known == queues.end() || !any || !OfGpusAlone(queues) || !IsKept(pod)) return false;
  if (pod.spec->gpus.none()) return false;
  int64_t used = 0;
  for (const auto& [uid, other] : runs_) {
    // What other schedulers bind in the queue meanwhile is not Muster's doing.
    const bool counts = other->pod.spec->scheduler_name == pod.spec->scheduler_name;
    if (counts && NameOf(other->pod) == known->name && IsKept(other->pod))
      used += HeldBy(other->pod);
  }
  return used > GuaranteeOf(*known, gpu).value();
}

// Nothing of a node or of devices that are gone, while the pod is still there.
int64_t QueueAudit::HeldBy(const Pod& pod) const {
  const NodePtr node = api_.FindNode(pod.node_name);
  if (node == nullptr) return 0;
  const auto& devices = node->node.gpus;
  const auto there =
      std::count_if(pod.bound_gpus.begin(), pod.bound_gpus.end(), [&](cluster::GpuIndex index) {
        return std::any_of(devices.begin(), devices.end(),
                           [&](const cluster::Gpu& gpu) { return gpu.index == index; });
      });
  const int64_t total = pod.spec->gpus.total().value();
  return pod.bound_gpus.empty() ? total : total * there / std::ssize(pod.bound_gpus);
}

bool QueueAudit::Beyond(const std::string& queue, const std::vector<QueueSpec>& queues) const {
  const auto known = std::find_if(queues.begin(), queues.end(),
                                  [&](const QueueSpec& spec) { return spec.name == queue; });
  if (known == queues.end()) return true;  // what is charged to no queue is nobody's guarantee
  int64_t used = 0;
  // Where its gang's pods name several, it may be charged to each.
  const auto add = [&](const Pod& pod) {
    if (QueuesOf(pod).contains(queue)) used += pod.spec->gpus.total().value();
  };
  for (const auto& [uid, pod] : runs_) add(pod->pod);
  // A plan is charged before its pods are bound: those that were released have one.
  for (const PodPtr& pod : api_.Pods()) {
    const bool released = !pod->pod.gated_by_muster() || !pod->pod.nominated_node.empty();
    if (!pod->pod.bound() && !pod->pod.terminal() && released) add(pod->pod);
  }
  for (const auto& [at, pod] : gone_) add(pod->pod);
  return used > GuaranteeOf(*known, {Resource::Kind::kGpu}).value();
}

bool QueueAudit::MayViolate(const PodRecord& victim, const std::vector<QueueSpec>& queues) const {
  using queues::Budgets;
  const queues::Tree tree(queues);
  std::set<std::string> claimants;
  for (const PodPtr& pod : api_.Pods()) {
    const cluster::ObjectKey gang{pod->pod.key.ns, pod->pod.pod_group};
    if (gang == victim.evicted_for || pod->pod.key == victim.evicted_for)
      claimants.insert(NameOf(pod->pod));
  }
  const auto over = [&](queues::QueueIndex holder, queues::QueueIndex claimant) {
    const auto branches = tree.Diverge(claimant, holder);
    const queues::QueueIndex b = branches ? branches->b : holder;
    const queues::PreemptionSpec& says = tree.at(b).preemption;
    const bool by_share = says.budgets_fair_share == Budgets::kPrefer &&
                          tree.at(claimant).preemption.reclaim == queues::Reclaim::kFairShare;
    if (!branches) return by_share || says.budgets_preempt == Budgets::kPrefer;
    const queues::Vector& guarantee = tree.at(branches->a).guarantee;
    const bool guaranteed =
        std::any_of(guarantee.begin(), guarantee.end(), [](int64_t amount) { return amount > 0; });
    return by_share || (guaranteed && says.budgets_guarantee == Budgets::kPrefer);
  };
  if (OnlyRoot(queues)) return over(queues::kRootIndex, queues::kRootIndex);
  // By its namespace, or gone meanwhile.
  if (claimants.empty() || claimants.contains("")) return true;
  for (const std::string& held_in : QueuesOf(victim.pod)) {
    const auto holder = tree.Find(held_in);
    if (!holder) return true;
    for (const std::string& name : claimants) {
      const auto claimant = tree.Find(name);
      if (!claimant || over(*holder, *claimant)) return true;
    }
  }
  return false;
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
    if (!pod.bound() && Highest(pod) > Lowest(victim) && NameOf(pod) == queue) return true;
  }
  return std::any_of(
      waited_.upper_bound({queue, Lowest(victim)}), waited_.end(),
      [&](const auto& entry) { return entry.first.first == queue && entry.second >= since; });
}

}  // namespace muster::sim
