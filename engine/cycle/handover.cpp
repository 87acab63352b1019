#include "engine/cycle/handover.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "cluster/records/hami_devices.hpp"
#include "engine/claims/provisioning.hpp"
#include "engine/claims/scale_up.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/intake.hpp"
#include "engine/cycle/membership_moves.hpp"
#include "engine/cycle/node_intake.hpp"
#include "engine/judging/bars.hpp"
#include "engine/judging/evidence.hpp"
#include "engine/judging/start_turns.hpp"
#include "engine/preemption/evictions.hpp"
#include "engine/preemption/reclaim.hpp"
#include "engine/preemption/victim_changes.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

PodRef RefOf(const Member& member) { return {member.key, member.uid}; }

// All that are to go have nothing under way and may be asked about: a part of them alone might be
// evicted where all together are not.
bool AllMayBeEvicted(const Gang& gang, Time now) {
  return std::none_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const Member& member = entry.second;
    const bool goes =
        member.ours && member.holds() && !member.leaving() && gang.course.Takes(entry.first);
    return goes && (member.busy() || member.writes->not_before > now);
  });
}

// Once for each Job of the gang, before the first of its pods is evicted.
void WarnOfEvictions(EngineState& state, const Gang& gang) {
  std::vector<const Pod*> pods;
  for (const auto& [uid, member] : gang.members) {
    const bool goes = member.ours && (gang.course.Takes(uid) || state.preemptions.MustGo(uid));
    if (goes && member.holds()) pods.push_back(member.pod);
  }
  const std::vector<cluster::ObjectKey> jobs = state.jobs.TakeToWarn(pods);
  if (jobs.empty()) return;
  std::string names = "Job " + jobs.front().ToString();
  if (jobs.size() > 1) names += " (and of " + std::to_string(jobs.size() - 1) + " more)";
  state.announcer.Tell(
      gang, true, "GangJobMayFail",
      "evicted pods count as failures of " + names +
          " towards its backoffLimit: give it a podFailurePolicy that ignores DisruptionTarget");
}

// One gang's pods.
class HandoverStep {
 public:
  HandoverStep(EngineState& state, Gang& gang, Time now)
      : state_(state),
        gang_(gang),
        now_(now),
        repairs_(gang.course.repairing && AllMayBeEvicted(gang, now)),
        preempts_(state.preemptions.VictimsOf(gang.id) != nullptr),
        carries_(state.announcer.Carry(gang)),
        for_scale_up_(ReleasedForScaleUp(state, gang)),
        released_(gang.plan->all_nominated && !preempts_ && state.releases.MayRelease(gang)),
        opens_all_(OpensAll()) {}

  void HandOver(Member& member) {
    const Pod& pod = *member.pod;
    if (pod.ending()) return Ending(member);
    if (pod.bound()) return Bound(member);
    if (member.planned()) return Planned(member);
    if (!member.ours) return Others(member);
    const bool tried = !gang_.pending() || gang_.queue->tried;
    if (!pod.nominated_node.empty() && tried && FenceBar(state_, gang_).code == ReasonCode::kNone) {
      // A nomination without a reservation would keep room free for nobody.
      Nominate(member, "", false);
    } else if (pod.gated_by_muster() && (opens_all_ || for_scale_up_.contains(member.uid))) {
      state_.writes.Ask(
          RemoveGate{state_.writes.Begin(member, WriteKind::kRemoveGate), RefOf(member)});
    } else if (carries_ && gang_.tally.bound == 0 && gang_.published->record.ended.members > 0) {
      Record(member);
    }
  }

 private:
  // Where members with a plan are released those without one lose their gates, too: as long as one
  // has a gate kube-scheduler holds all of them back. Filter keeps out who has no plan.
  bool OpensAll() const {
    const cluster::PodGroup* group = state_.members.GroupOf(gang_);
    return group != nullptr && group->gates_together && released_;
  }
  void Bound(Member& member);
  void Ending(Member& member);
  // HAMi's plugin has served it: it is not to be taken for the next one.
  void EndTurn(Member& member);
  void Planned(Member& member);
  // Kube-scheduler may see it now.
  bool HasTurn(const Member& member) {
    if (!gang_.plan->all_nominated || preempts_) return false;
    if (!turns_) turns_.emplace(state_, gang_, now_);
    return turns_->Has(member);
  }
  // Its own scheduler places it.
  void Others(Member& member);
  void Bind(Member& member);
  // The device list that the Binding passes to HAMi's plugin on that node; empty: none.
  std::string HamiDevices(const Member& member, const BindPod& bind, const cluster::Node& node);
  void Release(Member& member);
  // Without a PodGroup object the pods carry what outlives the process.
  void Record(Member& member);
  void Nominate(Member& member, const std::string& node, bool hands_over) {
    const ActionId id = state_.writes.BeginNomination(member, node, hands_over);
    const bool unsays = !node.empty() && Reminders::Unsay(member);
    state_.writes.Ask(engine::Nominate{id, RefOf(member), node, hands_over, unsays});
  }

