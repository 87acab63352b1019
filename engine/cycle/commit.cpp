#include "engine/cycle/commit.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/claims/booking_first.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/booking_search.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/handover.hpp"
#include "engine/cycle/moves.hpp"
#include "engine/cycle/setback.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/rank.hpp"
#include "engine/judging/evidence.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/evictions.hpp"
#include "engine/preemption/spared.hpp"
#include "engine/preemption/verdict.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

namespace {

// For kube-scheduler to change its mind. What never fits waits for nothing that it could say.
bool GoesBackToWait(EngineState& state, Gang& gang, const PlanJob& job, const PlanResult& result,
                    Time now) {
  const bool never = result.never_fits || state.ever_fits.Never(job.request.key) != nullptr;
  return StartsWhole(gang) && !never && WaitForEvidence(state, gang, now);
}

// `reason`: why not now.
void LearnWhetherEver(EngineState& state, const PlanJob& job, const PlanResult& result,
                      const Reason& reason) {
  if (job.empty == nullptr) return;
  const EverFits::Verdict verdict = {result.never_fits ? NeverFits(reason) : Reason{},
                                     result.fits_in};
  state.ever_fits.Learn(job.request.key, job.basis, verdict);
  if (job.closed == nullptr) state.ever_fits.Learn(OfAnyQueue(job.request.key), job.basis, verdict);
}

void Refuse(EngineState& state, Gang& gang, const PlanJob& job, const PlanResult& result,
            Time now) {
  // Only elastic members, or lost ones of which some are not there: room is not all that lacks.
  if (job.request.required.empty() || (job.one_by_one && !job.all_there)) {
    PendingQueue::Tried(gang);
    state.work.TriedInVain(gang.id);
    return;
  }
  if (GoesBackToWait(state, gang, job, result, now)) return;
  Reason reason = job.over_queue && !result.never_fits
                      ? OverQueue(state, gang, gang.queue->asks)
                      : FromShortage(result.shortage, result.never_fits, result.down);
  if (reason.code != ReasonCode::kNotEnoughGpus)
    reason.need = static_cast<int64_t>(job.request.required.size());
  const bool whole = gang.tally.bound_of_muster == 0;
  if (result.shielded && whole && !result.never_fits)
    reason = Because(
        job.candidates.shielded.by_budget ? ReasonCode::kDisruptionBudget : ReasonCode::kMinRuntime,
        0, job.candidates.shielded.gangs, job.candidates.shielded.Words());
  if (!whole && !gang.course.obstacle.empty()) reason.detail = gang.course.obstacle;
  // In the domain where they have to be.
  gang.course.cramped = !whole && gang.past.running_since() &&
                        (!result.shortage.limit.empty() || !result.shortage.segments.empty());
  if (gang.course.cramped && result.move) BeginMove(state, gang, *result.move, now);
  // Where it might go, its queue's limit of that model forbids it.
  if (whole && job.closed != nullptr && result.shortage.kept > 0 && !result.never_fits) {
    const Reason why = ClosedTo(state, gang).why;
    if (why.code != ReasonCode::kNone) reason = why;
  }
  if (result.on_shaped && !result.never_fits) {
    const Reason why = ShapeBar(state, gang);
    if (why.code != ReasonCode::kNone) reason = why;
    state.shapes.TurnedAway(QueueOf(gang));
  }
  if (whole) GiveUpRoom(state, job, now);
  if (whole && result.booked) {
    std::string keeper = KeeperOf(state, job.kept_off);
    if (!keeper.empty()) reason = Because(ReasonCode::kReserved, 0, 0, std::move(keeper));
    if (const Booking* first = FirstOf(state, job.kept_off)) state.bookings.TurnedAway(first->gang);
  }
  LearnWhetherEver(state, job, result, reason);
  const Reason* impossible = whole ? state.ever_fits.Never(job.request.key) : nullptr;
  const bool never = impossible != nullptr;
  if (never) reason = *impossible;
  const Reason of_any_queue = reason;
  if (whole && !never && job.candidates.known)
    reason.spared = SharedWords(WhyNotEnough(job.candidates));
  // Where something became free since, this holds until the pass is over: there will be another.
  if (whole && job.plain && !job.over_queue) {
    state.queue.Fail(job.request.key, job.preempts_below, reason, job.kept_off);
    if (!DependsOnQueue(job) && !result.booked)
      state.queue.Fail(OfAnyQueue(job.request.key), INT64_MIN, of_any_queue, job.kept_off);
  }
  const GangState waits = !whole  ? GangState::kDegraded
                          : never ? GangState::kUnsatisfiable
                                  : GangState::kQueued;
  Wait(state, gang, whole ? KindOf(state, gang, job) : std::nullopt, waits, std::move(reason));
  NoteRefused(state, gang, now);
}

// Of those that are planned, among all that have not ended.
void SetRanks(EngineState& state, Gang& gang) {
  std::vector<Member*> members;
  for (auto& [uid, member] : gang.members) {
    if (!member.pod->ending()) members.push_back(&member);
  }
  const std::vector<uint32_t> ranks = RanksOf({members.begin(), members.end()});
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i]->planned()) state.reservations.SetRank(*members[i], ranks[i]);
  }
}

// It starts ahead of a gang that has booked, and counts for its namespace.
void CountJump(EngineState& state, const Gang& gang) {
  if (!StartsWhole(gang)) return;
  if (TermsOfBookings(state, gang).max_per_user == 0) return;
  if (const Booking* over = AheadOf(state, gang))
    state.bookings.Jumped(gang.id, QueueOf(gang), over->gang);
}

