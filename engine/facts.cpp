#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::Pod;
using cluster::PodGroup;
using cluster::PodUid;

Scheduler::Core::Core(Options options)
    : options_(std::move(options)), replanner_(options_.placement) {}

std::vector<PodUid> Scheduler::Core::SetOptions(Options options) {
  const bool others = options_.scheduler_names != options.scheduler_names;
  options_ = std::move(options);
  replanner_ = policy::Placer(options_.placement);
  queue_.ForgetFailures();
  ever_fits_.TouchAll(state_);
  health_.Reconsider();
  queue_.AnythingMayFit();
  work_.Note("", {.all = true});
  std::vector<PodUid> pods;
  if (!others) return pods;
  pods.reserve(state_.pod_count());
  state_.EachPod([&](const Pod& pod) { pods.push_back(pod.uid); });
  return pods;
}

void Scheduler::Core::Rehome(const PodUid& uid, bool joins) {
  const Pod* pod = state_.FindPod(uid);
  if (pod == nullptr || gang_of_.contains(uid) == joins || Managed(*pod) != joins) return;
  if (joins) {
    Join(*pod);
  } else if (!pod->bound()) {
    Abandon(*pod);
  }
}

void Scheduler::Core::Apply(const Fact& fact, cluster::Time now) {
  struct Visitor {
    Core& core;
    cluster::Time now;
    void operator()(const Node& node) { core.ApplyNode(node); }
    void operator()(const NodeRemoved& removed) { core.ApplyNodeRemoved(removed.uid); }
    void operator()(const Pod& pod) {
      core.unconfirmed_.erase(pod.uid);
      core.ApplyPod(pod);
    }
    void operator()(const PodRemoved& removed) {
      if (removed.succeeded) core.ApplyLast(removed.uid);
      core.RemovePod(removed.uid, removed.unseen || removed.succeeded);
    }
    void operator()(const PodGroup& group) { core.ApplyPodGroup(group, now); }
    void operator()(const PodGroupRemoved& removed) {
      const GangId gang = core.ForgetPodGroup(removed.uid);
      core.state_.Remove(removed.uid);
      core.ForgetUnjudged(gang);
    }
    void operator()(const PodGroupUnserved& unserved) {
      const GangId gang = core.ForgetPodGroup(unserved.uid);
      core.state_.Forget(unserved.uid);
      core.ForgetUnjudged(gang);
    }
    void operator()(const cluster::Namespace& ns) { core.ApplyNamespace(ns); }
    void operator()(const NamespaceRemoved& removed) { core.state_.Remove(removed.uid); }
    void operator()(const cluster::PriorityClass& priority) { core.state_.Upsert(priority); }
    void operator()(const PriorityClassRemoved& removed) { core.state_.Remove(removed.uid); }
    void operator()(const cluster::DisruptionBudget& budget) {
      if (core.state_.Upsert(budget).changed) core.BudgetsChanged();
    }
    void operator()(const DisruptionBudgetRemoved& removed) {
      if (core.state_.Remove(removed.uid)) core.BudgetsChanged();
    }
    void operator()(const cluster::BatchJob& job) { core.ApplyJob(job); }
    void operator()(const BatchJobRemoved& removed) {
      if (core.jobs_.Remove(removed.uid)) core.candidates_ = {};
    }
    void operator()(const Silence& silence) { core.ApplySilence(silence); }
    void operator()(const Unfenced& unfenced) { core.ApplyUnfenced(unfenced); }
    void operator()(const Fenced& fenced) { core.LetGo(fenced.pod); }
  };
  std::visit(Visitor{*this, now}, fact);
}

void Scheduler::Core::ApplyNamespace(const cluster::Namespace& ns) {
  if (state_.Upsert(ns).changed) work_.Note(ns.key.name, {.all = true});
}

void Scheduler::Core::ApplySilence(const Silence& silence) {
  if (silent_ == silence.resources) return;
  silent_ = silence.resources;
  if (silent_.empty()) queue_.AnythingMayFit();  // a pass may have been broken off
  work_.Note("", {.waiting = true});             // they say why they are not tried, or go on
}

