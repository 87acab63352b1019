#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "cluster/holdings/node_ledger.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/explain/view.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/preemption/losses.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

namespace {

// The engine acts on a deadline only in the first Advance after it; the outcomes of its actions
// then take time, too.
constexpr cluster::Duration kSlack = cluster::Seconds(30);

void AuditNodes(const EngineState& state, std::vector<std::string>& broken) {
  for (const cluster::Node* node : state.cluster.Nodes()) {
    const cluster::NodeIndex index = state.cluster.IndexOf(node->name);
    if (state.cluster.Overcommitted(index)) continue;
    std::map<cluster::GpuIndex, cluster::DeviceAmount> taken;
    cluster::Resources held;
    for (const cluster::PodUid& uid : state.cluster.HoldersOn(index)) {
      const cluster::Allocation& allocation = *state.cluster.AllocationOf(uid);
      for (const cluster::GpuShare& share : allocation.placement.gpus)
        taken[share.index] += share.taken;
      held += allocation.placement.requests;
    }
    for (const auto& [gpu, given] : taken) {
      if (!cluster::DeviceAmount::All().Holds(given)) {
        broken.push_back("GPU " + std::to_string(gpu.value) + " of node " + node->name +
                         " is given out " + std::to_string(given.most().value()) + " milli times");
      }
    }
    if (!cluster::OfferOf(*node).Fits(held))
      broken.push_back("node " + node->name + " has more given out than it has");
  }
}

void AuditGang(const EngineState& state, const Gang& gang, Time now,
               std::vector<std::string>& broken) {
  const std::string who = "gang " + gang.id.key.ToString();
  const bool touched = state.work.Touched(gang.id);
  const bool preempts = state.preemptions.VictimsOf(gang.id) != nullptr;
  state.reservations.Audit(gang, !touched, preempts, broken);
  if (gang.pending() && gang.members.empty())
    broken.push_back(who + " is pending and has no members");
  if (touched) return;
  if (gang.judged && !gang.members.empty() &&
      TopologyOf(state, gang).spread_group != *gang.spread_group) {
    broken.push_back(who + " is in another spread group than it says");
  }
  const Tally& tally = gang.tally;
  // Their outcome decides whether the gang becomes partially bound or gives back what it holds.
  const bool binding = std::any_of(gang.members.begin(), gang.members.end(),
                                   [](const auto& m) { return m.second.may_be_bound(); });
  if (tally.bound_of_muster == 0 && tally.planned > 0 && Need(gang, Counting::kPlanned) > 0 &&
      !binding) {
    broken.push_back(who + " holds part of what it needs and waits");
  }
  const bool holds_nothing =
      gang.state == GangState::kForming || gang.state == GangState::kQueued ||
      gang.state == GangState::kInvalid || gang.state == GangState::kForbidden ||
      gang.state == GangState::kUnsatisfiable;
  if (holds_nothing && tally.planned > 0 && !binding) {
    broken.push_back(who + " is " + ToString(gang.state) + " and holds a reservation");
  }
  const std::optional<Time>& since = gang.course.partial_since;
  const bool overdue =
      since &&
      *since + PartialTimeout(gang, state.members.GroupOf(gang), state.options) + kSlack < now;
  const bool held = state.options.partial_gang == PartialGang::kHold ||
                    KeepsRest(gang, state.members.GroupOf(gang));
  if (overdue && !gang.course.repairing && !held) {
    broken.push_back(who + " is partially bound for too long and nothing is done about it");
  }
  if (gang.pending() && !state.queue.Contains(gang))
    broken.push_back(who + " is pending but not in the queue");
}

// What was asked for is not taken back when a priority changes afterwards.
void AuditVictims(const EngineState& state, const Gang& gang, std::vector<std::string>& broken) {
  const Victims* victims = state.preemptions.VictimsOf(gang.id);
  if (victims == nullptr) return;
  const std::string who = "gang " + gang.id.key.ToString();
  if (gang.tally.planned == 0) broken.push_back(who + " has victims and no plan");
  // Between queues that depends on what all of them use: it is judged when the evictions are asked
  // for.
  if (victims->asked || !queues::OnlyRoot(state.options.queues)) return;
  for (const cluster::PodUid& uid : victims->pods) {
    const Gang* victim = state.members.GangOf(uid);
    if (victim == nullptr) continue;
    const Member& member = victim->members.at(uid);
    if (member.leaving() || member.writes->doing == WriteKind::kEvict) continue;
    if (CappedPriority(*victim, member) >= PriorityOf(gang))
      broken.push_back(who + " preempts pod " + member.key.ToString() + ", which it may not evict");
  }
}

void AuditScaleUps(const EngineState& state, std::vector<std::string>& broken) {
  for (const auto& [id, asked] : state.scale_ups.all()) {
    const Gang* gang = state.members.Find(id);
    const bool waits = gang != nullptr && (gang->pending() || state.work.Touched(id) ||
                                           state.requests.Wanted(id) != nullptr);
    if (!waits)
      broken.push_back("nodes are asked for gang " + id.key.ToString() + ", which does not wait");
  }
}

void AuditRequests(const EngineState& state, std::vector<std::string>& broken) {
  for (const auto& [key, request] : state.requests.all()) {
    const Gang* gang = state.members.Find(request.ask.gang);
    const bool ended = gang != nullptr &&
                       (gang->state == GangState::kRunning || gang->state == GangState::kFinished);
    const bool touched = gang != nullptr && state.work.Touched(request.ask.gang);
    if (request.wanted && (gang == nullptr || ended) && !touched)
      broken.push_back("ProvisioningRequest " + key.ToString() +
                       " is wanted for a gang that does not wait");
  }
}

// It went before the room's gang when it was planned, as far as is known: in their queue priorities
// decide, and that of the room's gang may have risen since.
bool MayHaveGoneBefore(const EngineState& state, const Gang& gang, const KeptRoom& room, Time now) {
  return BookedFor(state, gang) == room.queue && gang.plan->made_at < now;
}

// Nobody else is planned on a device that is kept whole for a gang, but who goes before it.
void AuditKeptRooms(const EngineState& state, Time now, std::vector<std::string>& broken) {
  for (const auto& [id, room] : state.kept_rooms.all()) {
    for (const cluster::Placement& kept : room.placements) {
      const cluster::Node* node = state.cluster.node(kept.node);
      if (node == nullptr || state.cluster.Overcommitted(kept.node)) continue;
      const std::vector<cluster::GpuIndex> whole = cluster::WholeGpusOf(kept);
      for (const cluster::PodUid& uid : state.cluster.HoldersOn(kept.node)) {
        const cluster::Allocation& held = *state.cluster.AllocationOf(uid);
        const Gang* gang = state.members.GangOf(uid);
        // Of one that is to be looked at it is not known in which queue it is now.
        if (held.holding != cluster::Holding::kReserved || gang == nullptr ||
            state.work.Touched(gang->id) || AcrossAttempts(*gang) == id ||
            GoesBefore(state, *gang, room) || MayHaveGoneBefore(state, *gang, room, now))
          continue;
        for (const cluster::GpuShare& share : held.placement.gpus) {
          if (std::find(whole.begin(), whole.end(), share.index) == whole.end()) continue;
          broken.push_back("gang " + gang->id.key.ToString() + " is planned on node " + node->name +
                           ", where a device is kept for gang " + id.key.ToString());
        }
      }
    }
  }
}

void AuditUnfenced(const EngineState& state, std::vector<std::string>& broken) {
  for (const auto& [uid, entry] : state.unfenced.pods()) {
    const Pod* pod = state.cluster.FindPod(uid);
    if (pod == nullptr || pod->bound() || pod->terminal())
      broken.push_back("pod UID " + uid.text() + " is held back for ever");
  }
}

}  // namespace

