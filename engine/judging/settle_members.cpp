#include "engine/judging/settle_members.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Pod;

namespace {

void CountLeaving(const StandingState& state, const Member& member, Tally& tally) {
  const Pod& pod = *member.pod;
  if (!pod.bound()) return;
  tally.leaving += member.ours ? 1 : 0;
  const cluster::Node* node = state.cluster.FindNode(pod.node_name);
  if (node == nullptr || !node->ready) return;
  tally.going += member.ours ? 1 : 0;
  tally.leave_by = std::max(tally.leave_by, pod.leaves_by);
}

// Of a member that neither is bound nor has ended nor leaves.
void CountWaiting(const Member& member, Tally& tally, RoleTally& role) {
  if (member.malformed()) {
    ++tally.malformed;
    return;
  }
  if (member.pod->gated_by_others()) {
    ++tally.gated_by_others;
  } else if (!member.ours) {
    ++tally.others_pending;
  } else if (member.awaits_volumes()) {
    ++tally.awaits_volumes;
  } else if (member.plan->pauses_until) {
    ++tally.pausing;
  } else {
    ++tally.pending;
    ++role.pending;
    tally.planned += member.planned() ? 1 : 0;
    role.planned += member.planned() ? 1 : 0;
    return;
  }
  ++role.others;
}

// A gang may have 5,000 members of 1,024 roles.
using RoleTallies = std::unordered_map<std::string_view, RoleTally>;

std::vector<std::pair<std::string, RoleTally>> ByName(const RoleTallies& tallies) {
  std::vector<std::pair<std::string, RoleTally>> roles(tallies.begin(), tallies.end());
  std::sort(roles.begin(), roles.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return roles;
}

}  // namespace

void SettleMembers(StandingState& state, Gang& gang) {
  Tally tally;
  RoleTallies roles;
  for (auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    const bool makes_way = state.preemptions.PreemptorOf(uid) != nullptr;
    member.ours = state.members.Claimed(pod);
    tally.of_muster += member.ours ? 1 : 0;
    tally.victims += makes_way ? 1 : 0;
    if (member.planned() && pod.node_name == member.plan->node) state.kubelet_picks.Count(member);
    if (pod.bound() || pod.ending() || member.malformed() || member.awaits_volumes())
      state.reservations.Settle(member);
    if (member.from_earlier_run) {
      ++tally.of_earlier_run;
      continue;
    }
    if (pod.phase == cluster::PodPhase::kSucceeded) {
      ++tally.succeeded;
      ++roles[pod.role].bound;
      gang.past.Joined(pod.owner_uid);
    } else if (pod.terminal()) {
      ++tally.failed;
    } else if (member.leaving()) {
      CountLeaving(state, member, tally);
    } else if (pod.bound()) {
      ++tally.bound;
      ++roles[pod.role].bound;
      tally.bound_of_muster += member.ours ? 1 : 0;
      tally.staying += member.ours && !makes_way ? 1 : 0;
      gang.past.Joined(pod.owner_uid);
    } else {
      CountWaiting(member, tally, roles[pod.role]);
    }
  }
  if (tally.bound > gang.tally.bound) gang.course.broken_plans = 0;
  tally.roles = ByName(roles);
  gang.tally = std::move(tally);
  state.reservations.CountNominated(gang, gang.tally.planned);
}

}  // namespace muster::engine
