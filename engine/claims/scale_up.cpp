#include "engine/claims/scale_up.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/claims/asked_rooms.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/claims/provisioning.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

// What a gang lacks, in view of nodes that could be added.
enum class Lacks {
  kNothing,   // of the kind that nodes are
  kRoom,      // nodes would help
  kKeptRoom,  // room is free, and Muster keeps it for others
  kLeave,     // to start at all
};

Lacks LacksOf(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNoMatchingNode:
    case ReasonCode::kNodesUnavailable:
    case ReasonCode::kNodesLeftOut:
    case ReasonCode::kNeverFits:
    // Others would have to make room, and are protected.
    case ReasonCode::kMinRuntime:
    case ReasonCode::kDisruptionBudget:
    // More nodes are more to borrow from: whether it is enough is asked before it is released.
    case ReasonCode::kQueueGuarantee:
      return Lacks::kRoom;
    case ReasonCode::kReserved:
    case ReasonCode::kBackfillLimit:
      return Lacks::kKeptRoom;
    case ReasonCode::kBlockedByOrder:
    case ReasonCode::kQueueLimit:
    case ReasonCode::kHold:
      return Lacks::kLeave;
    default:
      return LacksRoom(code) ? Lacks::kRoom : Lacks::kNothing;
  }
}

bool WaitsForPlan(const Gang& gang) {
  const bool waits = gang.state == GangState::kQueued || gang.state == GangState::kUnsatisfiable ||
                     gang.state == GangState::kDegraded;
  return waits && gang.pending() && gang.queue->tried;
}

Lacks LacksOf(const ClaimState& state, const Gang& gang) {
  const bool on = state.options.autoscaling.scale_up != ScaleUp::kNone;
  if (on && gang.reason.code == ReasonCode::kHold) return Lacks::kLeave;
  if (!on || !WaitsForPlan(gang)) return Lacks::kNothing;
  // Lost members that come back one by one have no reason of their own.
  if (gang.state == GangState::kDegraded && KeepsRest(gang, state.members.GroupOf(gang)))
    return OpenMembers(gang).empty() ? Lacks::kNothing : Lacks::kRoom;
  const ReasonCode code = PendingQueue::ReasonOf(gang).code;
  // What others asked for is not free to cluster-autoscaler either.
  if (code == ReasonCode::kReserved && WaitsForAskedRoom(state)) return Lacks::kRoom;
  return LacksOf(code);
}

// A process before has released some of it, or its pods never had a gate.
bool Released(const Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const Member& member = entry.second;
    return member.ours && !member.pod->bound() && !member.pod->ending() &&
           !member.pod->gated_by_muster();
  });
}

// Pods without a gate of Muster's ask for nodes by themselves: a request beside them would bring
// twice as many. cluster-autoscaler takes one request of its own classes at a time, but all
// Unschedulable pods at once: a batch of single pods does not stand before gangs.
bool ByRequest(const ClaimState& state, const Gang& gang) {
  const Autoscaling& says = state.options.autoscaling;
  const bool alone =
      gang.id.solo && says.provisioning_class.ends_with(cluster::kAutoscalersClasses);
  return says.scale_up == ScaleUp::kProvisioningRequest && !alone && !Released(gang);
}

// Its nodes are ordered.
bool Ordered(const ClaimState& state, const GangId& gang) {
  const NodeRequest* request = state.requests.Wanted(gang);
  return request != nullptr && request->state == cluster::RequestState::kProvisioned;
}

// The gang lacks no room, as far as was found out, and what it asked for may still be its: it has a
// plan, or its turn comes.
bool KeepsRequest(ClaimState& state, const Gang& gang, Lacks lacks) {
  if (state.options.autoscaling.scale_up != ScaleUp::kProvisioningRequest) return false;
  if (!state.requests.Any(gang.id) || lacks == Lacks::kLeave) return false;
  switch (gang.state) {
    case GangState::kReserved:
    case GangState::kBinding:
    case GangState::kPreempting: {
      // It has room without what it asked for, unless that was ordered already.
      const std::vector<NodeRequest*> all = state.requests.Of(gang.id);
      return std::any_of(all.begin(), all.end(), [](const NodeRequest* one) {
        return !one->deleting && one->state == cluster::RequestState::kProvisioned;
      });
    }
    case GangState::kBackoff:
    case GangState::kQueued:
    case GangState::kUnsatisfiable:
      return true;
    case GangState::kDegraded:
      return !OpenMembers(gang).empty();
    default:
      return false;
  }
}

