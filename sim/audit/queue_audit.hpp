// QueueAudit: whether the policy's queues let Muster evict a pod, as the API server's objects show
// it, and by other means than Muster's. What it needs to say so need not be enough: it finds
// evictions that no rule allows, not each that a rule forbids. Part of the Auditor; one thread.
//
//   within a queue (R4)   a pod of Muster's of higher priority waits there, or did a moment ago
//   between queues (R5)   the victim's queue has more GPUs than it is guaranteed, or had a moment
//                         ago
//   over its budget       the policy says so of its queue, and of a guarantee that the other one
//   has never (R14)           its gang says that it is not preemptible, or a pod of it is protected
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "queues/queue_spec.hpp"
#include "sim/api_server/api_server.hpp"

namespace muster::sim {

class QueueAudit {
 public:
  explicit QueueAudit(ApiServer& api) : api_(api) {}

  // A pod is bound. (What the API server has may be ahead of what the Auditor has heard: of pods
  // that go together the first would seem to go when the others are gone already.)
  void Runs(const PodPtr& pod) { runs_[pod->pod.uid] = pod; }
  // A pod that was bound is gone, or has ended.
  void Gone(const PodPtr& pod, cluster::Time at) {
    runs_.erase(pod->pod.uid);
    gone_.emplace_back(at, pod);
  }
  // A pod of Muster's waits no more.
  void Waited(const cluster::Pod& pod, cluster::Time at) {
    waited_[{NameOf(pod), Highest(pod)}] = at;
  }
  // Its value counts for all of its pods, as long as it is there, and may just have counted later.
  void SeeGroup(const cluster::PodGroup& group) {
    if (group.priority.value) priorities_[group.key] = *group.priority.value;
  }
  // The least and the most for which the pod may count.
  int32_t Lowest(const cluster::Pod& pod) const;
  int32_t Highest(const cluster::Pod& pod) const;
  const std::map<cluster::PodUid, PodPtr>& runs() const { return runs_; }
  // The queue that its PodGroup or it says; empty: neither.
  std::string NameOf(const cluster::Pod& pod) const;
  // R14. False too where not all of its gang's pods say the same: it may have been another then.
  bool IsKept(const cluster::Pod& victim) const;
  // R14: `pod` was bound; with it gangs of its queue that are not preemptible have more GPUs than
  // it is guaranteed.
  bool IsKeptBeyond(const cluster::Pod& pod, const std::vector<queues::QueueSpec>& queues) const;
  // It was evicted although its budget did not let it go: the policy puts some right over its queue
  // above budgets.
  bool MayViolate(const PodRecord& victim, const std::vector<queues::QueueSpec>& queues) const;
  // `since`: what was then may still be what Muster went by.
  bool MayGo(const cluster::Pod& victim, const std::vector<queues::QueueSpec>& queues,
             cluster::Time since);

 private:
  // In which it may be: its gang's pods may name several, also those that have just gone.
  std::set<std::string> QueuesOf(const cluster::Pod& pod) const;
  int64_t HeldBy(const cluster::Pod& pod) const;  // thousandths of a GPU
  bool Beyond(const std::string& queue, const std::vector<queues::QueueSpec>& queues) const;

  ApiServer& api_;
  std::map<cluster::ObjectKey, int32_t> priorities_;  // of PodGroups
  std::map<cluster::PodUid, PodPtr> runs_;
  std::deque<std::pair<cluster::Time, PodPtr>> gone_;
  std::map<std::pair<std::string, int32_t>, cluster::Time> waited_;  // until when
};

}  // namespace muster::sim
