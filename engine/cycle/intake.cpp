#include "engine/cycle/intake.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/provisioning.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/membership_moves.hpp"
#include "engine/cycle/node_intake.hpp"
#include "engine/cycle/node_starts.hpp"
#include "engine/cycle/ordering.hpp"
#include "engine/cycle/setback.hpp"
#include "engine/judging/evidence.hpp"
#include "engine/judging/succession.hpp"
#include "engine/judging/volumes.hpp"
#include "engine/preemption/evictions.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/preemption/victim_changes.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::Pod;
using cluster::PodGroup;
using cluster::PodUid;
using cluster::Time;

namespace {

// They are told to the cluster as they are completed now; nothing else of them is new.
void CompleteAnew(EngineState& state, const VolumeTable::PodUids& pods, Time now) {
  for (const PodUid& uid : pods) {
    const Pod* known = state.cluster.FindPod(uid);
    if (known == nullptr) continue;
    const std::shared_ptr<const cluster::PodSpec> before = known->spec;
    const std::shared_ptr<const cluster::VolumeDemand> demand = known->volume_demand();
    const bool awaited = known->awaits_volumes();
    Pod pod = AsDeclared(*known);
    pod.resource_version = 0;
    ApplyPod(state, std::move(pod), now);
    const Pod* now_known = state.cluster.FindPod(uid);
    Gang* gang = state.members.Find(uid).gang;
    if (gang == nullptr || now_known == nullptr) continue;
    if (now_known->spec == before && now_known->awaits_volumes() == awaited &&
        SameDemand(now_known->volume_demand(), demand))
      continue;
    PendingQueue::ForgetTry(*gang);  // it asks for something else now
    state.work.Touch(*gang);
  }
}

// The pod is as ClusterState has it now, or is forgotten next: who shares a claim with it may be
// let in, or kept out.
void FollowVolumes(EngineState& state, const Pod& pod, Time now) {
  if (pod.volumes != nullptr) CompleteAnew(state, state.volumes.Follow(pod), now);
}

void ForgetVolumes(EngineState& state, const PodUid& uid, Time now) {
  CompleteAnew(state, state.volumes.Forget(uid), now);
}

// How many volumes the node takes is part of its record.
void CompleteNode(EngineState& state, const std::string& name) {
  if (const cluster::Node* known = state.cluster.FindNode(name)) {
    const cluster::Node node = *known;
    ApplyNode(state, node);
  }
}

void ApplyStorage(EngineState& state, const cluster::StorageRecord& record, Time now) {
  CompleteAnew(state, state.volumes.Upsert(record), now);
  if (const auto* drivers = std::get_if<cluster::NodeDrivers>(&record))
    CompleteNode(state, drivers->node);
  NoteChange(state);
}

void RemoveStorage(EngineState& state, const StorageRemoved& removed, Time now) {
  CompleteAnew(state, state.volumes.Remove(removed.kind, removed.key), now);
  if (removed.kind == cluster::StorageKind::kNodeDrivers) CompleteNode(state, removed.key.name);
  NoteChange(state);
}

void ApplyStorageReadable(EngineState& state, const StorageReadable& told, Time now) {
  CompleteAnew(state, state.volumes.SetReadable(told.readable), now);
  NoteChange(state);
}

void ApplyWatchStale(EngineState& state, const WatchStale& stale) {
  if (state.stale_resources == stale.resources) return;
  state.stale_resources = stale.resources;
  if (state.stale_resources.empty())
    state.queue.AnythingMayFit();          // a pass may have been broken off
  state.work.Note("", {.waiting = true});  // they say why they are not tried, or go on
}

void ApplyUnfenced(EngineState& state, const Unfenced& unfenced) {
  const Pod* pod = state.cluster.FindPod(unfenced.pod);
  if (pod == nullptr || pod->bound() || pod->terminal()) return;
  state.unfenced.Hold(unfenced.pod, unfenced.node, unfenced.why);
  state.queue.ForgetFailures();
  state.queue.AnythingMayFit();
  TouchGangOf(state, unfenced.pod);
}

void LetGo(EngineState& state, const PodUid& uid) {
  if (!state.unfenced.LetGo(uid)) return;
  state.queue.AnythingMayFit();  // its node takes plans again
  TouchGangOf(state, uid);
}

void ApplyJob(EngineState& state, const cluster::BatchJob& job, Time now) {
  if (state.jobs.Upsert(job)) state.candidates = {};
  for (const PodUid& uid : state.jobs.TakeDone(job.uid)) {
    Pod pod = *state.cluster.FindPod(uid);
    pod.phase = cluster::PodPhase::kSucceeded;
    state.cluster.Upsert(std::move(pod));
    FollowVolumes(state, *state.cluster.FindPod(uid), now);
    TouchGangOf(state, uid);
  }
}

// Pods that could not be evicted may be now.
void BudgetsChanged(EngineState& state) {
  state.candidates = {};
  const bool awaited = state.budget_watch.TakeAwaited();
  if (state.preemptions.ReleaseAll() || awaited) state.queue.AnythingMayFit();
}

// A gang that waits for members says what else its group has.
void TouchForming(EngineState& state, const cluster::ObjectKey& group) {
  Gang* gang = state.members.Find(GangId{group, false});
  if (gang != nullptr && gang->state == GangState::kForming) state.work.Touch(*gang);
}

// What is kept of a pod beside its gang.
void ForgetPod(EngineState& state, const PodUid& uid, Time now) {
  LetGo(state, uid);
  state.members.Forget(uid);
  state.jobs.Forget(uid);
  state.health.ForgetPod(uid);
  state.hami_turns.ForgetPod(uid);
  ForgetVolumes(state, uid, now);
}

// What was known of a pod, and a record that says otherwise and cannot be right: a pod is bound
// once and for all, and a gate that is gone does not come back.
void Correct(const Pod& known, Pod& pod) {
  if (known.bound() && !pod.bound()) {
    // All that a Binding writes: without bound_in it would seem to have been bound by itself.
    pod.node_name = known.node_name;
    pod.bound_gpus = known.bound_gpus;
    pod.bound_by_muster = known.bound_by_muster;
    pod.bound_in = known.bound_in;
    pod.bound_at = known.bound_at;
    pod.says_disruption = known.says_disruption;
    pod.nominated_node = known.nominated_node;
    pod.hami_turn = known.hami_turn;
  }
  if (known.phase == cluster::PodPhase::kFailed && pod.terminal()) pod.phase = known.phase;
  std::erase_if(pod.gates, [&](const std::string& gate) {
    return std::find(known.gates.begin(), known.gates.end(), gate) == known.gates.end();
  });
}

// A pod that was told to go has ended with success, of which there was no record.
void ApplyLast(EngineState& state, const PodUid& uid, Time now) {
  const Pod* known = state.cluster.FindPod(uid);
  if (known == nullptr || !known->deleting || known->terminal() || !state.jobs.IsDone(*known))
    return;
  Pod last = *known;
  last.phase = cluster::PodPhase::kSucceeded;
  last.resource_version = 0;
  ApplyPod(state, std::move(last), now);
}

// A member goes that is wanted no more: it has succeeded, or nobody saw how it ended.
void NoteEnd(EngineState& state, const PodUid& uid, bool unseen) {
  const PlacedMember at = state.members.Find(uid);
  if (at.member == nullptr || at.member->from_earlier_run) return;
  const Pod& pod = *at.member->pod;
  const bool unknown = unseen && at.member->holds() && !at.member->leaving();
  if (pod.phase == cluster::PodPhase::kSucceeded || unknown)
    at.gang->past.Ended(pod.key.name, pod.role);
}

// Another PodGroup under the same name. What runs goes on; everything else of its past is not this
// one's. What pods declare is another one whenever the first of them comes: that is no deletion,
// and what their owner remembers stays.
void Restart(EngineState& state, Gang& gang, bool declared, Time now) {
  Drop(state, gang, "muster: the PodGroup was replaced", now);
  if (declared) LeaveToOwner(state, gang, now);
  gang.memory = Memory::kToTake;
  if (gang.tally.bound == 0) gang.past = {};
  gang.course = {};
  state.preemptions.ForgetTries(gang.id);
  state.refusals.Forget(gang.id);
  if (!declared) EndKeptRoom(state, gang.id, WindowEnd::kDeleted);
  state.announcer.Forget(gang);
}

void ApplyPodGroup(EngineState& state, const PodGroup& group, Time now) {
  const cluster::Applied applied = state.cluster.Upsert(group);
  if (!applied.replaced.empty()) state.members.ForgetGroup(cluster::PodGroupUid(applied.replaced));
  if (!applied.changed) return;
  state.members.AddGroup(group);
  Gang& gang = state.members.Make({group.key, false});
  const std::string uid(group.uid.text());
  if (!gang.group_uid.empty() && gang.group_uid != uid) Restart(state, gang, group.declared, now);
  gang.group_uid = uid;
  gang.attempts_of = group.attempts_of;
  FollowOwner(gang, group);
  state.announcer.Read(gang, group.record);
  state.work.Touch(gang);
}

// `unserved`: its kind is; it may come back.
void RemovePodGroup(EngineState& state, const cluster::PodGroupUid& uid, bool unserved) {
  const std::optional<GangId> id = state.members.GangOfGroup(uid);
  Gang* gang = id ? state.members.Find(*id) : nullptr;
  if (gang != nullptr) state.work.Touch(*gang);
  const PodGroup* group = gang == nullptr ? nullptr : state.members.GroupOf(*gang);
  const bool declared = group != nullptr && group->declared;
  state.members.ForgetGroup(uid);
  if (unserved) {
    state.cluster.Forget(uid);
  } else {
    state.cluster.Remove(uid);
    if (id && !declared) EndKeptRoom(state, *id, WindowEnd::kDeleted);
  }
  if (id) EraseUnjudged(state, *id);
}

struct Visitor {
  EngineState& state;
  Time now;
  void operator()(const Node& node) const { ApplyNode(state, node); }
  void operator()(const NodeRemoved& removed) const { RemoveNode(state, removed.uid); }
  void operator()(const Pod& pod) const {
    state.members.Confirm(pod.uid);
    ApplyPod(state, pod, now);
  }
  void operator()(const PodRemoved& removed) const {
    if (removed.succeeded) ApplyLast(state, removed.uid, now);
    RemovePod(state, removed.uid, removed.unseen || removed.succeeded, now);
  }
  void operator()(const PodWithdrawn& withdrawn) const { WithdrawPod(state, withdrawn.uid, now); }
  void operator()(const PodGroup& group) const { ApplyPodGroup(state, group, now); }
  void operator()(const PodGroupRemoved& removed) const {
    RemovePodGroup(state, removed.uid, false);
  }
  void operator()(const PodGroupUnserved& gone) const { RemovePodGroup(state, gone.uid, true); }
  void operator()(const cluster::Namespace& ns) const {
    if (state.cluster.Upsert(ns).changed) state.work.Note(ns.key.name, {.all = true});
  }
  void operator()(const NamespaceRemoved& removed) const { state.cluster.Remove(removed.uid); }
  void operator()(const cluster::PriorityClass& one) const {
    if (state.cluster.Upsert(one).changed) state.work.Note("", {.all = true});
  }
  void operator()(const PriorityClassRemoved& removed) const {
    if (state.cluster.Remove(removed.uid)) state.work.Note("", {.all = true});
  }
  void operator()(const cluster::DisruptionBudget& budget) const {
    if (state.cluster.Upsert(budget).changed) BudgetsChanged(state);
  }
  void operator()(const DisruptionBudgetRemoved& removed) const {
    if (state.cluster.Remove(removed.uid)) BudgetsChanged(state);
  }
  void operator()(const cluster::BatchJob& job) const { ApplyJob(state, job, now); }
  void operator()(const BatchJobRemoved& removed) const {
    if (state.jobs.Remove(removed.uid)) state.candidates = {};
    ForgetOwner(state, removed.uid.text());
  }
  void operator()(const WatchStale& stale) const { ApplyWatchStale(state, stale); }
  void operator()(const Unfenced& unfenced) const { ApplyUnfenced(state, unfenced); }
  void operator()(const Fenced& fenced) const { LetGo(state, fenced.pod); }
  void operator()(const cluster::ResourceQuota& quota) const {
    if (!state.quotas.Upsert(quota)) return;
    state.work.Note(quota.key.ns, {.waiting = true});
    NoteChange(state);
  }
  void operator()(const ResourceQuotaRemoved& removed) const {
    const std::string ns = state.quotas.Remove(removed.uid);
    if (ns.empty()) return;
    state.work.Note(ns, {.waiting = true});
    NoteChange(state);
  }
  void operator()(const cluster::ProvisioningRequest& told) const {
    ApplyRequest(state, told, now);
  }
  void operator()(const ProvisioningRequestRemoved& removed) const {
    RemoveRequest(state, removed.uid, now);
  }
  void operator()(const cluster::StorageRecord& record) const { ApplyStorage(state, record, now); }
  void operator()(const StorageRemoved& removed) const { RemoveStorage(state, removed, now); }
  void operator()(const StorageReadable& told) const { ApplyStorageReadable(state, told, now); }
  void operator()(const StandingOrders& orders) const { AdoptOrders(state, orders, now); }
  void operator()(const LearntRuns& learnt) const { state.run_history.Adopt(learnt); }
  void operator()(const queues::UsageRecord& record) const {
    state.queue_book.AdoptUsage(record, now);
  }
};

// What is known of a pod before a fact about it, or about the next one of its name.
struct Before {
  explicit Before(const EngineState& state, const Pod& pod) {
    const Pod* known = state.cluster.FindPod(pod.key);
    group = known == nullptr ? pod.key : Membership::IdFor(*known).key;
    if (known == nullptr) return;
    ended = known->phase == cluster::PodPhase::kSucceeded;
    role = known->role;
    spec = known->spec;
    node = state.cluster.IndexOf(known->node_name);
    held = state.cluster.AllocationOf(known->uid) != nullptr;
    stayed = EverFits::PermanentlyBound(*known, state.options.scheduler_names);
    turn = known->hami_turn;
    at_stake = RoomAtStake(state, known->uid);
    said = SaidBy(state, pod);
  }
  cluster::ObjectKey group;
  bool ended = false;
  std::string role;
  std::shared_ptr<const cluster::PodSpec> spec;
  cluster::NodeIndex node;
  bool held = false;  // devices, bound or planned
  bool stayed = false;
  cluster::HamiTurn turn = cluster::HamiTurn::kNone;
  std::optional<KeptRoom> at_stake;
  SaidBefore said;
};

// Another pod has its name now.
void Replace(EngineState& state, const PodUid& replaced, const Before& before, Time now) {
  state.members.RemoveUnmanaged(before.group, replaced);
  const PlacedMember at = state.members.Find(replaced);
  if (before.ended && at.gang != nullptr && !at.member->from_earlier_run)
    at.gang->past.Ended(at.member->key.name, before.role);
  Leave(state, replaced);
  TouchUnsound(state, before.node);
  if (before.turn != cluster::HamiTurn::kNone) TouchTurns(state, before.node);
  ForgetPod(state, replaced, now);
}

// The next pod in its place may come before it has gone.
void LeaveIfEnding(EngineState& state, const Pod& pod, Time now) {
  if (!pod.ending() || pod.phase == cluster::PodPhase::kSucceeded) return;
  Gang* gang = state.members.Find(pod.uid).gang;
  if (gang != nullptr && gang->id.solo) LeaveToOwner(state, *gang, now);
}

// The pod as the fact has it, less what cannot be right. False: the fact says nothing new.
bool Prepare(EngineState& state, Pod& pod) {
  pod.labels = state.specs.Intern(pod.labels);
  const Pod* known = state.cluster.FindPod(pod.uid);
  // It is charged where its gang is, which is settled next.
  pod.queue = known == nullptr ? "" : known->queue;
  pod.non_preemptible = known != nullptr && known->non_preemptible;
  if (known != nullptr) {
    // The same version is the same object, and what we learnt from our own writes since is newer.
    if (pod.resource_version != 0 && pod.resource_version == known->resource_version) return false;
    Correct(*known, pod);
    // Told to go before it had ended, it did not end by itself, whatever its exit code: but to a
    // Job that waits to see it.
    if (known->deleting && !known->terminal() && pod.phase == cluster::PodPhase::kSucceeded &&
        !state.jobs.IsDone(pod)) {
      pod.phase = cluster::PodPhase::kFailed;
    }
  }
  if (pod.deleting && !pod.terminal()) state.jobs.DeletionRequested(pod);
  CompleteSpec(state, pod);
  return true;
}

}  // namespace

