#include "engine/cycle/settle.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/provisioning.hpp"
#include "engine/claims/scale_up.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/handover.hpp"
#include "engine/cycle/membership_moves.hpp"
#include "engine/cycle/node_starts.hpp"
#include "engine/cycle/ordering.hpp"
#include "engine/cycle/setback.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/bars.hpp"
#include "engine/judging/durations.hpp"
#include "engine/judging/evidence.hpp"
#include "engine/judging/judge.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/queueing.hpp"
#include "engine/judging/read_terms.hpp"
#include "engine/judging/remember.hpp"
#include "engine/judging/request.hpp"
#include "engine/judging/settle_members.hpp"
#include "engine/judging/succession.hpp"
#include "engine/judging/unknown_gang.hpp"
#include "engine/judging/volumes.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/preemption/evictions.hpp"
#include "engine/preemption/reclaim.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/preemption/victim_changes.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

Surroundings Around(EngineState& state, const Gang& gang, bool needs_recheck, Time now) {
  Surroundings around{state.options, now};
  around.group = state.members.GroupOf(gang);
  around.namespace_bar = NamespaceBar(state, gang.id.key.ns);
  if (around.namespace_bar.code == ReasonCode::kNone) around.namespace_bar = gang.queue_bar;
  around.hold_bar = HoldBar(state, gang);
  around.evicted_bar = EvictedBar(state, gang);
  around.fence_bar = FenceBar(state, gang);
  around.quota_bar = QuotaBar(state.quotas, state.cluster, gang);
  around.volume_bar = VolumeBar(gang);
  if (!gang.id.solo) around.other_schedulers = OtherSchedulersText(state, gang.id.key);
  around.stale_resources = state.stale_resources;
  around.victims = LookAtVictims(state, gang);
  around.plan_holds = !needs_recheck || state.reservations.Holds(gang, around.victims.has_value());
  around.reservation_timeout = ReservationTimeout(state, gang);
  if (const GangId* preemptor = FirstPreemptor(state, gang))
    around.evicted_for = WhyEvicted(state, *preemptor);
  around.turns = state.hami_turns.Follow(gang, now);
  around.release = state.releases.Follow(gang, gang.plan->all_nominated && !around.victims, now);
  return around;
}

void Answer(EngineState& state, Gang& gang, const std::string& why, Time now) {
  for (auto& [uid, member] : gang.members) {
    const std::vector<HeldBind>& held = member.writes->held;
    if (std::any_of(held.begin(), held.end(),
                    [&](const HeldBind& one) { return one.answer_by <= now; })) {
      state.writes.Answer(member, why);
    }
  }
}

void Redeem(EngineState& state, Gang& gang, Time now) {
  const Time deadline = now + ReservationTimeout(state, gang);
  if (state.reservations.Redeem(gang, now, deadline)) return SpareVictims(state, gang);
  // Another scheduler's pod has it, say.
  Fail(state, gang, Because(ReasonCode::kPlanBroken), now);
}

void Take(EngineState& state, Gang& gang, const Step& step, Time now) {
  switch (step.kind) {
    case Step::Kind::kAnswerLate:
      return Answer(state, gang, step.why, now);
    case Step::Kind::kDrop:
      return Drop(state, gang, step.why, now);
    case Step::Kind::kGiveBack:
      if (gang.course.repairing) ExcludeHanging(state, gang, now);
      return GiveBack(state, gang, step.why);
    case Step::Kind::kFail:
      if (step.protect_victims) ProtectVictims(state, gang, now);
      Fail(state, gang, step.setback, now);
      return gang.course.PauseUntil(step.not_before);
    case Step::Kind::kExpire:
      return Expire(state, gang, step.setback, now);
    case Step::Kind::kRefuse:
      return Refuse(state, gang, step.setback, now);
    case Step::Kind::kExpireMembers:
      return ExpireMembers(state, gang, now);
    case Step::Kind::kEndPauses:
      return state.reservations.EndPauses(gang, Time::Never());
    case Step::Kind::kRedeem:
      return Redeem(state, gang, now);
  }
}

