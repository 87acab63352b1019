#include "engine/cycle/node_intake.hpp"

#include <utility>

#include "engine/judging/evidence.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

void TouchReservations(StandingState& state, cluster::NodeIndex node) {
  if (!node.valid()) return;
  const auto touch = [&](const PodUid& uid) {
    Gang* gang = state.members.Find(uid).gang;
    if (gang == nullptr) return;
    state.reservations.MarkForRecheck(*gang, true);
    state.work.Touch(*gang);
  };
  for (const PodUid& holder : state.cluster.HoldersOn(node)) touch(holder);
  for (const PodUid& waiting : state.cluster.EarmarksOn(node)) touch(waiting);
}

}  // namespace

// It asks for something else now: what is planned for it may not be that.
void TouchPlan(StandingState& state, const PodUid& uid) {
  const PlacedMember at = state.members.Find(uid);
  if (at.member != nullptr && at.member->planned())
    state.reservations.MarkForRecheck(*at.gang, true);
}

void RemoveNode(StandingState& state, const cluster::NodeUid& uid) {
  const cluster::NodeIndex node = state.cluster.IndexOf(uid);
  TouchReservations(state, node);
  state.reservations.OnNodeRemoved(node);
  if (node.valid()) {
    state.ever_fits.TouchRecord(node);
    state.health.ForgetNode(state.cluster.node(node)->name);
  }
  // What waited for room may now be waiting for what this cluster will never have.
  if (state.cluster.Remove(uid)) state.queue.AnythingMayFit();
}

void ApplyNode(StandingState& state, const Node& given) {
  const Node* known = state.cluster.FindNode(given.name);
  if (known != nullptr && known->uid != given.uid) state.health.ForgetNode(given.name);
  const std::vector<cluster::AttachLimit>& limits = state.volumes.LimitsOf(given.name);
  const bool watched = state.health.Watches(given.name);
  std::optional<Node> completed;
  if (watched || limits != given.attach_limits) completed.emplace(given).attach_limits = limits;
  if (watched) state.health.Mark(*completed);
  const Node& node = completed ? *completed : given;
  if (known != nullptr && *known == node) return;  // a heartbeat
  const cluster::NodeIndex before = state.cluster.IndexOf(node.name);
  state.ever_fits.TouchRecord(before);
  if (known != nullptr) {
    TouchReservations(state, before);
    if (known->uid != node.uid) state.reservations.OnNodeRemoved(before);
  }
  if (!state.cluster.Upsert(node).changed) return;
  const cluster::NodeIndex index = state.cluster.IndexOf(node.name);
  state.ever_fits.TouchRecord(index);
  state.reservations.OnNodeRestored(node.name);
  TouchReservations(state, index);
  NoteNode(state, node.name);
}

void TouchUnsound(StandingState& state, cluster::NodeIndex node) {
  if (node.valid() && state.cluster.Overcommitted(node)) TouchReservations(state, node);
}

void TouchTurns(StandingState& state, cluster::NodeIndex node) {
  if (!node.valid() || state.cluster.node(node)->plugin != cluster::DevicePlugin::kHami) return;
  for (const PodUid& holder : state.cluster.HoldersOn(node)) {
    const PlacedMember at = state.members.Find(holder);
    if (at.member != nullptr && !at.member->writes->held.empty()) state.work.Touch(*at.gang);
  }
}

}  // namespace muster::engine
