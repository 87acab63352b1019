#include "engine/trial/trial_world.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "engine/gangs/membership.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;

namespace {

Rules Silent(Rules rules) {
  rules.tell_again = {};
  return rules;
}

}  // namespace

TrialWorld::TrialWorld(const Options& options, const Rules& rules, cluster::Time now)
    : now_(now), scheduler_(options, Silent(rules)) {}

void TrialWorld::Tell(const Fact& fact) {
  if (const auto* pod = std::get_if<Pod>(&fact)) pods_[pod->uid] = *pod;
  scheduler_.Apply(fact, now_);
}

bool TrialWorld::Cycle() {
  const Progress progress = scheduler_.Advance(now_);
  NoteStarts();
  for (const Action& action : progress.actions)
    std::visit([this](const auto& act) { Do(act); }, action);
  if (!progress.actions.empty()) return true;
  // kube-scheduler would ask again.
  for (const PodUid& uid : std::exchange(refused_, {})) CallBind(uid);
  return scheduler_.NextWake() <= now_;
}

void TrialWorld::End(const GangId& gang) {
  const std::optional<GangView> view = scheduler_.FindGang(gang.key);
  if (!view || view->id != gang) return;
  for (const MemberView& member : view->members) {
    if (member.bound_node.empty()) continue;
    Change(member.uid, [](Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
  }
}

void TrialWorld::NoteStarts() {
  std::erase_if(binding_, [this](const GangId& gang) {
    auto view = scheduler_.FindGang(gang.key);
    if (!view || Waits(*view)) return !view;
    starts_.push_back(*std::move(view));
    return true;
  });
}

// Members beyond the minimum of a gang that runs do not start it.
void TrialWorld::NoteBinding(const GangId& gang) {
  if (std::find(binding_.begin(), binding_.end(), gang) != binding_.end()) return;
  const auto view = scheduler_.FindGang(gang.key);
  if (view && Waits(*view)) binding_.push_back(gang);
}

void TrialWorld::NoteEviction(const EvictPod& act) {
  const auto found = pods_.find(act.pod.uid);
  if (found == pods_.end()) return;
  const GangId id = Membership::IdFor(found->second);
  for (WhatIfEviction& one : evictions_) {
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
  const auto claimant = scheduler_.FindGang(act.gang);
  if (claimant && claimant->certificate) {
    for (const VictimGang& victim : claimant->certificate->victims) {
      if (victim.gang == id) eviction.right = victim.right;
    }
  }
  evictions_.push_back(std::move(eviction));
}

void TrialWorld::Do(const Nominate& act) {
  Change(act.pod.uid, [&](Pod& pod) { pod.nominated_node = act.node; });
  Done(act.id);
  CallBind(act.pod.uid);
}

void TrialWorld::Do(const RemoveGate& act) {
  Change(act.pod.uid, [&](Pod& pod) {
    std::erase(pod.gates, cluster::kGangGate);
    if (!act.pin.empty()) pod.nominated_node = act.pin;
  });
  Done(act.id);
  CallBind(act.pod.uid);
}

void TrialWorld::Do(const BindPod& act) {
  Change(act.pod.uid, [&](Pod& pod) {
    NoteBinding(Membership::IdFor(pod));
    pod.node_name = act.node;
    pod.bound_gpus = act.gpus;
    pod.bound_by_muster = true;
    pod.bound_in = act.gang;
    pod.nominated_node.clear();
    pod.bound_at = now_;
  });
  Done(act.id);
}

void TrialWorld::Do(const EvictPod& act) {
  NoteEviction(act);
  Done(act.id);
  pods_.erase(act.pod.uid);
  scheduler_.Apply(PodRemoved{act.pod.uid}, now_);
}

template <typename Edit>
void TrialWorld::Change(const PodUid& uid, Edit edit) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  edit(found->second);
  if (found->second.resource_version > 0) ++found->second.resource_version;
  scheduler_.Apply(found->second, now_);
}

// kube-scheduler's part, which takes no time here.
void TrialWorld::CallBind(const PodUid& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  const Pod& pod = found->second;
  if (pod.bound() || !pod.gates.empty() || pod.nominated_node.empty()) return;
  const auto receipt = scheduler_.Bind({pod.key, pod.uid, pod.nominated_node}, ++tickets_, now_);
  if (!receipt.held && !receipt.error.empty()) refused_.insert(uid);
}

}  // namespace muster::engine