// When the last of its members was bound, as the API server has it: that may be before this process
// began.
Time BoundSince(const Gang& gang, Time now) {
  Time last{0};
  for (const auto& [uid, member] : gang.members) {
    if (!CountsAsBound(member)) continue;
    if (member.pod->bound_at == Time(0)) return now;
    last = std::max(last, member.pod->bound_at);
  }
  return last == Time(0) ? now : std::min(last, now);
}

// The gang has its minimum.
void Begin(EngineState& state, Gang& gang, Time now) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const cluster::Headcount declared = DeclaredMinimum(group);
  const bool starts = !gang.past.running_since();
  if (starts) {
    const std::optional<Time>& since = gang.course.queued_at;
    state.progress.started.push_back({gang.id, since ? now - *since : cluster::Duration(0)});
    if (gang.promised) state.progress.started.back().late = now - *gang.promised;
  }
  gang.promised.reset();
  gang.closed_since.reset();
  const cluster::Headcount have = CountMembers(gang, !declared.roles.empty(), CountsAsBound);
  const bool whole = Lack(Minus(declared, gang.past.ended()), have) == 0;
  gang.past.Begin(starts && !whole ? FirstMinimum(group) : declared, whole, BoundSince(gang, now));
  gang.minimum = WantedNow(gang, group, declared);
  if (starts && Grows(gang, group)) state.work.Touch(gang);
  state.preemptions.ForgetTries(gang.id);
}

// When the gang became complete, as far as its objects say: that may be before this process began.
Time CompleteSince(const EngineState& state, const Gang& gang, Time now) {
  const std::vector<const Member*> open = OpenMembers(gang);
  const int64_t need = std::min(Need(gang, Counting::kPlanned), std::ssize(open));
  if (need <= 0) return now;
  Time since = open[static_cast<size_t>(need) - 1]->pod->created;
  if (const cluster::PodGroup* group = state.members.GroupOf(gang))
    since = std::max(since, group->created);
  return since == Time(0) ? now : std::min(since, now);
}

void Conclude(EngineState& state, Gang& gang, Verdict verdict, Time now) {
  state.reservations.OpenBarrier(gang, verdict.barrier_open);
  state.reservations.SetDeadline(gang, verdict.deadline);
  if (verdict.untried) PendingQueue::ForgetTry(gang);
  if (verdict.begins) Begin(state, gang, now);
  if (verdict.pending) Enqueue(state, gang);
  state.preemptions.WantToAsk(gang.id, verdict.asks_evictions);
  if (!verdict.keep) SetState(gang, verdict.state, std::move(verdict.reason));
}

// Where its PodGroup or an operator says something else of its priority, gangs that have its
// members as victims are looked at again: they may not have the right to any more.
void SetTerms(EngineState& state, Gang& gang) {
  const GroupTerms before = std::exchange(gang.terms, TermsOfGroup(state, gang));
  AssignQueue(state, gang);
  const std::optional<int32_t> ordered =
      std::exchange(gang.ordered_priority, state.orders.PriorityOf(gang));
  if (before == gang.terms && ordered == gang.ordered_priority) return;
  for (const auto& [uid, member] : gang.members) TouchPreemptor(state, member);
}