void Scheduler::Core::ApplyUnfenced(const Unfenced& unfenced) {
  const Pod* pod = state_.FindPod(unfenced.pod);
  if (pod == nullptr || pod->bound() || pod->terminal()) return;
  unfenced_.Hold(unfenced.pod, unfenced.node, unfenced.why);
  queue_.ForgetFailures();
  queue_.AnythingMayFit();
  if (const PlacedMember at = Find(unfenced.pod); at.gang != nullptr) Touch(*at.gang);
}

void Scheduler::Core::LetGo(const PodUid& uid) {
  if (!unfenced_.LetGo(uid)) return;
  queue_.AnythingMayFit();  // its node takes plans again
  if (const PlacedMember at = Find(uid); at.gang != nullptr) Touch(*at.gang);
}

void Scheduler::Core::ApplyJob(const cluster::BatchJob& job) {
  if (jobs_.Upsert(job)) candidates_ = {};
  for (const PodUid& uid : jobs_.TakeDone(job.uid)) {
    Pod pod = *state_.FindPod(uid);
    pod.phase = cluster::PodPhase::kSucceeded;
    state_.Upsert(std::move(pod));
    if (const PlacedMember at = Find(uid); at.gang != nullptr) Touch(*at.gang);
  }
}

// Who was kept from going may go now.
void Scheduler::Core::BudgetsChanged() {
  if (!any_staying_) return;
  any_staying_ = false;
  work_.Note("", {.asked_anew = true});
  candidates_ = {};
  queue_.AnythingMayFit();
}

void Scheduler::Core::ApplyNode(const Node& given) {
  const Node* known = state_.FindNode(given.name);
  if (known != nullptr && known->uid != given.uid) health_.ForgetNode(given.name);
  std::optional<Node> marked;
  if (health_.Watches(given.name)) health_.Mark(marked.emplace(given));
  const Node& node = marked ? *marked : given;
  if (known != nullptr && *known == node) return;  // a heartbeat
  ever_fits_.TouchRecord(state_.IndexOf(node.name));
  if (known != nullptr) {
    TouchReservations(state_.IndexOf(node.name));
    if (known->uid != node.uid) RememberBindings(state_.IndexOf(node.name));
  }
  if (!state_.Upsert(node).changed) return;
  ever_fits_.TouchRecord(state_.IndexOf(node.name));
  RestoreBindings(node.name);
  TouchReservations(state_.IndexOf(node.name));
}

void Scheduler::Core::ApplyNodeRemoved(const cluster::NodeUid& uid) {
  const cluster::NodeIndex node = state_.IndexOf(uid);
  TouchReservations(node);
  RememberBindings(node);
  if (node.valid()) {
    ever_fits_.TouchRecord(node);
    health_.ForgetNode(state_.node(node)->name);
  }
  // What waited for room may now be waiting for what this cluster will never have.
  if (state_.Remove(uid)) queue_.AnythingMayFit();
}

void Scheduler::Core::TouchReservations(cluster::NodeIndex node) {
  if (!node.valid()) return;
  const auto touch = [&](const PodUid& uid) {
    const auto found = gang_of_.find(uid);
    if (found == gang_of_.end()) return;
    found->second->check_plan = true;
    Touch(*found->second);
  };
  for (const PodUid& holder : state_.HoldersOn(node)) touch(holder);
  for (const PodUid& waiting : state_.EarmarksOn(node)) touch(waiting);
}

// A node takes the reservations on it along when it goes. A binding that is under way can still
// come true on the next node of that name, so what it was planned on there stays reserved for it.
void Scheduler::Core::RememberBindings(cluster::NodeIndex node) {
  if (!node.valid()) return;
  for (const PodUid& holder : state_.HoldersOn(node)) {
    const PlacedMember at = Find(holder);
    if (at.member != nullptr && at.member->may_be_bound()) rootless_.insert(holder);
  }
}

void Scheduler::Core::RestoreBindings(const std::string& node) {
  for (auto next = rootless_.begin(); next != rootless_.end();) {
    const PodUid uid = *next;
    const PlacedMember at = Find(uid);
    const bool lost = at.member != nullptr && at.member->plan && at.member->may_be_bound() &&
                      state_.AllocationOf(uid) == nullptr;
    if (lost && at.member->planned_node != node) {
      ++next;
      continue;
    }
    next = rootless_.erase(next);
    if (!lost) continue;
    cluster::Placement plan = *at.member->plan;
    plan.node = state_.IndexOf(node);
    if (state_.Reserve({plan}).ok()) at.member->plan = std::move(plan);
  }
}