// Why its queues would not let it start beside the others for which nodes were asked for before, on
// as many nodes as these take; kNone: they would.
Reason OverQueueWithOthers(const ClaimState& state, const Gang& gang) {
  const uint64_t own = state.scale_ups.NumberOf(gang.id);
  std::vector<ChargedAlso> others;
  for (const auto& [id, ask] : state.scale_ups.all()) {
    const bool later = own != 0 && ask.number > own && !Ordered(state, id);
    if (id != gang.id && !later) others.push_back({ask.queue, ask.asks});
  }
  return OverGrownQueue(state, gang, others);
}

// That it is asked for could be taken back.
bool CanBeHeld(const ClaimState& state, const Gang& gang) {
  return state.queue_book.tree().bounds() && !Released(gang) && !Ordered(state, gang.id);
}

std::string Reached(const ClaimState& state, const Gang& gang, const Reason& over) {
  const bool others = state.scale_ups.all().size() > (state.scale_ups.Has(gang.id) ? 1 : 0);
  return Describe(over) + (others ? ", with the gangs for which nodes are asked for already" : "");
}

// Its ask counts no more beside what queues use.
void EndAsk(ClaimState& state, const GangId& gang) {
  for (const GangId& id : state.scale_ups.End(gang)) {
    if (Gang* held = state.members.Find(id)) state.work.Touch(*held);
  }
}

void StopAsking(ClaimState& state, const GangId& gang) {
  WithdrawRequests(state, gang);
  EndAsk(state, gang);
}

Time CheckAt(const ClaimState& state, const Gang& gang) {
  return state.scale_ups.CheckAt(gang.id, gang.queue->asks);
}

void FollowLack(ClaimState& state, const Gang& gang, Lacks lacks, Time now) {
  if (lacks == Lacks::kRoom) return state.scale_ups.Lacks(gang.id, now);
  // Its turn to be tried again has not come yet: what is known still counts.
  const bool untried = lacks == Lacks::kNothing && gang.pending() && !gang.queue->tried;
  if (!untried || gang.state == GangState::kBackoff) state.scale_ups.LacksNothing(gang.id);
}

}  // namespace

void FollowScaleUp(ClaimState& state, Gang& gang, Time now) {
  const Lacks lacks = LacksOf(state, gang);
  FollowLack(state, gang, lacks, now);
  if (lacks != Lacks::kRoom) {
    if (!KeepsRequest(state, gang, lacks)) return StopAsking(state, gang.id);
    // Its plan counts now, not what was asked for.
    if (!gang.pending()) EndAsk(state, gang.id);
    return KeepRequests(state, gang);
  }
  const bool by_request = ByRequest(state, gang);
  if (by_request && TooManyShapes(state, gang)) return StopAsking(state, gang.id);
  if (!by_request) WithdrawRequests(state, gang.id);
  // In its new queue it comes behind those that ask there.
  if (state.scale_ups.HasLeft(gang.id, gang.queue->queue)) EndAsk(state, gang.id);
  const bool asked = state.scale_ups.Has(gang.id) || state.requests.Wanted(gang.id) != nullptr;
  if (!asked && ScaleUpDue(state, gang) > now) return;
  const bool checks = CanBeHeld(state, gang) && CheckAt(state, gang) <= now;
  if (checks && OverQueueWithOthers(state, gang).code != ReasonCode::kNone) {
    StopAsking(state, gang.id);
    // Who lost its turn does not take it back at once: each time is a request made and deleted.
    if (asked) state.scale_ups.LacksAnew(gang.id, now);
    return state.scale_ups.Hold(gang.id);
  }
  const bool begins = state.scale_ups.Begin(gang.id, {gang.queue->queue, gang.queue->asks});
  if (checks) state.scale_ups.Checked(gang.id, now);
  if (by_request) return AskByRequest(state, gang, now);
  if (!begins) return;
  state.announcer.Tell(gang, false, "GangScaleUp",
                       "its pods are released without a node: kube-scheduler marks them "
                       "Unschedulable, so that a cluster autoscaler adds nodes for them");
}

