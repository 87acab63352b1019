#include "engine/preemption/restart_window.hpp"

#include <algorithm>
#include <utility>

#include "engine/gangs/minimum.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/standing/show.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

namespace {

// Of a queue of the policy; null: it is gone, or keeps nothing.
const queues::PreemptionSpec* TermsOf(const StandingState& state, const std::string& queue) {
  const queues::Tree& tree = state.queue_book.tree();
  const auto index = tree.Find(queue);
  const queues::PreemptionSpec* terms = index ? &tree.at(*index).preemption : nullptr;
  return terms != nullptr && terms->restart_window > 0 ? terms : nullptr;
}

// Where only pods say that there is a gang: those of the next attempt come within that time after
// the last one has gone, or never. JobSet and LeaderWorkerSet make them at once.
constexpr Duration kNextAttemptIn = cluster::Seconds(60);

bool Early(const queues::PreemptionSpec& terms, Time since, Time now) {
  return now - since < Duration(std::max(terms.min_runtime_preempt, terms.min_runtime_reclaim));
}

// It preempted others, it runs, and was not evicted since it started.
bool HasPaidRun(const StandingState& state, const Gang& gang) {
  return !gang.id.solo && state.preemptions.Paid(gang.id) && gang.past.running_since() &&
         !state.preemptions.EvictedSince(AcrossAttempts(gang), *gang.past.running_since());
}

bool HasItsNodes(const StandingState& state, const KeptRoom& room) {
  for (size_t i = 0; i < room.placements.size(); ++i) {
    const cluster::Node* node = state.cluster.node(room.placements[i].node);
    if (node == nullptr || node->uid != room.hosts[i]) return false;
  }
  return true;
}

// The gangs that it is kept for; those of one owner are in one namespace.
std::vector<const Gang*> AttemptsAt(const StandingState& state, const KeptRoom& room) {
  if (const Gang* gang = state.members.Find(room.gang)) return {gang};
  if (room.gang == room.lost_by) return {};
  return state.members.AttemptsOf(room.gang);
}

// Why the room is not kept any more; nothing: it is.
std::optional<WindowEnd> WhyOver(const StandingState& state, const KeptRoom& room, Time now) {
  const queues::PreemptionSpec* terms = TermsOf(state, room.queue);
  if (terms == nullptr) return WindowEnd::kPolicy;
  if (!HasItsNodes(state, room)) return WindowEnd::kNodeGone;
  const auto runs = [&](const Gang* gang) {
    return gang->running() && !state.work.Touched(gang->id) &&
           !Grows(*gang, state.members.GroupOf(*gang));
  };
  const std::vector<const Gang*> attempts = AttemptsAt(state, room);
  if (std::any_of(attempts.begin(), attempts.end(), runs)) return WindowEnd::kStarted;
  const bool over = room.until ? *room.until <= now : !Early(*terms, room.since, now);
  return over ? std::optional(WindowEnd::kPassed) : std::nullopt;
}

// What the pod holds, if it is to be kept for a gang that runs, or ran, since then.
std::optional<KeptRoom> RoomOf(const StandingState& state, const Gang& gang, const PodUid& pod,
                               Time since) {
  const cluster::Allocation* held = state.cluster.AllocationOf(pod);
  if (held == nullptr || held->holding != cluster::Holding::kBound ||
      state.preemptions.PreemptorOf(pod) != nullptr)
    return std::nullopt;
  const cluster::Node* node = state.cluster.node(held->placement.node);
  const std::string& queue = BookedFor(state, gang);
  if (node == nullptr || TermsOf(state, queue) == nullptr) return std::nullopt;
  KeptRoom room;
  room.gang = AcrossAttempts(gang);
  room.lost_by = gang.id;
  room.queue = queue;
  room.priority = CappedPriority(gang, gang.members.at(pod));
  room.since = since;
  room.placements = {held->placement};
  room.hosts = {node->uid};
  return room;
}

}  // namespace

std::optional<KeptRoom> RoomAtStake(const StandingState& state, const PodUid& pod) {
  if (!state.preemptions.any_paid()) return std::nullopt;
  const Gang* gang = state.members.GangOf(pod);
  if (gang == nullptr || !HasPaidRun(state, *gang)) return std::nullopt;
  return RoomOf(state, *gang, pod, *gang->past.running_since());
}