  EngineState& state_;
  Gang& gang_;
  const Time now_;
  const bool repairs_;
  const bool preempts_;
  const bool carries_;
  const std::set<PodUid> for_scale_up_;
  const bool released_;              // gates of planned members may go
  std::optional<StartTurns> turns_;  // nothing: nobody asked yet
  const bool opens_all_;
  bool warned_ = false;
};

void HandoverStep::Bound(Member& member) {
  if (!member.ours) return;
  const bool repairing = gang_.course.Takes(member.uid);
  if (member.writes->evicting || !(repairing ? repairs_ : state_.preemptions.MustGo(member.uid))) {
    EndTurn(member);
    if (carries_ && !member.busy() && !member.writes->evicting) Record(member);
    return;
  }
  if (!std::exchange(warned_, true)) WarnOfEvictions(state_, gang_);
  const GangId preemptor_or_self =
      repairing ? gang_.id : *state_.preemptions.PreemptorOf(member.uid);
  const Reason why =
      repairing ? gang_.course.setback : WhyEvicted(state_, *FirstPreemptor(state_, gang_));
  const ActionId id = state_.writes.Begin(member, WriteKind::kEvict);
  EvictPod evict{id, RefOf(member), Describe(why), preemptor_or_self.key};
  // Nobody makes others wait for ever by his grace.
  const cluster::Duration most = state_.options.victim_timeout;
  if (!repairing && member.pod->grace > most) evict.grace = most;
  evict.over_budgets =
      !repairing &&
      state_.preemptions.VictimsOf(preemptor_or_self)->over_budgets.contains(member.uid);
  state_.writes.Ask(std::move(evict));
}

// A finalizer keeps some pods that are deleted before they have a node. As long as they are
// nominated kube-scheduler keeps room for them.
void HandoverStep::Ending(Member& member) {
  const Pod& pod = *member.pod;
  const bool waits = !pod.terminal() && !pod.bound() && !member.planned();
  if (waits && member.ours && !pod.nominated_node.empty()) return Nominate(member, "", false);
  const cluster::Duration most = state_.options.victim_timeout;
  const bool late = pod.leaves_by > now_ + most && !member.writes->evicting;
  if (!late || !state_.preemptions.IsCutShort(member.uid)) return EndTurn(member);
  const GangId& preemptor = *state_.preemptions.PreemptorOf(member.uid);
  EvictPod evict{state_.writes.Begin(member, WriteKind::kEvict), RefOf(member),
                 Describe(WhyEvicted(state_, preemptor)), preemptor.key};
  evict.grace = most;  // since it was deleted
  state_.writes.Ask(std::move(evict));
}

void HandoverStep::EndTurn(Member& member) {
  const Pod& pod = *member.pod;
  if (!pod.bound_by_muster || pod.hami_turn != cluster::HamiTurn::kServed) return;
  state_.writes.Ask(EndHamiTurn{state_.writes.Begin(member, WriteKind::kEndTurn), RefOf(member)});
}

void HandoverStep::Others(Member& member) {
  if (!member.pod->gated_by_muster()) return;
  RemoveGate release{state_.writes.Begin(member, WriteKind::kRemoveGate), RefOf(member)};
  release.hands_over = false;
  state_.writes.Ask(std::move(release));
}

void HandoverStep::Record(Member& member) {
  const cluster::GangRecord& record = gang_.published->record;
  const auto& carried = member.pod->gang_record;
  if (carried ? *carried == record : !record.has_run) return;
  const ActionId id = state_.writes.BeginRecord(member, record);
  state_.writes.Ask(RecordPod{id, RefOf(member), record});
}

void HandoverStep::Planned(Member& member) {
  const Pod& pod = *member.pod;
  const std::string& node = member.plan->node;
  const bool pins = Pins(state_.options, pod);
  // No Bind call counts for a pod with a gate: the API server binds none.
  const bool gated = pod.gated_by_muster();
  const bool called = !member.writes->held.empty() && !gated;
  if (called || member.writes->outcome_unknown) return Bind(member);
  if (member.plan->bind_seen && !gated) return;  // kube-scheduler comes again by itself
  const bool in_turn = IsNominatedInTurn(member);
  if (in_turn && !HasTurn(member)) {
    if (!pod.nominated_node.empty()) Nominate(member, "", false);
    return;
  }
  if (pod.nominated_node != node && (!pins || preempts_) &&
      (preempts_ || member.writes->pinned_node != node)) {
    return Nominate(member, node, !gated && !preempts_);
  }
  if (!in_turn && !HasTurn(member)) return;
  if (gated) return released_ ? Release(member) : void();
  if (!member.writes->needs_wake) return;
  const ActionId id = state_.writes.Begin(member, WriteKind::kWake);
  state_.writes.Ask(WakePod{id, RefOf(member)});
}

