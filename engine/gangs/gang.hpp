// Gang: the engine's record of one gang (internal to engine/). Guarded by Scheduler. Plain values;
// each part names its owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/gang_record.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/gangs/course.hpp"
#include "engine/gangs/gang_parts.hpp"
#include "engine/gangs/group_terms.hpp"
#include "engine/gangs/member_map.hpp"
#include "engine/gangs/owned.hpp"
#include "engine/gangs/past.hpp"
#include "engine/gangs/published.hpp"
#include "engine/gangs/tally.hpp"

namespace muster::engine {

class Membership;
class PendingQueue;
class WorkQueue;

struct Gang {
  GangId id;
  MemberMap members;
  std::string group_uid;    // of the PodGroup (or pod) that `state` belongs to
  std::string attempts_of;  // as its PodGroup said, which may go with its last pod
  std::string owner;  // of its pods, which makes others in their place; empty: none, or an object
  Memory memory = Memory::kToTake;

  // The judgement: set while the gang is settled.
  GangState state = GangState::kForming;
  Reason reason;
  Tally tally;
  int64_t min_member = 1;      // of the PodGroup, 1 for a gang of one
  cluster::Headcount minimum;  // what its live and its succeeded members must come to now
  Past past;
  Course course;
  bool judged = false;  // ever; a follower judges nothing
  // Of its queue, set while it is settled too. What keeps it from waiting there; no member of it
  // counts for more than the cap.
  Reason queue_bar;
  int64_t priority_cap = INT64_MAX;
  // The queue of the policy in which its members are charged, or the last ones were.
  std::string written_queue;
  // R14, set while it is settled: nobody's victim, and has no more than its queue's guarantee.
  bool non_preemptible = false;
  // Of each of its members, by an operator's order. Nothing: what `terms` says.
  std::optional<int32_t> ordered_priority;
  GroupTerms terms;
  // When it was to start by its first booking since it ran last.
  std::optional<cluster::Time> promised;
  // When nodes were closed for it first since it ran last.
  std::optional<cluster::Time> closed_since;

  // With whose gangs it is spread, within its namespace; empty: with none.
  Owned<std::string, Membership> spread_group;
  Owned<GangPlan, Reservations> plan;
  Owned<QueuePlace, PendingQueue> queue;
  Owned<WorkState, WorkQueue> work;
  Owned<Published, Announcer> published;
  Owned<Reminder, Reminders> reminder;

  bool pending() const { return queue->order.has_value(); }
  bool running() const { return state == GangState::kRunning; }
};

// As its PodGroup or the pod has it.
inline int32_t SaidPriority(const Gang& gang, const Member& member) {
  return gang.terms.priority.value_or(member.pod->spec->priority);
}

// R13: under the cap of its queue.
inline int32_t CappedPriority(const Gang& gang, const Member& member) {
  const int32_t own = gang.ordered_priority.value_or(SaidPriority(gang, member));
  return static_cast<int32_t>(std::min<int64_t>(own, gang.priority_cap));
}

// Of what Muster places of it: the lowest among the members that have not ended, as `of` has it.
// INT32_MAX: there is none.
inline int32_t PriorityOf(const Gang& gang,
                          int32_t (*of)(const Gang&, const Member&) = CappedPriority) {
  int32_t lowest = INT32_MAX;
  for (const auto& [uid, member] : gang.members) {
    if (member.ours && !member.malformed() && !member.pod->terminal())
      lowest = std::min(lowest, of(gang, member));
  }
  return lowest;
}

// In which it waits; else in which it is charged: its first member's. Empty: the only one.
inline std::string QueueOf(const Gang& gang) {
  if (gang.pending()) return gang.queue->queue;
  return gang.members.empty() ? "" : gang.members.begin()->second.pod->queue;
}

// Under which is kept what outlives an attempt of the gang's owner: the same of all of them.
inline GangId AcrossAttempts(const Gang& gang) {
  if (gang.attempts_of.empty()) return gang.id;
  return {{gang.id.key.ns, gang.attempts_of}, false};
}

// What it costs to look at a gang, in members.
inline int64_t CostOf(const Gang& gang) { return 4 + static_cast<int64_t>(gang.members.size()); }
// CostOf what is looked at under one lock.
inline constexpr int64_t kSlice = 256;

// The highest among the members that hold something; nothing: none does.
inline std::optional<int32_t> HighestHeld(const Gang& gang) {
  std::optional<int32_t> highest;
  for (const auto& [uid, member] : gang.members) {
    if (member.holds())
      highest = std::max(highest.value_or(INT32_MIN), CappedPriority(gang, member));
  }
  return highest;
}

inline void SetState(Gang& gang, GangState state, Reason reason) {
  gang.state = state;
  gang.reason = std::move(reason);
}

// None of its members runs or is bound: it starts with its minimum or not at all.
inline bool StartsWhole(const Gang& gang) {
  return gang.tally.bound_of_muster == 0 && !gang.running();
}

}  // namespace muster::engine
