#include "engine/scale_up.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/engine_state.hpp"
#include "engine/minimum.hpp"
#include "engine/partial.hpp"
#include "engine/queue_rules.hpp"
#include "engine/request.hpp"

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
    case ReasonCode::kNotEnoughGpus:
    case ReasonCode::kFragmented:
    case ReasonCode::kNumaPolicy:
    case ReasonCode::kNotEnoughCpu:
    case ReasonCode::kNotEnoughMemory:
    case ReasonCode::kNotEnoughPodSlots:
    case ReasonCode::kNotEnoughChannels:
    case ReasonCode::kNoMatchingNode:
    case ReasonCode::kNodesUnavailable:
    case ReasonCode::kNodesLeftOut:
    case ReasonCode::kNoWholeSegments:
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
      return Lacks::kNothing;
  }
}

bool WaitsForPlan(const Gang& gang) {
  const bool waits = gang.state == GangState::kQueued || gang.state == GangState::kUnsatisfiable ||
                     gang.state == GangState::kDegraded;
  return waits && gang.pending() && gang.queue->tried;
}

Lacks LacksOf(const EngineState& state, const Gang& gang) {
  const bool on = state.options.autoscaling.scale_up != ScaleUp::kNone;
  if (on && gang.reason.code == ReasonCode::kHold) return Lacks::kLeave;
  if (!on || !WaitsForPlan(gang)) return Lacks::kNothing;
  // Lost members that come back one by one have no reason of their own.
  if (gang.state == GangState::kDegraded && KeepsRest(gang, state.members.GroupOf(gang)))
    return OpenMembers(gang).empty() ? Lacks::kNothing : Lacks::kRoom;
  return LacksOf(PendingQueue::ReasonOf(gang).code);
}

// A process before has released some of it, or its pods never had a gate.
bool Released(const Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const Member& member = entry.second;
    return member.ours && !member.pod->bound() && !member.pod->ending() &&
           !member.pod->gated_by_muster();
  });
}

// Since when it has been complete.
std::optional<Time> Since(const Gang& gang) {
  return gang.course.queued_at ? gang.course.queued_at : gang.course.partial_since;
}

// Why its queues would not let it start beside all others for which nodes are asked for, on as many
// nodes as these take; kNone: they would.
Reason OverQueueWithOthers(const EngineState& state, const Gang& gang) {
  std::vector<ChargedAlso> others;
  for (const auto& [id, ask] : state.scale_ups.all()) {
    if (id != gang.id) others.push_back({ask.queue, ask.asks});
  }
  return OverGrownQueue(state, gang, others);
}

std::string Reached(const EngineState& state, const Gang& gang, const Reason& over) {
  const bool others = state.scale_ups.all().size() > (state.scale_ups.Has(gang.id) ? 1 : 0);
  return Describe(over) + (others ? ", with the gangs for which nodes are asked for already" : "");
}

}  // namespace

void FollowScaleUp(EngineState& state, Gang& gang, Time now) {
  if (LacksOf(state, gang) != Lacks::kRoom) return EndScaleUp(state, gang.id);
  const bool asked = state.scale_ups.Has(gang.id);
  if (!asked && ScaleUpDue(state, gang) > now) return;
  // What is released stays so.
  if (!asked && !Released(gang) && OverQueueWithOthers(state, gang).code != ReasonCode::kNone) {
    return state.scale_ups.Hold(gang.id);
  }
  if (!state.scale_ups.Begin(gang.id, {gang.queue->queue, gang.queue->asks})) return;
  state.announcer.Tell(gang, false, "GangScaleUp",
                       "its pods are released without a node: kube-scheduler marks them "
                       "Unschedulable, so that a cluster autoscaler adds nodes for them");
}

void EndScaleUp(EngineState& state, const GangId& gang) {
  for (const GangId& id : state.scale_ups.End(gang)) {
    if (Gang* held = state.members.Find(id)) state.work.Touch(*held);
  }
}

Time ScaleUpDue(const EngineState& state, const Gang& gang) {
  const bool waits = LacksOf(state, gang) == Lacks::kRoom && !state.scale_ups.Has(gang.id);
  const std::optional<Time> since = waits ? Since(gang) : std::nullopt;
  if (!waits) return Time::Never();
  return since ? *since + state.options.autoscaling.after : Time(INT64_MIN);
}

std::set<cluster::PodUid> ReleasedForScaleUp(const EngineState& state, const Gang& gang) {
  std::set<cluster::PodUid> released;
  if (!state.scale_ups.Has(gang.id)) return released;
  // The same as RequestOf takes.
  const std::vector<const Member*> open = OpenMembers(gang);
  const cluster::Headcount there =
      CountMembers(gang, !gang.minimum.roles.empty(),
                   [](const Member& member) { return IsThere(member, Counting::kPlanned); });
  for (const size_t i : Needed(gang.minimum, there, open)) released.insert(open[i]->uid);
  return released;
}

std::string ScaleUpText(const EngineState& state, const Gang& gang) {
  switch (LacksOf(state, gang)) {
    case Lacks::kNothing:
      return {};
    case Lacks::kKeptRoom:
      return "not asked for: an autoscaler sees room that Muster keeps for others as free, and "
             "adds no nodes";
    case Lacks::kLeave:
      return "not asked for: " + Describe(PendingQueue::ReasonOf(gang));
    case Lacks::kRoom:
      break;
  }
  if (state.scale_ups.Has(gang.id))
    return "asked for: its pods are released without a node, so that an autoscaler adds nodes";
  const Reason over = OverQueueWithOthers(state, gang);
  if (over.code != ReasonCode::kNone) return "not asked for: " + Reached(state, gang, over);
  return "not asked for yet: first it has to lack room for " +
         std::to_string(state.options.autoscaling.after.value() / 1000) + " s";
}

bool KeepsNode(const EngineState& state, const Gang& gang, const Member& member) {
  const Autoscaling& says = state.options.autoscaling;
  if (says.scale_up == ScaleUp::kNone || member.pod->says_disruption) return false;
  return says.keep_nodes == KeepNodes::kAll ||
         (says.keep_nodes == KeepNodes::kGangs && !gang.id.solo && gang.members.size() > 1);
}

}  // namespace muster::engine
