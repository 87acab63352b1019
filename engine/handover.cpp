#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/minimum.hpp"
#include "engine/remember.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

// How much later a gang may have become partial without a write that says so.
constexpr cluster::Duration kSinceStep = cluster::Seconds(10);

// What is to be written of the gang's past.
cluster::GangRecord RecordOf(const Gang& gang) {
  if (gang.id.solo) return {};
  const cluster::GangRecord& known = gang.published_record;
  cluster::GangRecord record =
      gang.past.Record(gang.minimum, Lacking(gang), gang.partial_since.value_or(Time(0)));
  const cluster::Duration later = record.lost_since - known.lost_since;
  const bool about_then = later >= cluster::Duration(0) && later < kSinceStep;
  if (record.lost == known.lost && about_then) record.lost_since = known.lost_since;
  return record;
}

// Who ends well takes nothing from the others: not worth a write of its own until all have, where
// a next process would know without one.
bool WorthAWrite(const Gang& gang, const cluster::GangRecord& record) {
  const cluster::GangRecord& known = gang.published_record;
  if (record == known) return false;
  const bool same = record.begun && known.begun && record.started == known.started &&
                    record.whole.members == known.whole.members && record.lost == known.lost &&
                    record.lost == cluster::Headcount{} && record.owners == known.owners &&
                    gang.minimum.members > 0;
  if (!same) return true;
  const cluster::Headcount shows = Inherited(gang, known).ended();
  return Minus(record.ended, shows) != cluster::Headcount{};
}

// All that are to go have nothing under way and may be asked about: a part of them alone might be
// evicted where all together are not.
bool AllMayBeEvicted(const Gang& gang, Time now) {
  return std::none_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const Member& member = entry.second;
    const Pod& pod = *member.pod;
    const bool goes =
        member.ours && pod.bound() && !pod.terminal() && !pod.deleting && !member.evicting;
    return goes && (member.doing != Doing::kNothing || member.not_before > now);
  });
}

}  // namespace

// What the state calls for and is not under way: one action per pod at a time, the next one after
// its outcome.
void Scheduler::Core::HandOver(Gang& gang, Time now) {
  const bool repairs = gang.repairing && AllMayBeEvicted(gang, now);
  const cluster::PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  const bool carries = group != nullptr && group->declared;
  if (carries) {
    cluster::GangRecord record = RecordOf(gang);
    // Bound pods carry it. Where none is, those that wait do: of who has ended nobody else knows.
    if (gang.tally.bound == 0 || WorthAWrite(gang, record)) gang.published_record = record;
  }
  bool evicts = false;
  for (auto& [uid, member] : gang.members) {
    if (member.doing != Doing::kNothing || member.not_before > now) continue;
    const Pod& pod = *member.pod;
    if (pod.terminal() || pod.deleting) continue;
    if (pod.bound()) {
      if (!member.ours || member.evicting) continue;
      if (!(gang.repairing ? repairs : member.must_go)) {
        if (carries) HandOverRecord(gang, member, pod);
        continue;
      }
      if (!std::exchange(evicts, true)) WarnOfEvictions(gang);
      writes_.Begin(member, Doing::kEvict);
      const GangId sake = gang.repairing ? gang.id : *member.makes_way_for;
      const Reason why = gang.repairing ? gang.setback : PreemptedBy(gang);
      writes_.Ask(EvictPod{member.action, RefOf(member), Describe(why), sake.key});
    } else if (member.plan) {
      HandOverMember(gang, member, pod);
    } else if (!member.ours) {
      if (!pod.gated_by_muster()) continue;
      writes_.Begin(member, Doing::kRemoveGate);  // its own scheduler places it
      RemoveGate release{member.action, RefOf(member)};
      release.hands_over = false;
      writes_.Ask(std::move(release));
    } else if (!pod.nominated_node.empty() && (!gang.pending || gang.tried) &&
               HeldBack(gang).code == ReasonCode::kNone) {
      // A nomination without a reservation would keep room free for nobody.
      AskNomination(member, "", false);
    } else if (carries && gang.tally.bound == 0 && gang.published_record.ended.members > 0) {
      HandOverRecord(gang, member, pod);
    }
  }
}

