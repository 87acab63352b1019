#include "engine/cycle/setback.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/claim_state.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/judging/judge.hpp"
#include "engine/judging/settle_members.hpp"
#include "engine/preemption/evictions.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Time;

namespace {

// Members that were released and never came to Bind while kube-scheduler was at work: it found
// their node unfit without asking us.
void ExcludeUnasked(ClaimState& state, Gang& gang, Time now) {
  if (!gang.plan->all_nominated || state.preemptions.VictimsOf(gang.id) != nullptr) return;
  if (state.last_call < gang.plan->made_at) return;
  for (auto& [uid, member] : gang.members) {
    if (!member.planned() || member.plan->bind_seen || member.pod->gated_by_muster()) continue;
    state.reservations.Exclude(member, member.plan->node, now + state.options.backoff_max);
  }
}

// Released for the plan, and not come to Bind.
Refusals::Members Unasked(const Gang& gang) {
  Refusals::Members unasked;
  if (!gang.plan->all_nominated) return unasked;
  for (const auto& [uid, member] : gang.members) {
    if (member.planned() && !member.plan->bind_seen && !member.pod->gated_by_muster())
      unasked.push_back(&member);
  }
  return unasked;
}

// Of them, those for which kube-scheduler finds no node.
Refusals::Members Refused(const Gang& gang) {
  Refusals::Members refused = Unasked(gang);
  std::erase_if(refused, [](const Member* one) { return WordsOn(*one->pod) == nullptr; });
  return refused;
}

void ExcludeWaiting(ClaimState& state, const Gang& gang, Member& member, Time now) {
  if (member.planned() && state.hami_turns.WaitOf(gang, member, now))
    state.reservations.Exclude(member, member.plan->node, now + state.options.backoff_max);
}

// Of a reservation before which none has run out.
Duration FirstTimeout(const ClaimState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const bool own = group != nullptr && group->schedule_timeout > Duration(0);
  return own ? std::min(group->schedule_timeout, state.options.max_reservation_timeout)
             : state.options.reservation_timeout;
}

}  // namespace

void ExcludeHanging(ClaimState& state, Gang& gang, Time now) {
  for (auto& [uid, member] : gang.members) ExcludeWaiting(state, gang, member, now);
}

void GiveBack(ClaimState& state, Gang& gang, const std::string& why) {
  SpareVictims(state, gang);
  state.reservations.GiveBack(gang, why);
  PendingQueue::ForgetTry(gang);
}

void Drop(ClaimState& state, Gang& gang, const std::string& why, Time now) {
  const bool wasted = gang.tally.planned > 0 && gang.plan->made_at + kPlanLasts > now;
  GiveBack(state, gang, why);
  if (wasted) gang.course.BreakPlan(gang.tally.bound_of_muster > 0, state.options, now);
}

void Fail(ClaimState& state, Gang& gang, const Reason& setback, Time now) {
  ExcludeUnasked(state, gang, now);
  ExcludeHanging(state, gang, now);
  GiveBack(state, gang, "muster: " + Describe(setback));
  gang.course.Fail(setback, state.options, now);
}

void Expire(ClaimState& state, Gang& gang, const Reason& setback, Time now) {
  ExcludeUnasked(state, gang, now);
  ExcludeHanging(state, gang, now);
  const Refusals::Members unasked = Unasked(gang);
  GiveBack(state, gang, "muster: " + Describe(setback));
  const Duration held = std::min(now - gang.plan->made_at, FirstTimeout(state, gang));
  gang.course.Expire(setback, held, state.options, now);
  state.refusals.Await(gang.id, unasked, *gang.course.backoff_until, now);
}

void Refuse(ClaimState& state, Gang& gang, const Reason& setback, Time now) {
  state.refusals.Refuse(gang.id, Refused(gang), setback.detail, now);
  GiveBack(state, gang, "muster: " + Describe(setback));
  gang.course.Refuse(setback);
}

void ExpireMembers(ClaimState& state, Gang& gang, Time now) {
  const Duration timeout = ReservationTimeout(state, gang);
  Reason reason = Because(ReasonCode::kReservationExpired);
  for (auto& [uid, member] : gang.members) {
    const std::optional<Time>& refused_at = member.plan->refused_at;
    const bool refused = refused_at && *refused_at + Refusals::kStands <= now;
    const bool late =
        refused || member.plan->made_at + HeldAfter(timeout, member.plan->expiries) <= now;
    if (!member.planned() || member.may_be_bound() || !late) continue;
    const bool released = member.plan->nominated && !member.pod->gated_by_muster();
    if (released && !member.plan->bind_seen && WordsOn(*member.pod) != nullptr) {
      reason = WhyRefused(member);
      state.refusals.Refuse(gang.id, {&member}, reason.detail, now);
      state.reservations.PauseUntil(member, Time::Never());
      state.reservations.GiveBackMember(member, "muster: " + Describe(reason));
      continue;
    }
    if (released && !member.plan->bind_seen) {
      if (reason.detail.empty()) reason.detail = NeverAskedAbout(member);
      if (state.last_call >= member.plan->made_at)  // as in ExcludeUnasked
        state.reservations.Exclude(member, member.plan->node, now + state.options.backoff_max);
    }
    ExcludeWaiting(state, gang, member, now);
    state.reservations.Pause(member, timeout, now);
    state.reservations.GiveBackMember(member, "muster: the reservation expired");
  }
  SettleMembers(state, gang);
  if (Need(gang, Counting::kBound) == 0) {
    const bool refused = reason.code == ReasonCode::kRefused;
    state.announcer.Tell(gang, true, refused ? "GangMemberRefused" : "GangReservationExpired",
                         Describe(reason));
    return;
  }
  if (reason.code == ReasonCode::kReservationExpired) {
    reason.have = gang.tally.bound + gang.tally.succeeded;
    reason.need = gang.minimum.members;
  }
  gang.course.setback = std::move(reason);
  PendingQueue::ForgetTry(gang);
}

Duration ReservationTimeout(const ClaimState& state, const Gang& gang) {
  const Duration timeout = FirstTimeout(state, gang);
  return gang.course.expired ? HeldAfter(timeout, gang.course.attempts) : timeout;
}

}  // namespace muster::engine