void Scheduler::Core::TouchUnsound(cluster::NodeIndex node) {
  if (node.valid() && state_.Overcommitted(node)) TouchReservations(node);
}

// Muster's by itself: by its schedulerName, because kube-scheduler asked about it (or had when
// Muster was restarted, for Muster handed it over), or because Muster bound it.
bool Scheduler::Core::Claimed(const Pod& pod) const {
  return std::find(options_.scheduler_names.begin(), options_.scheduler_names.end(),
                   pod.spec->scheduler_name) != options_.scheduler_names.end() ||
         seen_in_filter_.contains(pod.uid) || (pod.bound() && pod.bound_by_muster);
}

bool Scheduler::Core::Managed(const Pod& pod) const {
  if (Claimed(pod)) return true;
  if (pod.pod_group.empty()) return false;
  const auto gang = gangs_.find(GangOf(pod));
  return gang != gangs_.end() &&
         std::any_of(gang->second.members.begin(), gang->second.members.end(),
                     [&](const auto& entry) { return Claimed(*entry.second.pod); });
}

GangId Scheduler::Core::GangOf(const Pod& pod) const {
  if (pod.pod_group.empty()) return {pod.key, true};
  return {{pod.key.ns, pod.pod_group}, false};
}

namespace {

// What was known of a pod, and a record that says otherwise and cannot be right.
void Correct(const Pod& known, Pod& pod) {
  // A pod is bound once and for all, and a gate that is gone does not come back: a record that
  // says otherwise is older than what we know.
  if (known.bound() && !pod.bound()) {
    pod.node_name = known.node_name;
    pod.bound_gpus = known.bound_gpus;
    pod.bound_by_muster = known.bound_by_muster;
  }
  if (known.phase == cluster::PodPhase::kFailed && pod.terminal()) pod.phase = known.phase;
  std::erase_if(pod.gates, [&](const std::string& gate) {
    return std::find(known.gates.begin(), known.gates.end(), gate) == known.gates.end();
  });
}

}  // namespace

// What is kept of a pod beside its gang.
void Scheduler::Core::ForgetPod(const PodUid& uid) {
  LetGo(uid);
  seen_in_filter_.erase(uid);
  unconfirmed_.erase(uid);
  jobs_.Forget(uid);
  health_.ForgetPod(uid);
}

void Scheduler::Core::ApplyPod(Pod pod) {
  pod.spec = specs_.Intern(std::move(pod.spec));
  if (const Pod* known = state_.FindPod(pod.uid)) {
    // The same version is the same object, and what we learnt from our own writes since is newer.
    if (pod.resource_version != 0 && pod.resource_version == known->resource_version) return;
    Correct(*known, pod);
    // Told to go before it had ended, it did not end by itself, whatever its exit code: but to a
    // Job that waits to see it.
    if (known->deleting && !known->terminal() && pod.phase == cluster::PodPhase::kSucceeded &&
        !jobs_.IsDone(pod)) {
      pod.phase = cluster::PodPhase::kFailed;
    }
  }
  if (pod.deleting && !pod.terminal()) jobs_.ToldToGo(pod);
  const PodUid uid = pod.uid;
  const bool asked_before = state_.FindPod(uid) == nullptr && pod.handed_over && !Claimed(pod);
  if (asked_before) seen_in_filter_.insert(uid);
  const bool managed = Managed(pod);
  const Pod* before = state_.FindPod(pod.key);
  const cluster::ObjectKey group_before = before == nullptr ? pod.key : GangOf(*before).key;
  const bool ended_before = before != nullptr && before->phase == cluster::PodPhase::kSucceeded;
  const std::string role_before = before == nullptr ? "" : before->role;
  const cluster::NodeIndex node_before = state_.IndexOf(before == nullptr ? "" : before->node_name);
  const bool stayed = before != nullptr && EverFits::Stays(*before, options_.scheduler_names);
  const cluster::Applied applied = state_.Upsert(std::move(pod));
  if (stayed && applied.changed) ever_fits_.TouchPods(node_before);
  if (!applied.replaced.empty()) {
    const PodUid replaced(applied.replaced);
    RemoveOutsider(group_before, replaced);
    const PlacedMember member = Find(replaced);
    if (ended_before && member.gang != nullptr && !member.member->bygone) {
      member.gang->past.Ended(member.member->key.name, role_before);
    }
    Leave(replaced);
    TouchUnsound(node_before);
    ForgetPod(replaced);
  }
  if (asked_before && !applied.changed) seen_in_filter_.erase(uid);
  if (!applied.changed) return;
  RemoveOutsider(group_before, uid);
  const Pod* now_known = state_.FindPod(uid);
  if (now_known == nullptr) return;
  if (EverFits::Stays(*now_known, options_.scheduler_names))
    ever_fits_.TouchPods(state_.IndexOf(now_known->node_name));
  if (now_known->bound() || now_known->terminal()) LetGo(uid);
  if (managed) {
    Join(*now_known);
  } else {
    const auto member = gang_of_.find(uid);
    if (member != gang_of_.end() && member->second->id != GangOf(*now_known)) Abandon(*now_known);
    AddOutsider(*now_known);
  }
  NoteStart(*now_known);
  // A pod that another scheduler bound may have taken what was reserved.
  if (now_known->bound()) TouchUnsound(state_.IndexOf(now_known->node_name));
}

