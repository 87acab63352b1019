#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/minimum.hpp"

namespace muster::engine {

namespace {

// A plan that is dropped sooner than this without a member bound counts as a failed start, whatever
// the cause: whatever makes and drops plans in turn does it ever more slowly.
constexpr cluster::Duration kPlanLasts = cluster::Seconds(5);
// A gang whose reservations expire waits as long as it held them, then twice as long and so on, but
// not longer than this unless it held them longer: it holds at most half of the time.
constexpr cluster::Duration kLongestPause = cluster::Seconds(3'600);

// After the `times`th reservation in a row that expired.
cluster::Duration PauseAfter(cluster::Duration held, int64_t times) {
  cluster::Duration pause = held;
  for (int64_t i = 1; i < times && pause < kLongestPause; ++i) pause = pause * 2;
  return std::min(pause, std::max(held, kLongestPause));
}

std::string NeverAskedAbout(const Member& member) {
  return "kube-scheduler has not asked to bind " + member.key.name;
}

}  // namespace

using cluster::Duration;
using cluster::Pod;
using cluster::Time;

// first × 2^(failures - 1), at most max.
Duration Scheduler::Core::BackoffAfter(int64_t failures) const {
  Duration backoff = options_.backoff_first;
  for (int64_t i = 1; i < failures && backoff < options_.backoff_max; ++i) backoff = backoff * 2;
  return std::min(backoff, options_.backoff_max);
}

// Bound members of a gang that stayed partial go, so that they do not hold what they cannot use.
void Scheduler::Core::Repair(Gang& gang, Time now) {
  if (!gang.repairing) {
    gang.repairing = true;
    ++gang.attempts;
    gang.setback = Because(ReasonCode::kRepairing, gang.tally.bound + gang.tally.succeeded,
                           gang.minimum.members);
    gang.backoff_until = now + BackoffAfter(gang.attempts);
    gang.obstacle.clear();
  }
  GiveBack(gang, "muster: the gang was partially bound for too long");
  Recount(gang);
}

void Scheduler::Core::StopRepair(Gang& gang) {
  if (gang.repairing) gang.held_by = 0;  // while it lasted none of them could be a victim
  gang.repairing = false;
}

void Scheduler::Core::ExpireHeld(Gang& gang, Time now) {
  bool expired = false;
  for (auto& [uid, member] : gang.members) {
    for (const HeldBind& held : member.held) expired = expired || held.answer_by <= now;
  }
  if (!expired) return;
  int64_t arrived = 0;
  for (const auto& [uid, member] : gang.members) arrived += member.held.empty() ? 0 : 1;
  const bool started = gang.barrier_open || gang.tally.ours > 0;
  if (!started) return Expire(gang, arrived + gang.tally.bound + gang.tally.succeeded, now);
  // The binding may still come true: the reservation stays, and the next Bind call is answered from
  // what is known.
  for (auto& [uid, member] : gang.members) {
    if (std::any_of(member.held.begin(), member.held.end(),
                    [&](const HeldBind& held) { return held.answer_by <= now; })) {
      writes_.Answer(member, "muster: the API server has not confirmed the binding in time");
    }
  }
}

// GiveBack, of a plan that something broke: the gang waits if it was made just now.
void Scheduler::Core::Drop(Gang& gang, const std::string& why, Time now) {
  const bool wasted = gang.tally.planned > 0 && gang.planned_at + kPlanLasts > now;
  GiveBack(gang, why);
  if (!wasted) return;
  if (gang.tally.ours > 0) {  // not a start; what is bound waits for the rest
    gang.backoff_until = now + options_.retry_interval;
    return;
  }
  ++gang.attempts;
  gang.backoff_until = now + BackoffAfter(gang.attempts);
  if (gang.setback.code == ReasonCode::kNone) gang.setback = Because(ReasonCode::kPlanBroken);
}

// Gives back what no binding is under way for, and refuses held Bind calls.
void Scheduler::Core::GiveBack(Gang& gang, const std::string& why) {
  SpareVictims(gang);
  for (auto& [uid, member] : gang.members) DropMember(gang, member, why);
  if (gang.tally.ours == 0) gang.barrier_open = false;
  gang.all_nominated = false;
  gang.tried = false;
  gang.deadline.reset();
}

void Scheduler::Core::DropMember(Gang& gang, Member& member, const std::string& why) {
  if (member.may_be_bound()) return;  // its outcome decides
  writes_.Answer(member, why);
  if (!member.plan) return;
  state_.Release(member.uid);
  member.plan.reset();
  member.planned_node.clear();
  member.required = false;
  member.nominated = false;
  member.bind_seen = false;
  gang.version = next_version_++;
}

// Names a member that never came: its scheduler may never ask.
void Scheduler::Core::Expire(Gang& gang, int64_t arrived, Time now) {
  Reason reason = Because(ReasonCode::kReservationExpired, arrived, gang.minimum.members);
  for (const auto& [uid, member] : gang.members) {
    if (!member.plan || member.bind_seen || !reason.detail.empty()) continue;
    if (!gang.all_nominated || member.pod->gated_by_muster()) continue;  // nobody was to ask yet
    reason.detail = NeverAskedAbout(member);
  }
  const Duration held = now - gang.planned_at;
  Fail(gang, std::move(reason), now);
  gang.expired = true;
  gang.backoff_until = std::max(*gang.backoff_until, now + PauseAfter(held, gang.attempts));
}

// The same beside members that are bound, for each by itself: who did not come in time gives back
// what it held and pauses, the others go on. Says why, where one did not, and sets the deadline of
// the next.
Reason Scheduler::Core::ExpireMembers(Gang& gang, Time now) {
  const Duration timeout = ReservationTimeout(gang);
  Reason reason;
  gang.deadline.reset();
  if (gang.tally.planned == 0) return reason;
  for (auto& [uid, member] : gang.members) {
    if (!member.plan || member.may_be_bound()) continue;
    const Time due = member.planned_at + timeout;
    if (due > now) {
      gang.deadline = std::min(gang.deadline.value_or(due), due);
      continue;
    }
    reason.code = ReasonCode::kReservationExpired;
    const bool released = member.nominated && !member.pod->gated_by_muster();
    if (released && !member.bind_seen) {
      if (reason.detail.empty()) reason.detail = NeverAskedAbout(member);
      if (last_call_ >= member.planned_at)  // as in Fail
        member.excluded[member.planned_node] = now + options_.backoff_max;
    }
    member.pauses_until = now + PauseAfter(now - member.planned_at, ++member.expiries);
    DropMember(gang, member, "muster: the reservation expired");
  }
  if (reason.code == ReasonCode::kNone) return reason;
  Recount(gang);
  if (Need(gang, Counting::kBound) == 0) return reason;
  reason.have = gang.tally.bound + gang.tally.succeeded;
  reason.need = gang.minimum.members;
  return reason;
}

// GiveBack after a failed start: the gang waits before it is tried again.
void Scheduler::Core::Fail(Gang& gang, Reason setback, Time now) {
  // Members that were released and never came to Bind while kube-scheduler was at work: it found
  // their node unfit without asking us.
  for (auto& [uid, member] : gang.members) {
    const bool asked = gang.all_nominated && !gang.victims && member.plan && !member.bind_seen &&
                       last_call_ >= gang.planned_at;
    if (asked && !member.pod->gated_by_muster()) {
      member.excluded[member.planned_node] = now + options_.backoff_max;
    }
  }
  ++gang.attempts;
  GiveBack(gang, "muster: " + Describe(setback));
  gang.setback = std::move(setback);
  gang.backoff_until = now + BackoffAfter(gang.attempts);
  Recount(gang);
  SetPending(gang, false);
  SetState(gang, GangState::kBackoff, gang.setback);
}

}  // namespace muster::engine
