#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Pod;
using cluster::Time;

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
    gang.setback = Because(ReasonCode::kRepairing, gang.tally.bound, gang.min_member);
    gang.backoff_until = now + BackoffAfter(gang.attempts);
    gang.obstacle.clear();
  }
  Drop(gang, "muster: the gang was partially bound for too long");
  Recount(gang);
}

// One of the members may not be evicted: the gang is not taken back for now, and may become whole.
bool Scheduler::Core::RepairRefused(const Gang& gang) {
  return gang.repairing && !gang.obstacle.empty() &&
         std::none_of(gang.members.begin(), gang.members.end(),
                      [](const auto& entry) { return entry.second.doing == Doing::kEvict; });
}

void Scheduler::Core::StopRepair(Gang& gang) {
  if (gang.repairing && gang.tally.bound == 0) {
    gang.started = false;
    gang.started_at.reset();
  }
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
  const bool started = gang.barrier_open || gang.tally.bound > 0;
  if (!started) {
    return Fail(gang, Because(ReasonCode::kReservationExpired, arrived, gang.min_member), now);
  }
  // The binding may still come true: the reservation stays, and the next Bind call is answered from
  // what is known.
  for (auto& [uid, member] : gang.members) {
    if (std::any_of(member.held.begin(), member.held.end(),
                    [&](const HeldBind& held) { return held.answer_by <= now; })) {
      AnswerHeld(member, "muster: the API server has not confirmed the binding in time");
    }
  }
}

void Scheduler::Core::Drop(Gang& gang, const std::string& why) {
  SpareVictims(gang);
  for (auto& [uid, member] : gang.members) DropMember(gang, member, why);
  if (gang.tally.bound == 0) gang.barrier_open = false;
  gang.all_nominated = false;
  gang.tried = false;
  gang.deadline.reset();
}

void Scheduler::Core::DropMember(Gang& gang, Member& member, const std::string& why) {
  if (member.may_be_bound()) return;  // its outcome decides
  AnswerHeld(member, why);
  if (!member.plan) return;
  state_.Release(member.uid);
  member.plan.reset();
  member.planned_node.clear();
  member.required = false;
  member.nominated = false;
  member.bind_seen = false;
  gang.version = next_version_++;
}

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
  Drop(gang, "muster: " + Describe(setback));
  gang.setback = std::move(setback);
  gang.backoff_until = now + BackoffAfter(gang.attempts);
  Recount(gang);
  SetPending(gang, false);
  SetState(gang, GangState::kBackoff, gang.setback);
}

}  // namespace muster::engine