void Apply(EngineState& state, const Fact& fact, Time now) {
  std::visit(Visitor{state, now}, fact);
}

void ApplyPod(EngineState& state, Pod pod, Time now) {
  if (!Prepare(state, pod)) return;
  const PodUid uid = pod.uid;
  if (pod.handed_over || pod.bound_by_muster) Serve(state, pod.spec->scheduler_name);
  const bool asked_before =
      (state.cluster.FindPod(uid) == nullptr && pod.handed_over && !state.members.Claimed(pod)) ||
      state.members.WouldAsk(pod);
  if (asked_before) state.members.Claim(uid);
  const bool managed = state.members.Managed(pod);
  const Before before(state, pod);
  const cluster::Applied applied = state.cluster.Upsert(std::move(pod));
  if (before.at_stake) KeepRoom(state, *before.at_stake);
  if (before.stayed && applied.changed) state.ever_fits.TouchPods(before.node);
  if (!applied.replaced.empty()) Replace(state, PodUid(applied.replaced), before, now);
  if (asked_before && !applied.changed) state.members.Disclaim(uid);
  if (!applied.changed) return;
  const bool was_unmanaged = state.members.RemoveUnmanaged(before.group, uid);
  const Pod* now_known = state.cluster.FindPod(uid);
  if (now_known == nullptr) return;
  const cluster::NodeIndex node = state.cluster.IndexOf(now_known->node_name);
  if (EverFits::PermanentlyBound(*now_known, state.options.scheduler_names))
    state.ever_fits.TouchPods(node);
  if (now_known->bound() || now_known->terminal()) LetGo(state, uid);
  if (managed) {
    Join(state, *now_known);
    if (before.spec != now_known->spec) TouchPlan(state, uid);
    HearWords(state, before.said, *now_known, now);
  } else {
    const Gang* gang = state.members.GangOf(uid);
    if (gang != nullptr && gang->id != Membership::IdFor(*now_known)) Disown(state, *now_known);
    state.members.AddUnmanaged(*now_known);
    if (!was_unmanaged || now_known->ending())
      TouchForming(state, Membership::IdFor(*now_known).key);
  }
  LeaveIfEnding(state, *now_known, now);
  NoteStart(state, *now_known);
  if (before.node.valid() && now_known->terminal()) NoteChange(state);
  FollowVolumes(state, *now_known, now);
  if (now_known->hami_turn != before.turn) TouchTurns(state, before.node);
  if (!now_known->bound()) return;
  // A pod that another scheduler bound may have taken what was reserved,
  TouchUnsound(state, node);
  // or a part of a node that was kept: the rest is anybody's then.
  if (!before.held && !now_known->spec->gpus.none() &&
      !state.options.placement.fabric.reserve.empty())
    state.queue.AnythingMayFit();
}