bool KeepsIfLost(const StandingState& state, const Gang& gang, Time now) {
  if (KeptRoomOf(state, gang) != nullptr) return true;
  if (!HasPaidRun(state, gang)) return false;
  const queues::PreemptionSpec* terms = TermsOf(state, BookedFor(state, gang));
  return terms != nullptr && Early(*terms, *gang.past.running_since(), now);
}

void KeepRoom(StandingState& state, const KeptRoom& room) {
  const PodUid& uid = room.placements.front().pod;
  const cluster::Pod* pod = state.cluster.FindPod(uid);
  const bool ended = pod != nullptr && pod->phase == cluster::PodPhase::kSucceeded;
  if (ended || state.cluster.AllocationOf(uid) != nullptr) return;
  state.kept_rooms.Lose(room);
}

void FollowKeptRooms(StandingState& state, Time now) {
  if (state.kept_rooms.none()) return;
  state.kept_rooms.Count(now);
  for (const auto& [id, room] : std::map(state.kept_rooms.all())) {
    if (const std::optional<WindowEnd> end = WhyOver(state, room, now)) {
      EndKeptRoom(state, id, *end);
    } else if (!room.until) {
      state.kept_rooms.KeepUntil(id, now + Duration(TermsOf(state, room.queue)->restart_window));
    }
  }
}

const KeptRoom* KeptRoomOf(const StandingState& state, const Gang& gang) {
  return state.kept_rooms.none() ? nullptr : state.kept_rooms.Of(AcrossAttempts(gang));
}

void AwaitNextAttempt(StandingState& state, const Gang& gang, Time now) {
  const KeptRoom* room = KeptRoomOf(state, gang);
  const queues::PreemptionSpec* terms = room == nullptr ? nullptr : TermsOf(state, room->queue);
  if (terms == nullptr) return;
  const Duration window(terms->restart_window);
  state.kept_rooms.Shorten(room->gang, now + std::min(window, kNextAttemptIn));
}

std::string OpenWindow(StandingState& state, const Gang& gang, Time since) {
  for (const auto& [uid, member] : gang.members) {
    if (gang.id.solo) break;
    if (const auto room = RoomOf(state, gang, uid, since)) state.kept_rooms.Lose(*room);
  }
  const KeptRoom* room = KeptRoomOf(state, gang);
  const queues::PreemptionSpec* terms =
      room == nullptr || !HasItsNodes(state, *room) ? nullptr : TermsOf(state, room->queue);
  if (terms == nullptr) return "";
  state.kept_rooms.Died(room->gang);
  return "what it had on " + NodesOf(state, *room) + " is kept for it for " +
         std::to_string(terms->restart_window / 1000) + " s";
}

void EndKeptRoom(StandingState& state, const GangId& id, WindowEnd how) {
  const KeptRoom* room = state.kept_rooms.Of(id);
  if (room == nullptr) return;
  const std::string nodes = NodesOf(state, *room);
  const std::vector<const Gang*> attempts = AttemptsAt(state, *room);
  const bool told = state.kept_rooms.End(id, how);
  state.queue.AnythingMayFit();
  if (!told || attempts.empty()) return;
  if (how == WindowEnd::kPassed || how == WindowEnd::kNodeGone || how == WindowEnd::kPolicy) {
    const char* why = how == WindowEnd::kPassed     ? "it did not start again in time"
                      : how == WindowEnd::kNodeGone ? "one of its nodes is gone"
                                                    : "its queue keeps nothing any more";
    state.announcer.Tell(*attempts.back(), true, "RestartWindowEnded",
                         "what it had" + (nodes.empty() ? "" : " on " + nodes) +
                             " is not kept for it any more: " + why);
  }
}

int32_t PriorityAt(const StandingState& state, const KeptRoom& room) {
  for (const Gang* gang : AttemptsAt(state, room)) {
    const int32_t now = PriorityOf(*gang);
    if (now != INT32_MAX) return now;
  }
  return room.priority;
}

std::string Describe(const KeptRoom& room) {
  std::string who = "gang " + room.lost_by.key.ToString() + ", which lost it early";
  if (!room.until) return who;
  return who + " and may start there again until " + ShowTime(*room.until);
}

std::string NodesOf(const StandingState& state, const KeptRoom& room) {
  return NamesOf(state.cluster, room.nodes);
}

}  // namespace muster::engine