// Without a PodGroup object the pods carry what outlives the process.
void Scheduler::Core::HandOverRecord(const Gang& gang, Member& member, const Pod& pod) {
  const cluster::GangRecord& record = gang.published_record;
  if (pod.gang_record ? *pod.gang_record == record : !record.begun) return;
  writes_.Begin(member, Doing::kRecord);
  writes_.Ask(RecordPod{member.action, RefOf(member), record});
}

// Once for each Job of the gang, before the first of its pods is evicted.
void Scheduler::Core::WarnOfEvictions(const Gang& gang) {
  std::vector<const Pod*> pods;
  for (const auto& [uid, member] : gang.members) {
    const bool goes = member.ours && (gang.repairing || member.must_go);
    if (goes && member.pod->bound() && !member.pod->terminal()) pods.push_back(member.pod);
  }
  const std::vector<cluster::ObjectKey> jobs = jobs_.TakeToWarn(pods);
  if (jobs.empty()) return;
  std::string names = "Job " + jobs.front().ToString();
  if (jobs.size() > 1) names += " (and of " + std::to_string(jobs.size() - 1) + " more)";
  Tell(gang, true, "GangJobMayFail",
       "evicted pods count as failures of " + names +
           " towards its backoffLimit: give it a podFailurePolicy that ignores DisruptionTarget");
}

// nominate → (all are) → release → (Bind call, barrier) → bind
void Scheduler::Core::HandOverMember(Gang& gang, Member& member, const Pod& pod) {
  if (!member.held.empty() || member.unsure) {
    if (!member.unsure && !gang.barrier_open && gang.state != GangState::kRunning) return;
    // What a next leader would not know it has to fence is not bound: it was asked about before
    // any write of ours, or another one took its gate off.
    if (!member.unsure && !pod.handed_over) {
      return AskNomination(member, member.planned_node, true);
    }
    writes_.Begin(member, Doing::kBind);
    BindPod bind{member.action, RefOf(member), member.planned_node, {}};
    for (const cluster::GpuShare& share : member.plan->gpus) bind.gpus.push_back(share.index);
    writes_.Ask(std::move(bind));
  } else if (member.bind_seen) {
    return;  // kube-scheduler had it at Bind: it comes again by itself
  } else if (pod.nominated_node != member.planned_node && (!Pins(pod) || gang.victims) &&
             (gang.victims || member.pinned_node != member.planned_node)) {
    AskNomination(member, member.planned_node, !pod.gated_by_muster() && !gang.victims);
  } else if (!gang.all_nominated || gang.victims) {
    return;
  } else if (pod.gated_by_muster()) {
    writes_.Begin(member, Doing::kRemoveGate);
    RemoveGate release{member.action, RefOf(member)};
    if (Pins(pod) && pod.nominated_node != member.planned_node) {
      release.pin = member.planned_node;
      release.spec = pod.spec;
      member.pinned_node = member.planned_node;
    }
    writes_.Ask(std::move(release));
  } else if (member.refused) {
    writes_.Begin(member, Doing::kWake);
    writes_.Ask(WakePod{member.action, RefOf(member)});
  }
}

// Only while it is gated: a pod's affinity cannot be changed afterwards.
bool Scheduler::Core::Pins(const Pod& pod) const {
  return options_.hand_over == HandOver::kPin && pod.gated_by_muster() && !pod.owner_uid.empty();
}

void Scheduler::Core::AskNomination(Member& member, const std::string& node, bool hands_over) {
  writes_.Begin(member, Doing::kNominate);
  member.asked_node = node;
  member.asked_over = hands_over;
  writes_.Ask(Nominate{member.action, RefOf(member), node, hands_over});
}

