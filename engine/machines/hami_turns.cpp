#include "engine/machines/hami_turns.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "cluster/records/hami_devices.hpp"
#include "engine/gangs/membership.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

bool MayBeBound(const Gang& gang) { return gang.plan->barrier_open || gang.running(); }

// It would be bound at once if it had the turn.
bool Ready(const Gang& gang, const Member& member, Time now) {
  return !member.writes->held.empty() && member.writes->not_before <= now &&
         !member.pod->gated_by_muster() && MayBeBound(gang);
}

bool GoesFirst(const Gang& gang, const Member& member, const Gang& other_gang,
               const Member& other) {
  const auto place = [](const Gang& of, const Member& one) {
    return std::tie(of.plan->made_at, of.id, one.plan->rank, one.uid);
  };
  return place(gang, member) < place(other_gang, other);
}

}  // namespace

bool HamiTurns::AsksPlugin(const Member& member) const {
  if (!member.planned()) return false;
  const Node* node = cluster_.FindNode(member.plan->node);
  if (node == nullptr || node->plugin != cluster::DevicePlugin::kHami) return false;
  std::vector<cluster::GpuIndex> devices;
  for (const cluster::GpuShare& share : member.plan->placement->gpus)
    devices.push_back(share.index);
  return cluster::HamiHandoverOf(*node, *member.pod->spec, devices).has_value();
}

// Whoever has the node's turn, beside the member.
std::optional<HamiWait> HamiTurns::HolderOn(const Node& node, const Member& member) const {
  if (!node.hami_lock.empty()) {
    return HamiWait{"lock of " + node.hami_lock,
                    "HAMi's scheduler has locked node " + node.name + " for " + node.hami_lock};
  }
  for (const PodUid& uid : cluster_.HoldersOn(cluster_.IndexOf(node.name))) {
    if (uid == member.uid) continue;
    const Pod& pod = *cluster_.FindPod(uid);
    const Member* other = members_.FindMember(uid);
    const bool being_bound = !pod.bound() && other != nullptr && other->may_be_bound() &&
                             other->plan->node == node.name && AsksPlugin(*other);
    if (pod.hami_turn == cluster::HamiTurn::kNone && !being_bound) continue;
    return HamiWait{uid.text(), "HAMi's device plugin on node " + node.name +
                                    " serves one pod at a time, now " + pod.key.ToString()};
  }
  return std::nullopt;
}

bool HamiTurns::TakesTurn(const Gang& gang, const Member& member) const {
  return member.plan->bind_seen && !member.may_be_bound() && !member.pod->bound() &&
         MayBeBound(gang) && AsksPlugin(member);
}

std::optional<HamiWait> HamiTurns::WaitOf(const Gang& gang, const Member& member, Time now) const {
  if (!TakesTurn(gang, member)) return std::nullopt;
  const Node& node = *cluster_.FindNode(member.plan->node);
  if (std::optional<HamiWait> holder = HolderOn(node, member)) return holder;
  for (const PodUid& uid : cluster_.HoldersOn(cluster_.IndexOf(node.name))) {
    const Gang* other_gang = members_.GangOf(uid);
    const Member* other = members_.FindMember(uid);
    if (other == nullptr || other_gang == nullptr || uid == member.uid) continue;
    if (other->plan->node != node.name || !Ready(*other_gang, *other, now)) continue;
    if (!GoesFirst(*other_gang, *other, gang, member) || !AsksPlugin(*other)) continue;
    return HamiWait{uid.text(), "pod " + other->key.ToString() + " goes first on node " +
                                    node.name + ", which HAMi's device plugin serves"};
  }
  return std::nullopt;
}

bool HamiTurns::Waits(const Gang& gang, Time now) const {
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    return WaitOf(gang, entry.second, now).has_value();
  });
}

std::optional<TurnsAwaited> HamiTurns::Follow(const Gang& gang, Time now) {
  std::optional<TurnsAwaited> awaited;
  for (const auto& [uid, member] : gang.members) {
    if (!TakesTurn(gang, member)) {
      waiting_.erase(uid);
      continue;
    }
    const HamiWait wait = WaitOf(gang, member, now).value_or(HamiWait());
    const auto known = waiting_.find(uid);
    if (wait.blocker.empty() && known == waiting_.end()) continue;
    Waiting& waiting = waiting_[uid];
    if (known == waiting_.end() || waiting.node != member.plan->node) {
      waiting = {member.plan->node, wait.blocker, Time()};
    } else if (waiting.blocker != wait.blocker) {
      waiting.blocker = wait.blocker;
      waiting.passed = now;
    }
    if (!awaited) awaited.emplace();
    awaited->since = std::max(awaited->since, waiting.passed);
    if (awaited->why.empty()) awaited->why = wait.why;
  }
  return awaited;
}

std::vector<std::string> HamiTurns::Audit() const {
  std::vector<std::string> broken;
  for (const auto& [uid, waiting] : waiting_) {
    if (members_.FindMember(uid) == nullptr)
      broken.push_back("pod " + uid.text() + " is gone and waits for its turn on node " +
                       waiting.node);
  }
  return broken;
}

}  // namespace muster::engine