void HandoverStep::Bind(Member& member) {
  const std::string& node = member.plan->node;
  if (!member.writes->outcome_unknown) {
    if (!gang_.plan->barrier_open && !gang_.running()) return;
    // What a next leader would not know it has to fence is not bound: it was asked about before
    // any write of ours, or another one took its gate off.
    if (!member.pod->handed_over) return Nominate(member, node, true);
    if (state_.hami_turns.WaitOf(gang_, member, now_)) return;
    // Where the pod may be bound already, the kubelet has seen it as it was then.
    state_.reservations.Foresee(member, state_.kubelet_picks.Of(member));
  }
  const cluster::PodGroup* group = state_.members.GroupOf(gang_);
  const bool by_owner = group != nullptr && group->by_owner && !gang_.past.one_by_one();
  const std::string gang = by_owner ? gang_.id.key.name : "";
  BindPod bind{.id = state_.writes.BeginBinding(member, gang),
               .pod = RefOf(member),
               .node = node,
               .gpus = {}};
  bind.gang = gang;
  bind.keeps_node = KeepsNode(state_, gang_, member);
  if (const NodeRequest* request = state_.requests.Wanted(gang_.id);
      request != nullptr && request->state == cluster::RequestState::kProvisioned) {
    bind.consumes = request->ask.key.name;
    bind.request_class = request->ask.class_name;
  }
  for (const cluster::GpuShare& share : member.plan->placement->gpus)
    bind.gpus.push_back(share.index);
  if (gang_.members.size() > 1) bind.rank = member.plan->rank;
  if (const cluster::Node* at = state_.cluster.FindNode(node)) {
    bind.topology_path = topology::PathOf(state_.options.placement.fabric, *at);
    bind.gpu_uuids = UuidsOf(*at, bind.gpus);
    bind.hami_devices = HamiDevices(member, bind, *at);
  }
  state_.writes.Ask(std::move(bind));
}

std::string HandoverStep::HamiDevices(const Member& member, const BindPod& bind,
                                      const cluster::Node& node) {
  const auto handover = cluster::HamiHandoverOf(node, *member.pod->spec, bind.gpus);
  if (!handover) return {};
  if (handover->obstacle.empty()) return cluster::EncodeHamiDevices(handover->containers);
  state_.announcer.Tell(gang_, true, "GangDevicesNotHandedOver",
                        "pod " + member.key.name + " is bound without HAMi's annotations, node " +
                            node.name + ": " + handover->obstacle +
                            "; correct the node's register or muster.dev/gpu-devices");
  return {};
}

void HandoverStep::Release(Member& member) {
  const Pod& pod = *member.pod;
  const std::string& node = member.plan->node;
  RemoveGate release{state_.writes.Begin(member, WriteKind::kRemoveGate), RefOf(member)};
  if (Pins(state_.options, pod) && pod.nominated_node != node) {
    release.pin = node;
    release.spec = pod.spec;
    state_.writes.Pin(member, node);
  }
  state_.writes.Ask(std::move(release));
}

// The Binding of the pod had HAMi's annotations.
bool TellsHami(const EngineState& state, const Pod& bound) {
  const cluster::Node* node = state.cluster.FindNode(bound.node_name);
  if (node == nullptr) return false;
  const auto handover = cluster::HamiHandoverOf(*node, *bound.spec, bound.bound_gpus);
  return handover && handover->obstacle.empty();
}

// What a write has brought: waiting for the watch to say it too would only cost time. Nothing:
// only the watch can tell.
std::optional<Pod> Written(const EngineState& state, const Gang& gang, const Member& member,
                           WriteKind doing) {
  Pod pod = *member.pod;
  switch (doing) {
    case WriteKind::kNominate:
      pod.nominated_node = member.writes->asked_node;
      pod.handed_over = pod.handed_over || member.writes->asked_handover;
      return pod;
    case WriteKind::kRemoveGate:
      std::erase(pod.gates, cluster::kGangGate);
      pod.handed_over = pod.handed_over || member.ours;
      return pod;
    case WriteKind::kWake:
      pod.handed_over = true;
      return pod;
    case WriteKind::kBind:
      if (pod.bound() || !member.planned()) return std::nullopt;
      pod.node_name = member.plan->node;
      pod.bound_by_muster = true;
      pod.bound_in = member.writes->asked_gang;
      pod.says_disruption = pod.says_disruption || KeepsNode(state, gang, member);
      pod.nominated_node.clear();
      for (const cluster::GpuShare& share : member.plan->placement->gpus)
        pod.bound_gpus.push_back(share.index);
      if (TellsHami(state, pod)) pod.hami_turn = cluster::HamiTurn::kAllocating;
      return pod;
    case WriteKind::kEndTurn:
      pod.hami_turn = cluster::HamiTurn::kNone;
      return pod;
    case WriteKind::kRecord:
      pod.gang_record = member.writes->asked_record;
      return pod;
    case WriteKind::kEvict:
    case WriteKind::kNothing:
      return std::nullopt;
  }
  return std::nullopt;
}