void Scheduler::Core::Report(const Outcome& outcome, Time now) {
  const std::optional<PodUid> pod_uid = writes_.End(outcome.id);
  if (!pod_uid) return;  // the pod left meanwhile
  const PlacedMember at = Find(*pod_uid);
  if (at.member == nullptr) return;
  const Doing doing = std::exchange(at.member->doing, Doing::kNothing);
  // A copy, because the member goes too.
  if (outcome.kind == OutcomeKind::kGone) return RemovePod(PodUid(at.member->uid), false);
  if (doing == Doing::kBind) at.member->unsure = outcome.kind == OutcomeKind::kRetry;
  if (outcome.kind == OutcomeKind::kDone) {
    Done(*at.member, doing);
  } else {
    Failed(*at.gang, *at.member, doing, outcome, now);
  }
  Touch(*at.gang);
  TouchPreemptor(*at.member);
  if (at.member->may_be_bound() || rehome_.erase(at.member->uid) == 0) return;
  const Pod& pod = *at.member->pod;
  Managed(pod) ? Join(pod) : Abandon(pod);
}

// It is so now; waiting for the watch to say it too would only cost time.
void Scheduler::Core::Done(Member& member, Doing doing) {
  member.refusals = 0;
  Pod pod = *member.pod;
  switch (doing) {
    case Doing::kNominate:
      pod.nominated_node = member.asked_node;
      pod.handed_over = pod.handed_over || member.asked_over;
      member.nominated = member.plan && member.asked_node == member.planned_node;
      break;
    case Doing::kRemoveGate:
      std::erase(pod.gates, cluster::kGangGate);
      pod.handed_over = pod.handed_over || member.ours;
      break;
    case Doing::kWake:
      member.refused = false;
      pod.handed_over = true;
      break;
    case Doing::kRecord:
      return;  // the watch shows it
    case Doing::kEvict:
      member.evicting = true;
      if (member.makes_way_for) NoteEvicted(*member.makes_way_for);
      return;
    case Doing::kBind:
      if (pod.bound() || !member.plan) return;
      pod.node_name = member.planned_node;
      pod.bound_by_muster = true;
      pod.nominated_node.clear();
      for (const cluster::GpuShare& share : member.plan->gpus)
        pod.bound_gpus.push_back(share.index);
      break;
    case Doing::kNothing:
      return;
  }
  const std::string node = pod.node_name;
  state_.Upsert(std::move(pod));
  // Its reservation may have gone with a node that was replaced meanwhile, and its devices to
  // others.
  if (doing == Doing::kBind) TouchUnsound(state_.IndexOf(node));
}

void Scheduler::Core::Failed(Gang& gang, Member& member, Doing doing, const Outcome& outcome,
                             Time now) {
  member.not_before = now + options_.retry_interval;
  const bool barred = doing == Doing::kEvict && outcome.kind == OutcomeKind::kConflict;
  if (outcome.kind == OutcomeKind::kRefused || barred)
    member.not_before = now + BackoffAfter(++member.refusals);
  if (doing == Doing::kEvict && gang.repairing && (barred || outcome.kind == OutcomeKind::kRefused))
    gang.obstacle = outcome.message;
  if (doing == Doing::kEvict && member.makes_way_for) RefuseEviction(member, outcome, now);
  if (doing != Doing::kBind || outcome.kind == OutcomeKind::kRetry) return;
  writes_.Answer(member, "muster: binding failed: " + outcome.message);
  if (outcome.kind == OutcomeKind::kRefused) {
    member.not_before = Time(0);
    gang.setback = {};
    gang.setback.code = ReasonCode::kBindFailed;
    gang.setback.detail = "pod " + member.key.name + ": " + outcome.message;
  }
}

Progress Scheduler::Core::TakeProgress() {
  progress_.actions = writes_.Take();
  return std::exchange(progress_, Progress{});
}