// ClusterState has the plan's reservations, or its earmarks.
void Adopt(EngineState& state, Gang& gang, const PlanResult& result, Time now) {
  std::vector<Member*> planned;
  const auto plan = [&](const std::vector<cluster::Placement>& placements, bool required) {
    for (const cluster::Placement& placement : placements) {
      planned.push_back(&gang.members.at(placement.pod));
      SetPlan(state, *planned.back(), placement, required);
    }
  };
  plan(result.required, true);
  for (const std::vector<cluster::Placement>& batch : result.elastic) plan(batch, false);
  SetRanks(state, gang);
  CountJump(state, gang);
  if (state.shapes.any()) state.shapes.Note(gang.id);
  state.queue.Leave(gang);
  PendingQueue::Tried(gang);
  // What is left of a node that was kept is anybody's now.
  if (Replaces(state, gang) && !state.options.placement.fabric.reserve.empty())
    state.queue.AnythingMayFit();
  state.reservations.Adopt(gang, planned, now, now + ReservationTimeout(state, gang));
  gang.course.setback = {};
  gang.course.cramped = false;
  ++state.progress.gangs_planned;
  for (auto& [uid, member] : gang.members) {
    if (!member.planned()) continue;
    // Until the victims are gone only a nomination keeps their room, also where pods are pinned.
    if (!result.victims.empty()) {
      state.reservations.Nominated(member, member.pod->nominated_node == member.plan->node);
    }
    // Pods that were released before may wait where kube-scheduler does not look again by itself.
    if (!member.pod->gated_by_muster()) state.writes.MarkNeedsWake(member);
  }
  state.work.Touch(gang);
}

// Takes the elastic members from the plan that the limits of its queue leave no room for, segments
// as a whole. Lost members of a gang that runs come back whatever they are; those that it still is
// to grow by do not. kNone: the rest may be had.
Reason KeepWithinQueue(const EngineState& state, const Gang& gang, PlanResult& plan) {
  cluster::Usage taken = UsageOf(state, plan.required);
  if (StartsWhole(gang) || AwaitsRest(gang, state.members.GroupOf(gang))) {
    Reason over = OverQueue(state, gang, taken);
    if (over.code != ReasonCode::kNone) return over;
  }
  Reason last;
  std::erase_if(plan.elastic, [&](const std::vector<cluster::Placement>& batch) {
    cluster::Usage more = taken;
    more += UsageOf(state, batch);
    Reason over = OverQueue(state, gang, more);
    if (over.code == ReasonCode::kNone) {
      taken = std::move(more);
      return false;
    }
    last = std::move(over);
    return true;
  });
  return plan.required.empty() && plan.elastic.empty() ? last : Reason{};
}

void Place(EngineState& state, Gang& gang, const PlanJob& job, const PlanResult& result, Time now) {
  const std::vector<cluster::Placement> all = PlacementsOf(result);
  const bool same_layout = state.cluster.TakeSnapshot()->layout() == job.snapshot->layout();
  if (!job.kept_off.empty()) LookAtBookings(state, now);
  if (!same_layout || !FitsBeside(state, job.kept_off, all) || !state.cluster.Reserve(all).ok()) {
    return state.queue.Retry(gang);
  }
  Adopt(state, gang, result, now);
}

}  // namespace

void Commit(EngineState& state, const PlanJob& job, const PlanResult& result, Time now) {
  if (job.booking != nullptr) return CommitSearch(state, job, result.later, now);
  Gang* gang = state.members.Find(job.id);
  if (gang == nullptr || !gang->pending()) return;
  ++state.progress.gangs_tried;
  // It changed meanwhile, or somebody was faster: it has another turn.
  if (gang->work->version != job.version) return state.queue.Retry(*gang);
  if (!result.placed && result.move && !StillHolds(state, job, *result.move))
    return state.queue.Retry(*gang);
  if (!result.placed) return Refuse(state, *gang, job, result, now);
  std::optional<PlanResult> within;
  state.queue_book.Follow(state.cluster);
  if (result.victims.empty()) {
    const bool same_layout = state.cluster.TakeSnapshot()->layout() == job.snapshot->layout();
    if (!same_layout) return state.queue.Retry(*gang);
    Reason over = KeepWithinQueue(state, *gang, within.emplace(result));
    if (over.code != ReasonCode::kNone) {
      if (job.request.required.empty()) {
        NoneIsWanted(state, *gang);
      } else {
        const bool whole = StartsWhole(*gang);
        Wait(state, *gang, whole ? KindOf(state, *gang, job) : std::nullopt,
             whole ? GangState::kQueued : GangState::kDegraded, std::move(over));
      }
      return;
    }
  }
  if (!ShapesHold(state, *gang, PlacementsOf(within ? *within : result))) {
    state.shapes.NoExchange(gang->id);
    return state.queue.Retry(*gang);
  }
  if (!result.victims.empty()) {
    switch (Earmark(state, *gang, job, result, now)) {
      case Earmarked::kRefused:
        return Refuse(state, *gang, job, result, now);
      case Earmarked::kStale:
        return state.queue.Retry(*gang);
      case Earmarked::kDone:
        return Adopt(state, *gang, result, now);
    }
  }
  Place(state, *gang, job, within ? *within : result, now);
}

void SetPlan(EngineState& state, Member& member, cluster::Placement placement, bool required) {
  const std::string& node = state.cluster.node(placement.node)->name;
  const Pod& pod = *member.pod;
  const bool nominated =
      pod.nominated_node == node || member.writes->pinned_node == node || Pins(state.options, pod);
  state.reservations.Set(member, std::move(placement), required, nominated);
}

}  // namespace muster::engine