// The state follows from the members, the plan and the clock.
void JudgeGang(EngineState& state, Gang& gang, Time now) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const bool first = !std::exchange(gang.judged, true);
  const bool complete = gang.course.queued_at.has_value();
  state.reservations.EndPauses(gang, now);
  TakeFromOwner(state, gang, now);
  SettleMembers(state, gang);
  FollowRefusal(state, gang, now);
  Remember(state, gang, now);
  gang.min_member = MinMember(group, !gang.past.running_since());
  state.members.SetSpreadGroup(
      gang, gang.members.empty() ? std::string() : TopologyOf(state, gang).spread_group);
  ExpireProtection(state, gang, now);
  state.preemptions.Pass(gang.id, now);
  Dequeue(state, gang);
  SetTerms(state, gang);
  const bool needs_recheck = gang.plan->needs_recheck;
  gang.course.Pass(now);
  // Whether its victims are lawful is asked below, and again before they go.
  if (state.preemptions.VictimsOf(gang.id) != nullptr) state.queue_book.Follow(state.cluster);
  Verdict verdict;
  verdict.resume = Stage::kHeldCalls;
  while (true) {
    verdict = Judge(gang, Around(state, gang, needs_recheck, now), verdict.resume);
    gang.course = verdict.course;
    if (!verdict.step) break;
    Take(state, gang, *verdict.step, now);
    SettleMembers(state, gang);
  }
  if (needs_recheck) {
    // Members that are being bound are looked at again when their outcome is known.
    const bool still = std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
      return entry.second.planned() && entry.second.may_be_bound();
    });
    state.reservations.MarkForRecheck(gang, still);
  }
  if (first && !complete && gang.course.queued_at)
    gang.course.queued_at = CompleteSince(state, gang, now);
  Conclude(state, gang, std::move(verdict), now);
}

// When the gang is looked at without further facts.
Time NextLook(const EngineState& state, const Gang& gang, Time now) {
  Time next = Time::Never();
  const auto at = [&](const std::optional<Time>& time) {
    if (time && *time > now) next = std::min(next, *time);
  };
  at(gang.plan->deadline);
  at(gang.course.backoff_until);
  at(gang.course.replan_from);
  at(gang.course.move_from);
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal != nullptr && refusal->waits) at(state.refusals.RetryFrom(*refusal));
  at(MayPreemptFrom(state, gang));
  at(ScaleUpDue(state, gang));
  at(RequestDue(state, gang));
  if (gang.course.partial_since)
    at(*gang.course.partial_since +
       PartialTimeout(gang, state.members.GroupOf(gang), state.options));
  // Whoever is first may not come any more.
  if (state.hami_turns.Waits(gang, now)) at(now + state.options.retry_interval);
  if (!state.releases.MayRelease(gang)) at(state.releases.due());
  for (const auto& [uid, member] : gang.members) {
    for (const HeldBind& held : member.writes->held) at(held.answer_by);
    at(member.writes->not_before);
    if (const Protection* by = state.preemptions.ProtectionOf(uid)) at(by->until);
    at(member.plan->pauses_until);
    if (member.plan->refused_at) at(*member.plan->refused_at + Refusals::kStands);
    if (!gang.pending()) continue;
    for (const auto& [node, until] : member.plan->excluded) at(until);
  }
  return next;
}

// A gang is tried again before its Event is repeated, so that the Event is true then.
void Tell(EngineState& state, Gang& gang, Time now) {
  if (Reminders::TakeLook(gang, now) && gang.pending() && gang.queue->tried) {
    state.queue.ForgetFailures();
    state.queue.Retry(gang);
  }
  state.announcer.Publish(gang, now);
  const Time due = state.announcer.due(gang);
  state.work.SetTellTimer(gang, due > now ? due : Time::Never());
}

void FollowUp(EngineState& state, Gang& gang, Time now) {
  state.announcer.Follow(gang, now);
  if (!gang.members.empty()) state.announcer.TellFault(gang, RunTimesOf(state, gang).fault);
  state.announcer.TellNotHonoured(gang);
  FollowScaleUp(state, gang, now);
  HandOverPods(state, gang, now);
  if (const std::optional<GangId> next = state.releases.Next(now))
    if (Gang* other = state.members.Find(*next)) state.work.Touch(*other);
  Tell(state, gang, now);
  state.work.SetTimer(gang, NextLook(state, gang, now));
}

// It runs no more, and not because all of its members had ended well.
bool FailedToLast(const Gang& gang) {
  if (gang.state == GangState::kFinished) return gang.tally.failed > 0;
  return !gang.past.running_since() && gang.minimum.members > 0;
}