std::vector<std::string> Audit(const EngineState& state, Time now) {
  std::vector<std::string> broken;
  const auto add = [&](std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(broken));
  };
  AuditNodes(state, broken);
  AuditUnfenced(state, broken);
  add(state.health.Audit());
  add(state.members.Audit());
  add(state.queue.Audit());
  add(state.queue_book.Audit(state.cluster));
  if (state.work.settled()) add(state.shapes.Audit());
  add(state.preemptions.Audit());
  add(state.holdings.Audit());
  add(state.kept_rooms.Audit());
  add(state.requests.Audit());
  AuditRequests(state, broken);
  AuditKeptRooms(state, now, broken);
  AuditScaleUps(state, broken);
  add(state.hami_turns.Audit());
  add(state.releases.Audit());
  int64_t plans = 0;
  std::vector<const Member*> all;
  for (const auto& [id, gang] : state.members.gangs()) {
    AuditGang(state, gang, now, broken);
    if (state.work.settled()) AuditVictims(state, gang, broken);
    const bool preempts = state.preemptions.VictimsOf(id) != nullptr;
    for (const auto& [uid, member] : gang.members) {
      const bool lost_node = member.may_be_bound() && member.held() == nullptr;
      plans += member.planned() && !lost_node && !preempts ? 1 : 0;
      all.push_back(&member);
    }
  }
  if (state.work.settled() && plans != static_cast<int64_t>(state.cluster.reservation_count())) {
    broken.push_back(std::to_string(state.cluster.reservation_count()) + " reservations for " +
                     std::to_string(plans) + " planned pods");
  }
  add(state.writes.Audit(all));
  add(state.owners.Audit());
  return broken;
}