void Done(EngineState& state, const Gang& gang, Member& member, WriteKind doing) {
  if (doing == WriteKind::kEvict && !state.preemptions.IsCutShort(member.uid)) {
    state.preemptions.ForgetFailures(member.uid);
    if (const GangId* preemptor = state.preemptions.PreemptorOf(member.uid))
      NoteEvicted(state, GangId(*preemptor));
  }
  if (doing == WriteKind::kNominate) {
    state.reservations.Nominated(
        member, member.planned() && member.writes->asked_node == member.plan->node);
  }
  std::optional<Pod> pod = Written(state, gang, member, doing);
  if (!pod) return;
  const std::string node = pod->node_name;
  state.cluster.Upsert(std::move(*pod));
  if (doing == WriteKind::kEndTurn) TouchTurns(state, state.cluster.IndexOf(node));
  // Its reservation may have gone with a node that was replaced meanwhile, and its devices to
  // others.
  if (doing == WriteKind::kBind) TouchUnsound(state, state.cluster.IndexOf(node));
}

void Failed(EngineState& state, Gang& gang, Member& member, WriteKind doing, const Outcome& outcome,
            Time now) {
  const bool refused = outcome.kind == OutcomeKind::kRefused;
  state.writes.Postpone(member, now + state.options.retry_interval);
  const bool evicts = doing == WriteKind::kEvict && !state.preemptions.IsCutShort(member.uid);
  const bool barred = evicts && RefuseEviction(state, member, outcome, now);
  if (refused || barred) {
    const int64_t refusals = state.writes.CountRefusal(member);
    state.writes.Postpone(member, now + BackoffAfter(refusals, state.options));
  }
  // Where some have gone, and nobody has said no, it is asked for again: the repair goes on.
  const bool begun = !gang.course.relocating && gang.tally.bound < gang.course.setback.have;
  const bool unanswered = outcome.kind == OutcomeKind::kRetry;
  if (barred && gang.course.repairing && !(begun && unanswered))
    gang.course.obstacle = outcome.message;
  if (doing != WriteKind::kBind || outcome.kind == OutcomeKind::kRetry) return;
  TouchTurns(state, state.cluster.IndexOf(member.plan->node));
  state.writes.Answer(member, "muster: binding failed: " + outcome.message);
  if (!refused) return;
  state.writes.Postpone(member, Time(0));
  gang.course.setback =
      Because(ReasonCode::kBindFailed, 0, 0, "pod " + member.key.name + ": " + outcome.message);
}

}  // namespace

void HandOverPods(EngineState& state, Gang& gang, Time now) {
  HandoverStep step(state, gang, now);
  for (auto& [uid, member] : gang.members) {
    if (!member.busy() && member.writes->not_before <= now) step.HandOver(member);
  }
}

void Report(EngineState& state, const Outcome& outcome, Time now) {
  const std::optional<PodUid> uid = state.writes.End(outcome.id);
  if (!uid) {  // the pod left meanwhile
    (void)ReportRequest(state, outcome, now);
    return;
  }
  const PlacedMember at = state.members.Find(*uid);
  if (at.member == nullptr) return;
  const WriteKind doing = state.writes.Finish(*at.member, outcome.kind);
  const bool gone = outcome.kind == OutcomeKind::kGone;
  // How a pod that was bound has ended only the watch can tell.
  if (gone && !at.member->holds()) return RemovePod(state, *uid, false, now);
  if (gone) {
    state.writes.Postpone(*at.member, now + state.options.retry_interval);
  } else if (outcome.kind == OutcomeKind::kDone) {
    Done(state, *at.gang, *at.member, doing);
    if (doing == WriteKind::kWake) ExpectAnswer(state, *at.gang, *at.member, now);
  } else {
    Failed(state, *at.gang, *at.member, doing, outcome, now);
  }
  state.work.Touch(*at.gang);
  TouchPreemptor(state, *at.member);
  if (!at.member->may_be_bound()) ApplyDeferred(state, *uid);
}

bool Pins(const Options& options, const Pod& pod) {
  return options.hand_over == HandOver::kPin && pod.gated_by_muster() && !pod.owner_uid.empty();
}

}  // namespace muster::engine