int64_t SettleGang(EngineState& state, const GangId& id, Time now) {
  Gang* gang = state.members.Find(id);
  if (gang == nullptr) return 1;
  const int64_t cost = CostOf(*gang);
  const bool ran = gang->state == GangState::kRunning || gang->state == GangState::kDegraded;
  const bool ended_well = gang->state == GangState::kFinished && gang->tally.failed == 0;
  const std::optional<Time> since = gang->past.running_since();
  JudgeGang(state, *gang, now);
  if (since && FailedToLast(*gang)) NoteEnd(state, *gang, *since, now);
  if (ran && gang->state == GangState::kFinished && gang->past.running_since() &&
      gang->tally.failed == 0)
    state.run_history.Ran(*gang, now - *gang->past.running_since());
  FollowHolding(state, *gang);
  if (state.members.Ended(*gang)) {
    AwaitNextAttempt(state, *gang, now);
    if (ended_well) LeaveNothing(state, *gang);
    LeaveToOwner(state, *gang, now);
    EraseGang(state, *gang);
  } else {
    FollowUp(state, *gang, now);
  }
  return cost;
}

// One gang more; what that costs.
int64_t SweepOn(EngineState& state) {
  auto& [ns, sweep] = state.work.sweep();
  auto& gangs = state.members.gangs();
  const auto found =
      sweep.last ? gangs.upper_bound(*sweep.last) : gangs.lower_bound({{ns, ""}, false});
  if (found == gangs.end() || (!ns.empty() && found->first.key.ns != ns)) {
    state.work.EndSweep();
    return 1;
  }
  sweep.last = found->first;
  Gang& gang = found->second;
  const bool waits = !gang.queue->tried || state.preemptions.VictimsOf(gang.id) != nullptr;
  if (sweep.all || (sweep.waiting && waits)) {
    state.work.Touch(gang);
    return 1;
  }
  if (!sweep.waiting || gang.tally.bound == 0) return 1;
  if (Need(gang, Counting::kPresent) > 0) state.work.Touch(gang);
  return CostOf(gang);
}

}  // namespace

// Gangs that are told of under one lock: each costs some ten microseconds.
constexpr int64_t kMostTold = 64;

void TellDue(EngineState& state, Time now) {
  if (!state.work.told_all()) return;
  state.work.TellDue(kMostTold, now);
  while (const std::optional<GangId> id = state.work.NextTried()) {
    Gang* gang = state.members.Find(*id);
    if (gang == nullptr || state.work.Touched(*id)) continue;
    gang->reason = Reason(PendingQueue::ReasonOf(*gang));
    Tell(state, *gang, now);
  }
}

bool Settle(EngineState& state, Time now) {
  FollowOrders(state, now);
  SettleLeftOut(state, now);
  if (state.ever_fits.Follow(state.cluster, state.options.scheduler_names, now))
    state.queue.AnythingMayFit();
  int64_t left = kSlice;
  while (state.work.sweeping() && left > 0) left -= SweepOn(state);
  for (; left > 0; --left) {
    if (!state.work.TouchNextDue(now)) break;
  }
  while (left > 0) {
    const std::optional<GangId> id = state.work.NextTouched();
    if (!id && !AskEvictions(state, now)) break;
    if (id) left -= SettleGang(state, *id, now);
  }
  if (left <= 0) return false;
  while (left > 0) {
    const std::optional<GangId> id = state.work.NextTried();
    if (!id) break;
    Gang* gang = state.members.Find(*id);
    if (gang == nullptr) continue;
    gang->reason = Reason(PendingQueue::ReasonOf(*gang));
    FollowUp(state, *gang, now);
    left -= CostOf(*gang);
  }
  if (!state.work.told_all()) return false;
  if (state.work.settled()) WriteRequests(state, now);
  state.work.EndRounds();
  return true;
}

}  // namespace muster::engine