std::string Dump(const EngineState& state) {
  std::ostringstream out;
  out << state.cluster.Dump();
  if (!state.stale_resources.empty()) out << "silent " << state.stale_resources << '\n';
  for (const auto& [uid, held] : state.unfenced.pods()) {
    out << "unfenced " << uid.text() << " on " << held.node << ": " << held.why << '\n';
  }
  for (const auto& [name, order] : state.orders.standing().queues) {
    out << "queue " << name << ' ' << ToString(order.state) << ' ' << order.by << " until "
        << order.paused_until.value_or(Time(0)).milliseconds() << ' ' << order.paused_by << '\n';
  }
  for (const auto& [key, order] : state.orders.standing().gangs) {
    out << "ordered " << key.ToString() << ' ' << order.uid << ' ' << order.priority << ' '
        << order.by << '\n';
  }
  for (const auto& [id, gang] : state.members.gangs()) {
    const Victims* victims = state.preemptions.VictimsOf(id);
    out << (id.solo ? "pod " : "gang ") << id.key.ToString() << ' ' << ToString(gang.state) << ' '
        << ToString(gang.reason.code) << " min=" << gang.min_member
        << " wants=" << gang.minimum.members << " bound=" << gang.tally.bound
        << " succeeded=" << gang.tally.succeeded << " failed=" << gang.tally.failed
        << " pending=" << gang.tally.pending << " planned=" << gang.tally.planned
        << " barrier=" << gang.plan->barrier_open << " attempts=" << gang.course.attempts
        << " victims=" << (victims == nullptr ? 0 : victims->pods.size());
    if (!gang.spread_group->empty()) out << " spread=" << *gang.spread_group;
    out << '\n';
    for (const auto& [uid, member] : gang.members) {
      out << "  member " << member.key.ToString() << ' ' << uid.text()
          << " plan=" << member.plan->node << " rank=" << member.plan->rank
          << " held=" << member.writes->held.size()
          << " doing=" << static_cast<int>(member.writes->doing) << '\n';
    }
  }
  return out.str();
}

}  // namespace muster::engine
