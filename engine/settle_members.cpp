#include "engine/settle_members.hpp"

#include <algorithm>

#include "engine/engine_state.hpp"

namespace muster::engine {

using cluster::Pod;

namespace {

void CountLeaving(const EngineState& state, const Member& member, Tally& tally) {
  const Pod& pod = *member.pod;
  if (!pod.bound()) return;
  tally.leaving += member.ours ? 1 : 0;
  const cluster::Node* node = state.cluster.FindNode(pod.node_name);
  if (node == nullptr || !node->ready) return;
  tally.going += member.ours ? 1 : 0;
  tally.leave_by = std::max(tally.leave_by, pod.leaves_by);
}

// Of a member that neither is bound nor has ended nor leaves.
void CountWaiting(const Member& member, Tally& tally) {
  if (member.malformed()) {
    ++tally.malformed;
  } else if (member.pod->gated_by_others()) {
    ++tally.gated_by_others;
  } else if (!member.ours) {
    ++tally.others_pending;
  } else if (member.awaits_volumes()) {
    ++tally.awaits_volumes;
  } else if (member.plan->pauses_until) {
    ++tally.pausing;
  } else {
    ++tally.pending;
    tally.planned += member.planned() ? 1 : 0;
  }
}

}  // namespace

void SettleMembers(EngineState& state, Gang& gang) {
  Tally tally;
  for (auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    const bool makes_way = state.preemptions.PreemptorOf(uid) != nullptr;
    member.ours = state.members.Claimed(pod);
    tally.of_muster += member.ours ? 1 : 0;
    tally.victims += makes_way ? 1 : 0;
    if (member.planned() && pod.node_name == member.plan->node) state.kubelet_picks.Count(member);
    if (pod.bound() || pod.ending() || member.malformed() || member.awaits_volumes())
      state.reservations.Settle(member);
    if (member.from_earlier_run) continue;
    if (pod.phase == cluster::PodPhase::kSucceeded) {
      ++tally.succeeded;
      gang.past.Joined(pod.owner_uid);
    } else if (pod.terminal()) {
      ++tally.failed;
    } else if (member.leaving()) {
      CountLeaving(state, member, tally);
    } else if (pod.bound()) {
      ++tally.bound;
      tally.bound_of_muster += member.ours ? 1 : 0;
      tally.staying += member.ours && !makes_way ? 1 : 0;
      gang.past.Joined(pod.owner_uid);
    } else {
      CountWaiting(member, tally);
    }
  }
  if (tally.bound > gang.tally.bound) gang.course.broken_plans = 0;
  gang.tally = tally;
  state.reservations.CountNominated(gang, tally.planned);
}

}  // namespace muster::engine
