#include "engine/what_if.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "engine/membership.hpp"
#include "engine/scheduler.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

// Has not started, or lacks members.
bool Waits(const GangView& gang) {
  return gang.state != GangState::kRunning && gang.state != GangState::kFinished;
}

// The second engine, and its world.
class TrialRun {
 public:
  explicit TrialRun(const WhatIf& what)
      : what_(what), now_(what.now), scheduler_(what.options, what.rules) {}

  WhatIfAnswer Go() {
    for (const Fact& fact : what_.known) Tell(fact);
    for (const Fact& fact : what_.workload) {
      Tell(fact);
      if (const auto* pod = std::get_if<Pod>(&fact)) workload_.insert(Membership::IdFor(*pod));
      if (const auto* group = std::get_if<cluster::PodGroup>(&fact))
        workload_.insert(GangId{group->key, false});
    }
    while (answer_.complete && Cycle()) {
    }
    Conclude();
    return std::move(answer_);
  }

 private:
  void Tell(const Fact& fact) {
    if (const auto* pod = std::get_if<Pod>(&fact)) pods_[pod->uid] = *pod;
    scheduler_.Apply(fact, now_);
  }

  // False: nothing follows any more.
  bool Cycle() {
    if (rounds_++ >= what_.most_rounds || (what_.stop && what_.stop())) {
      answer_.complete = false;
      return false;
    }
    const Progress progress = scheduler_.Advance(now_);
    NoteStarts();
    for (const Action& action : progress.actions) CarryOut(action);
    if (!progress.actions.empty()) return true;
    // kube-scheduler would ask again.
    for (const PodUid& uid : std::exchange(refused_, {})) CallBind(uid);
    const Time wake = scheduler_.NextWake();
    if (wake > what_.now + what_.horizon) return false;
    now_ = std::max(now_, wake);
    return true;
  }

  // Gangs that have their minimum now, in the order in which they were bound.
  void NoteStarts() {
    std::erase_if(binding_, [this](const GangId& gang) {
      auto view = scheduler_.FindGang(gang.key);
      if (!view || Waits(*view)) return !view;
      answer_.starts.push_back({*std::move(view), now_ - what_.now});
      return true;
    });
  }
  // Members beyond the minimum of a gang that runs do not start it.
  void NoteBinding(const GangId& gang) {
    if (std::find(binding_.begin(), binding_.end(), gang) != binding_.end()) return;
    const auto view = scheduler_.FindGang(gang.key);
    if (view && Waits(*view)) binding_.push_back(gang);
  }

  // Everything succeeds at once.
  void CarryOut(const Action& action) {
    std::visit([this](const auto& act) { Do(act); }, action);
  }
  template <typename Act>
  void Do(const Act& act) {
    if constexpr (requires { act.id; }) Done(act.id);
  }
  void Do(const Nominate& act) {
    Change(act.pod.uid, [&](Pod& pod) { pod.nominated_node = act.node; });
    Done(act.id);
    CallBind(act.pod.uid);
  }
  void Do(const RemoveGate& act) {
    Change(act.pod.uid, [&](Pod& pod) {
      std::erase(pod.gates, cluster::kGangGate);
      if (!act.pin.empty()) pod.nominated_node = act.pin;
    });
    Done(act.id);
    CallBind(act.pod.uid);
  }
  void Do(const BindPod& act) {
    Change(act.pod.uid, [&](Pod& pod) {
      NoteBinding(Membership::IdFor(pod));
      pod.node_name = act.node;
      pod.bound_gpus = act.gpus;
      pod.bound_by_muster = true;
      pod.nominated_node.clear();
      pod.bound_at = now_;
    });
    Done(act.id);
  }
  void Do(const EvictPod& act) {
    NoteEviction(act);
    Done(act.id);
    pods_.erase(act.pod.uid);
    scheduler_.Apply(PodRemoved{act.pod.uid}, now_);
  }
  void Done(ActionId id) { scheduler_.Report({id, OutcomeKind::kDone, ""}, now_); }

  template <typename Edit>
  void Change(const PodUid& uid, Edit edit) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    edit(found->second);
    if (found->second.resource_version > 0) ++found->second.resource_version;
    scheduler_.Apply(found->second, now_);
  }

  // kube-scheduler's part, which takes no time here.
  void CallBind(const PodUid& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    const Pod& pod = found->second;
    if (pod.bound() || !pod.gates.empty() || pod.nominated_node.empty()) return;
    const auto receipt = scheduler_.Bind({pod.key, pod.uid, pod.nominated_node}, ++tickets_, now_);
    if (!receipt.held && !receipt.error.empty()) refused_.insert(uid);
  }

  void NoteEviction(const EvictPod& act) {
    const auto found = pods_.find(act.pod.uid);
    if (found == pods_.end()) return;
    const GangId id = Membership::IdFor(found->second);
    for (WhatIfEviction& one : answer_.evictions) {
      if (one.gang == id && one.by == act.gang) {
        ++one.pods;
        return;
      }
    }
    WhatIfEviction eviction;
    eviction.gang = id;
    eviction.by = act.gang;
    eviction.pods = 1;
    if (const auto view = scheduler_.FindGang(id.key)) {
      eviction.pods_in_all = static_cast<int64_t>(view->members.size());
      eviction.priority = view->priority;
      eviction.queue = view->queue;
    }
    answer_.evictions.push_back(std::move(eviction));
  }

  void Conclude() {
    for (GangView& gang : scheduler_.Gangs()) {
      if (!Waits(gang)) continue;
      WhatIfWait wait{std::move(gang), {}};
      if (workload_.contains(wait.gang.id)) wait.turn = scheduler_.TurnOf(wait.gang.id.key);
      answer_.waits.push_back(std::move(wait));
    }
    answer_.workload.assign(workload_.begin(), workload_.end());
  }

  const WhatIf& what_;
  Time now_;
  Scheduler scheduler_;
  std::unordered_map<PodUid, Pod> pods_;
  std::set<PodUid> refused_;  // Bind calls
  std::set<GangId> workload_;
  std::vector<GangId> binding_;  // do not run yet
  WhatIfAnswer answer_;
  int64_t rounds_ = 0;
  uint64_t tickets_ = 0;
};

}  // namespace

WhatIfAnswer TryOut(const WhatIf& what) { return TrialRun(what).Go(); }

}  // namespace muster::engine