void EndScaleUp(ClaimState& state, const GangId& gang) {
  StopAsking(state, gang);
  state.scale_ups.LacksNothing(gang);
}

Time ScaleUpDue(const ClaimState& state, const Gang& gang) {
  if (LacksOf(state, gang) != Lacks::kRoom) return Time::Never();
  if (state.scale_ups.Has(gang.id))
    return CanBeHeld(state, gang) ? CheckAt(state, gang) : Time::Never();
  const std::optional<Time> since = state.scale_ups.LacksSince(gang.id);
  return since ? *since + state.options.autoscaling.after : Time(INT64_MIN);
}

std::set<cluster::PodUid> ReleasedForScaleUp(const ClaimState& state, const Gang& gang) {
  std::set<cluster::PodUid> released;
  if (!state.scale_ups.Has(gang.id) || ByRequest(state, gang) || !WaitsForPlan(gang))
    return released;
  for (const Member* member : NeededForStart(gang)) released.insert(member->uid);
  return released;
}

std::string UnseenText(const ClaimState& state, const Gang& gang) {
  const Lacks lacks = LacksOf(state, gang);
  if (lacks == Lacks::kKeptRoom)
    return "an autoscaler sees room that Muster keeps for others as free, and adds no nodes";
  const Reason& why = PendingQueue::ReasonOf(gang);
  const policy::Shortage* shortage = why.shortage.get();
  const bool together = shortage != nullptr && !shortage->limit.empty();
  std::string what;
  if (why.code == ReasonCode::kNoWholeSegments || together)
    what = "where its members must be together";
  else if (why.code == ReasonCode::kNumaPolicy)
    what = "the NUMA policy of kubelets";
  else if (why.code == ReasonCode::kNodesLeftOut)
    what = "nodes where members failed at their start";
  if (lacks != Lacks::kRoom || what.empty()) return {};
  return "an autoscaler knows nothing of " + what +
         ": it adds no nodes while other free room is "
         "enough for its pods";
}

std::string ScaleUpText(const ClaimState& state, const Gang& gang) {
  switch (LacksOf(state, gang)) {
    case Lacks::kNothing:
      return {};
    case Lacks::kKeptRoom:
      return "not asked for: " + UnseenText(state, gang);
    case Lacks::kLeave:
      return "not asked for: " + Describe(PendingQueue::ReasonOf(gang));
    case Lacks::kRoom:
      break;
  }
  const std::string unseen = UnseenText(state, gang);
  const std::string tail = unseen.empty() ? "" : "; " + unseen;
  if (ByRequest(state, gang)) {
    if (std::string text = RequestText(state, gang); !text.empty()) return text + tail;
    if (TooManyShapes(state, gang))
      return "not asked for: its pods are of more than " + std::to_string(kMostPodSets) +
             " shapes, more than a ProvisioningRequest takes";
  }
  if (state.scale_ups.Has(gang.id))
    return "asked for: its pods are released without a node, so that an autoscaler adds nodes" +
           tail;
  const Reason over = OverQueueWithOthers(state, gang);
  if (over.code != ReasonCode::kNone) return "not asked for: " + Reached(state, gang, over);
  return "not asked for yet: first it has to lack room for " +
         std::to_string(state.options.autoscaling.after.value() / 1000) + " s";
}

bool KeepsNode(const ClaimState& state, const Gang& gang, const Member& member) {
  const Autoscaling& says = state.options.autoscaling;
  if (says.scale_up == ScaleUp::kNone || member.pod->says_disruption) return false;
  return says.keep_nodes == KeepNodes::kAll ||
         (says.keep_nodes == KeepNodes::kGangs && !gang.id.solo && gang.members.size() > 1);
}

}  // namespace muster::engine