// Who was told to go has ended with success, of which there was no record.
void Scheduler::Core::ApplyLast(const PodUid& uid) {
  const Pod* known = state_.FindPod(uid);
  if (known == nullptr || !known->deleting || known->terminal() || !jobs_.IsDone(*known)) return;
  Pod last = *known;
  last.phase = cluster::PodPhase::kSucceeded;
  last.resource_version = 0;
  ApplyPod(std::move(last));
}

// `uid` is not a reference into what goes.
void Scheduler::Core::RemovePod(const PodUid& uid, bool unseen) {
  NoteEnd(uid, unseen);
  Leave(uid);
  cluster::NodeIndex node;
  if (const Pod* pod = state_.FindPod(uid)) {
    RemoveOutsider(GangOf(*pod).key, uid);
    node = state_.IndexOf(pod->node_name);
    if (EverFits::Stays(*pod, options_.scheduler_names)) ever_fits_.TouchPods(node);
  }
  ForgetPod(uid);
  state_.Remove(uid);
  TouchUnsound(node);
}

void Scheduler::Core::ApplyPodGroup(const PodGroup& group, cluster::Time now) {
  const cluster::Applied applied = state_.Upsert(group);
  if (!applied.replaced.empty()) group_keys_.erase(cluster::PodGroupUid(applied.replaced));
  if (!applied.changed) return;
  const GangId id{group.key, false};
  group_keys_[group.uid] = group.key;
  Gang& gang = gangs_[id];
  gang.id = id;
  if (!gang.group_uid.empty() && gang.group_uid != group.uid.text()) Restart(gang, now);
  gang.group_uid = group.uid.text();
  gang.record_differs = gang.past.adopted() && group.record != gang.published_record;
  Touch(gang);
}

GangId Scheduler::Core::ForgetPodGroup(const cluster::PodGroupUid& uid) {
  const auto found = group_keys_.find(uid);
  if (found == group_keys_.end()) return {};
  GangId id{found->second, false};
  const auto gang = gangs_.find(id);
  if (gang != gangs_.end()) Touch(gang->second);
  group_keys_.erase(found);
  return id;
}

bool Scheduler::Core::Gone(const Gang& gang) const {
  return gang.members.empty() && (gang.id.solo || state_.FindPodGroup(gang.id.key) == nullptr);
}

// Where gangs are judged, that is where they end. A follower judges none, for weeks.
void Scheduler::Core::ForgetUnjudged(const GangId& id) {
  const auto found = gangs_.find(id);
  if (found == gangs_.end() || found->second.judged || !Gone(found->second)) return;
  work_.Forget(found->second);
  gangs_.erase(found);
}

// Another PodGroup under the same name. What runs goes on; everything else of its past is not this
// one's.
void Scheduler::Core::Restart(Gang& gang, cluster::Time now) {
  Drop(gang, "muster: the PodGroup was replaced", now);
  if (gang.tally.bound == 0) gang.past = {};
  gang.attempts = 0;
  gang.expired = false;
  gang.vain_preemptions = 0;
  gang.may_preempt_from.reset();
  gang.repairing = false;
  gang.partial_since.reset();
  gang.obstacle.clear();
  gang.queued_at.reset();
  gang.backoff_until.reset();
  gang.broken_plans = 0;
  gang.replan_from.reset();
  gang.setback = {};
  gang.published_state.reset();
  gang.published_done = {-1, -1};
  gang.published_record = {};
  gang.record_differs = false;
}