// `given` may be a reference into what goes.
void RemovePod(EngineState& state, const PodUid& given, bool unseen, Time now) {
  const PodUid uid = given;  // NOLINT(performance-unnecessary-copy-initialization)
  const std::optional<KeptRoom> at_stake = unseen ? std::nullopt : RoomAtStake(state, uid);
  NoteEnd(state, uid, unseen);
  Leave(state, uid);
  cluster::NodeIndex node;
  if (const Pod* pod = state.cluster.FindPod(uid)) {
    const cluster::ObjectKey group = Membership::IdFor(*pod).key;
    if (state.members.RemoveUnmanaged(group, uid)) TouchForming(state, group);
    node = state.cluster.IndexOf(pod->node_name);
    if (EverFits::PermanentlyBound(*pod, state.options.scheduler_names))
      state.ever_fits.TouchPods(node);
  }
  ForgetPod(state, uid, now);
  state.cluster.Remove(uid);
  if (node.valid()) NoteChange(state);
  if (at_stake) KeepRoom(state, *at_stake);
  TouchUnsound(state, node);
  TouchTurns(state, node);
}

void WithdrawPod(EngineState& state, const PodUid& given, Time now) {
  const PodUid uid = given;  // NOLINT(performance-unnecessary-copy-initialization)
  const Pod* pod = state.cluster.FindPod(uid);
  if (pod == nullptr || pod->bound()) return;
  const cluster::ObjectKey group = Membership::IdFor(*pod).key;
  Leave(state, uid);
  if (state.members.RemoveUnmanaged(group, uid)) TouchForming(state, group);
  ForgetPod(state, uid, now);
  state.cluster.Forget(uid);
}

std::vector<PodUid> SetOptions(EngineState& state, Options options) {
  const bool others = state.options.scheduler_names != options.scheduler_names;
  if (state.options.queues != options.queues) state.queue_book.Reload(options.queues);
  state.options = std::move(options);
  state.shapes.Follow();
  state.queue.ForgetFailures();
  state.ever_fits.TouchAll(state.cluster);
  state.health.Reconsider();
  state.queue.AnythingMayFit();
  state.work.Note("", {.all = true});
  NoteChange(state);
  std::vector<PodUid> pods;
  if (!others) return pods;
  pods.reserve(state.cluster.pod_count());
  state.cluster.EachPod([&](const Pod& pod) { pods.push_back(pod.uid); });
  return pods;
}

}  // namespace muster::engine