namespace {

// States that pass quickly are written only when they last so long: a gang that starts at once
// costs one status write.
constexpr cluster::Duration kPublishAfter = cluster::Seconds(5);

bool Lasting(GangState state) {
  return state != GangState::kForming && state != GangState::kQueued &&
         state != GangState::kReserved && state != GangState::kBinding;
}

bool Warns(GangState state) {
  return state != GangState::kRunning && state != GangState::kFinished &&
         state != GangState::kReserved && state != GangState::kBinding;
}

}  // namespace

// Muster speaks of a gang that has a member of its own, that was given to it, or of which it has
// spoken.
bool Scheduler::Core::Speaks(const Gang& gang) const {
  if (gang.tally.mine > 0 || gang.published_state) return true;
  const cluster::PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  return group != nullptr && group->claimed;
}

// When the gang's present state should be written; nothing when it was.
std::optional<Time> Scheduler::Core::PublishAt(const Gang& gang) const {
  if (!Speaks(gang)) return std::nullopt;
  const bool counts = gang.state == GangState::kRunning || gang.state == GangState::kFinished;
  const int64_t done = gang.tally.bound + gang.tally.succeeded + gang.tally.failed;
  const bool same =
      gang.published_state == gang.state && gang.published_reason == gang.reason.code &&
      (!counts || gang.id.solo || gang.published_done == std::pair(done, gang.tally.succeeded));
  if (same) return std::nullopt;
  const bool at_once = Lasting(gang.state) && gang.published_state != gang.state;
  return at_once ? gang.changed_at : gang.changed_at + kPublishAfter;
}

void Scheduler::Core::Publish(Gang& gang, Time now) {
  const std::optional<Time> due = PublishAt(gang);
  const bool state_due = due && *due <= now;
  const cluster::PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  if (gang.record_differs && gang.recorded_at + kRecordAgain <= now) {
    gang.record_differs = false;
    if (group != nullptr && !group->declared) gang.published_record = group->record;
  }
  const cluster::GangRecord record = RecordOf(gang);
  const bool record_due = Speaks(gang) && WorthAWrite(gang, record);
  if (!state_due && !record_due) return;
  if (group != nullptr && !group->declared) {
    if (record != gang.published_record) gang.recorded_at = now;
    gang.published_record = record;  // the status goes, so that does as well
    writes_.Ask(PatchGang{gang.id.key, cluster::PodGroupUid(gang.group_uid), ToString(gang.state),
                          ToString(gang.reason.code), Describe(gang.reason), gang.tally.bound,
                          gang.tally.succeeded, gang.tally.failed, record});
  }
  if (!state_due) return;
  const bool state_changed =
      gang.published_state != gang.state || gang.published_reason != gang.reason.code;
  gang.published_state = gang.state;
  gang.published_reason = gang.reason.code;
  gang.published_done = {gang.tally.bound + gang.tally.succeeded + gang.tally.failed,
                         gang.tally.succeeded};
  const bool running = gang.state == GangState::kRunning;
  const bool tell = Warns(gang.state) || (running && !gang.id.solo);
  if (!state_changed || !tell) return;
  Tell(gang, !running, ("Gang" + std::string(ToString(gang.state))),
       running ? std::to_string(gang.tally.bound) + " members are bound" : Describe(gang.reason));
}

// An Event on the PodGroup, or on the gang's first pod where it has none.
void Scheduler::Core::Tell(const Gang& gang, bool warning, std::string reason,
                           std::string message) {
  const cluster::PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  const bool object = group != nullptr && !group->declared;
  EmitEvent event{gang.id.key, gang.group_uid,    !object,
                  warning,     std::move(reason), std::move(message)};
  if (!object) {
    // Without an object the first member speaks for all.
    const auto first = std::min_element(
        gang.members.begin(), gang.members.end(),
        [](const auto& a, const auto& b) { return a.second.key.name < b.second.key.name; });
    if (first == gang.members.end()) return;
    event.key = first->second.key;
    event.uid = first->first.text();
    if (!gang.id.solo) event.message = "gang " + gang.id.key.ToString() + ": " + event.message;
  }
  writes_.Ask(std::move(event));
}

}  // namespace muster::engine