void Scheduler::Core::Join(const Pod& pod) {
  const GangId id = GangOf(pod);
  const auto found = gang_of_.find(pod.uid);
  rehome_.erase(pod.uid);
  if (found != gang_of_.end() && found->second->id != id) {  // its PodGroup was changed
    Member& member = found->second->members.at(pod.uid);
    if (!MayLeave(member)) return;
    if (pod.bound()) SettleMember(member, pod);
    LoseVictim(member);
    Leave(pod.uid);
  }
  Gang& gang = gangs_[id];
  gang.id = id;
  Member& member = gang.members[pod.uid];
  member.uid = pod.uid;
  member.key = pod.key;
  member.pod = state_.FindPod(pod.uid);
  gang_of_[pod.uid] = &gang;
  Touch(gang);
  TouchPreemptor(member);
  if (id.solo) return;
  const auto outsiders = outsiders_.extract(id.key);
  if (outsiders.empty()) return;
  for (const PodUid& uid : outsiders.mapped()) {
    if (uid != pod.uid) Join(*state_.FindPod(uid));
  }
}

// Not while it may be bound without our knowing: others would be given what it holds. Asked again
// when the outcome is known.
bool Scheduler::Core::MayLeave(const Member& member) {
  const bool may = member.pod->bound() || !member.may_be_bound();
  if (!may) rehome_.insert(member.uid);
  return may;
}

// A member goes that is wanted no more: it has succeeded, or nobody saw how it ended.
void Scheduler::Core::NoteEnd(const PodUid& uid, bool unseen) {
  const PlacedMember at = Find(uid);
  if (at.member == nullptr) return;
  const Pod& pod = *at.member->pod;
  const bool unknown = unseen && pod.bound() && !pod.terminal() && !pod.deleting;
  if (at.member->bygone) return;
  if (pod.phase == cluster::PodPhase::kSucceeded || (unknown && !at.member->evicting)) {
    at.gang->past.Ended(pod.key.name, pod.role);
  }
}

// The pod's record may be gone already.
void Scheduler::Core::Leave(const PodUid& uid) {
  const auto found = gang_of_.find(uid);
  if (found == gang_of_.end()) return;
  Gang& gang = *found->second;
  Member& member = gang.members.at(uid);
  writes_.Forget(member, "muster: the pod is gone");
  // What came of the eviction is told by its being gone.
  if (member.doing == Doing::kEvict && member.makes_way_for) NoteEvicted(*member.makes_way_for);
  TouchPreemptor(member);
  if (member.plan) state_.Release(uid);
  rehome_.erase(uid);
  gang.members.erase(uid);
  gang_of_.erase(found);
  Touch(gang);
  ForgetUnjudged(GangId(gang.id));
}

// A pod that lives on and is Muster's no more. Room is kept for it as long as it is nominated.
void Scheduler::Core::Abandon(const Pod& pod) {
  const PlacedMember at = Find(pod.uid);
  if (!MayLeave(*at.member)) return;
  if (at.member->plan && !pod.bound()) {
    writes_.Ask(Nominate{writes_.NextId(), RefOf(*at.member), ""});
  }
  LoseVictim(*at.member);
  Leave(pod.uid);
  AddOutsider(pod);
}

void Scheduler::Core::AddOutsider(const Pod& pod) {
  if (pod.pod_group.empty() || gang_of_.contains(pod.uid)) return;
  outsiders_[GangOf(pod).key].insert(pod.uid);
}

void Scheduler::Core::RemoveOutsider(const cluster::ObjectKey& key, const PodUid& pod) {
  const auto group = outsiders_.find(key);
  if (group == outsiders_.end()) return;
  group->second.erase(pod);
  if (group->second.empty()) outsiders_.erase(group);
}

void Scheduler::Core::Touch(Gang& gang) {
  gang.version = next_version_++;
  work_.Touch(gang.id);
}

Scheduler::Core::PlacedMember Scheduler::Core::Find(const PodUid& uid) {
  const auto found = gang_of_.find(uid);
  if (found == gang_of_.end()) return {};
  return {found->second, &found->second->members.at(uid)};
}

}  // namespace muster::engine
