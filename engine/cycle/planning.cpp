#include "engine/cycle/planning.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/claims/booking_exchange.hpp"
#include "engine/claims/booking_first.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/booking_search.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/moves.hpp"
#include "engine/cycle/settle.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/preemption/verdict.hpp"
#include "queues/rights.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

// Whom the gang waits for under strict order; null: nobody. R11: the first one that may use some of
// the nodes, even if it is blocked itself.
const Gang* BlockerOf(EngineState& state, const Gang& gang) {
  const auto waits = [](const Gang& other) {
    return other.queue->tried && other.state == GangState::kQueued;
  };
  const cluster::NodeSet useful = state.classes.Of(gang, state.cluster);
  return state.queue.FirstBefore(gang, [&](const Gang& other) {
    return waits(other) && state.classes.Of(other, state.cluster).Meets(useful);
  });
}

// Under strict order, behind a gang that does not fit.
bool Blocked(EngineState& state, Gang& gang) {
  if (!StrictOrder(state, gang.queue->queue) || !StartsWhole(gang)) return false;
  if (KeptRoomOf(state, gang) != nullptr) return false;  // no other one may have that room
  const Gang* blocker = BlockerOf(state, gang);
  if (blocker == nullptr) return false;
  KindKey behind;
  behind.request.queue = gang.queue->queue;
  behind.blocked = true;
  std::map<uint64_t, int64_t> specs;
  for (const auto& [uid, member] : gang.members) specs[state.specs.IdOf(*member.pod->spec)] = 0;
  behind.request.roles.assign(specs.begin(), specs.end());
  Wait(state, gang, behind, GangState::kQueued,
       Because(ReasonCode::kBlockedByOrder, 0, 0, blocker->id.key.ToString()));
  return true;
}

// What others have booked is not the gang's.
void KeepOff(EngineState& state, const Gang& gang, PlanJob& job, Time now) {
  job.snapshot = state.cluster.TakeSnapshot();
  if (job.kept_off.empty()) return;
  LookAtBookings(state, now);
  if (KeeperOf(state, job.kept_off).empty()) return;  // nothing of it is free
  job.unkept = std::exchange(job.snapshot, Without(state, job.kept_off));
  if (gang.tally.bound_of_muster > 0) job.unkept = nullptr;
}

// Whose eviction would free nothing that others have booked.
KnownCandidates CandidatesBeside(EngineState& state, const Gang& gang,
                                 const BookingNumbers& kept_off, Time now) {
  KnownCandidates known = CandidatesFor(state, gang, now);
  if (kept_off.empty()) return known;
  for (VictimChoice& choice : known.choices) {
    choice = Without(choice, [&](const policy::Candidate& candidate) {
      return std::any_of(candidate.held.begin(), candidate.held.end(),
                         [&](const auto& held) { return Touches(state, kept_off, held); });
    });
  }
  return known;
}

// R3: the limits of its queues leave no room for it, and nobody whom it may have evicted would make
// some.
bool WaitsForQueue(EngineState& state, Gang& gang, PlanJob& job, bool preempts) {
  Reason over = OverQueue(state, gang, gang.queue->asks);
  if (over.code == ReasonCode::kNone) return false;
  const bool never = OverQueueAlone(state, gang);
  job.over_queue = true;
  const bool beyond = OverOwnGuarantee(state, gang).code != ReasonCode::kNone;
  if (preempts && !never && !beyond) return false;
  Wait(state, gang, KindOf(state, gang, job),
       never ? GangState::kUnsatisfiable : GangState::kQueued, std::move(over));
  return true;
}

// Slurm's bf_max_job_user.
bool WaitsForOthersOfUser(EngineState& state, Gang& gang, const PlanJob& job) {
  if (KeptRoomOf(state, gang) != nullptr) return false;
  Reason bar = BackfillBar(state, gang);
  if (bar.code == ReasonCode::kNone) return false;
  Wait(state, gang, KindOf(state, gang, job), GangState::kQueued, std::move(bar));
  return true;
}

// It has been complete for long enough to preempt others.
bool PastDelay(EngineState& state, const Gang& gang, Time now) {
  const QueueBook& book = state.queue_book;
  if (!gang.course.queued_at) return true;
  const cluster::Duration delay(book.tree().at(book.IndexOf(gang.queue->queue)).preemption.delay);
  const Time from = *gang.course.queued_at + delay;
  if (from > now) state.preemptions.WakeAt(from);
  return from <= now;
}

int64_t FreeGpuMilli(EngineState& state) {
  const std::shared_ptr<const cluster::Snapshot> snapshot = state.cluster.TakeSnapshot();
  int64_t free = 0;
  for (cluster::NodeIndex index{0}; index.value < snapshot->size(); ++index.value) {
    if (snapshot->node(index) != nullptr) free += snapshot->free().at(index).gpu_total();
  }
  return free;
}

// The cluster has fewer GPUs free than the gang asks for, and it can evict nobody: what its kind
// was told still holds, and need not be found out again.
bool StillTooFew(const EngineState& state, const Gang& gang) {
  const Kind* kind = gang.queue->kind;
  const bool told = kind != nullptr && kind->state == GangState::kQueued &&
                    kind->reason.code == ReasonCode::kNotEnoughGpus && StartsWhole(gang);
  if (!told || gang.queue->asks.gpu_milli <= state.free_gpu_milli ||
      StrictOrder(state, gang.queue->queue))
    return false;
  const KindKey& key = *state.queue.KeyOf(gang);
  const bool asked =
      state.ever_fits.Asked(key.request) ||
      (state.ever_fits.Asked(OfAnyQueue(key.request)) && ClosedTo(state, gang).nodes == nullptr);
  return asked && !MayPreempt(state, gang);
}

// The rest of a gang that grows waits for its queue: that is held, or at its limit.
bool RestWaitsForQueue(EngineState& state, Gang& gang, bool drains) {
  if (!AwaitsRest(gang, state.members.GroupOf(gang))) return false;
  Reason bar = drains ? HoldBar(state, gang) : OverQueue(state, gang, gang.queue->asks);
  if (bar.code == ReasonCode::kNone) return false;
  Wait(state, gang, std::nullopt, GangState::kDegraded, std::move(bar));
  return true;
}

// What is to be planned for the gang; nothing: what is known says that it waits.
std::optional<PlanJob> MakeJob(EngineState& state, Gang& gang, Time now) {
  if (Blocked(state, gang)) return std::nullopt;
  const bool whole = StartsWhole(gang);
  EverFits& ever_fits = state.ever_fits;
  PlanJob job;
  job.id = gang.id;
  job.version = gang.work->version;
  job.order = *gang.queue->order;
  job.request = RequestOf(state, gang, now);
  const bool drains = Drains(state, gang);
  if (drains) job.request.elastic.clear();
  if (RestWaitsForQueue(state, gang, drains)) return std::nullopt;
  if (job.request.required.empty() && job.request.elastic.empty()) return NoneIsWanted(state, gang);
  job.one_by_one = ComesBackOneByOne(gang, state.members.GroupOf(gang));
  job.all_there = AllThere(state, gang);
  if (job.one_by_one || !job.request.elastic.empty()) job.segments = SegmentRulesOf(state, gang);
  job.plain = Plain(state, job.request);
  const bool preempts = whole && ever_fits.Never(job.request.key) == nullptr &&
                        MayPreempt(state, gang) && PastDelay(state, gang, now);
  if (preempts) job.preempts_below = job.order.priority;
  job.plain = job.plain && !(preempts && MayPreemptFrom(state, gang)) &&
              state.refusals.Of(gang.id) == nullptr;
  job.kept_off = KeptOff(state, gang, now);
  if (whole && WaitsForOthersOfUser(state, gang, job)) return std::nullopt;
  if (whole && job.plain) {
    if (const Reason* failed =
            state.queue.Failed(job.request.key, job.preempts_below, job.kept_off)) {
      const bool never = failed->code == ReasonCode::kNeverFits;
      Wait(state, gang, KindOf(state, gang, job),
           never ? GangState::kUnsatisfiable : GangState::kQueued, *failed);
      return std::nullopt;
    }
  }
  if (whole && WaitsForQueue(state, gang, job, preempts)) return std::nullopt;
  job.closed = ClosedTo(state, gang).nodes;
  job.shaped = ShapedFor(state, gang);
  if (whole && job.plain && !DependsOnQueue(job)) {
    const Reason* failed = state.queue.Failed(OfAnyQueue(job.request.key), INT64_MIN, job.kept_off);
    if (failed != nullptr) {
      const bool never = failed->code == ReasonCode::kNeverFits;
      Wait(state, gang, KindOf(state, gang, job),
           never ? GangState::kUnsatisfiable : GangState::kQueued, *failed);
      return std::nullopt;
    }
  }
  KeepOff(state, gang, job, now);
  if (whole && ever_fits.Follow(state.cluster, state.options.scheduler_names, now))
    state.queue.AnythingMayFit();
  if (whole && !ever_fits.Asked(job.request.key)) job.empty = ever_fits.Room(*job.snapshot);
  job.basis = ever_fits.basis();
  job.fits_in = ever_fits.FitsIn(job.request.key);
  if (preempts) {
    job.candidates = CandidatesBeside(state, gang, job.kept_off, now);
    job.topology = TopologyOf(state, gang);
  }
  if (!whole) job.move = MoveJobOf(state, gang, job.request, now);
  return job;
}

// Gangs that are kept off whole nodes of other queues may have come to borrow, or the nodes may be
// others.
void RetryBesideShapes(EngineState& state) {
  for (const std::string& queue : state.shapes.TakeTurnedAway()) state.queue.RetryQueue(queue);
}

// Where gangs hold more than before: those that may have them evicted have a turn.
void RetryReclaims(EngineState& state) {
  const std::set<std::string> grown = state.queue.TakeGrown();
  if (grown.empty()) return;
  state.queue_book.Follow(state.cluster);
  const QueueBook& book = state.queue_book;
  for (const auto& entry : state.queue.queues()) {
    const std::string& waits = entry.first;
    const int64_t highest = entry.second;
    for (const std::string& grew : grown) {
      if (waits != grew) {
        if (MayClaim(book.ledger(), book.IndexOf(waits), book.IndexOf(grew)))
          state.queue.RetryQueue(waits);
        continue;
      }
      const queues::PreemptionSpec& says = book.tree().at(book.IndexOf(waits)).preemption;
      if (says.within_queue == queues::WithinQueue::kNever) continue;
      const auto holders = state.holdings.by_queue().find(grew);
      if (holders == state.holdings.by_queue().end()) continue;
      const int64_t lowest = holders->second.begin()->first.first;
      if (lowest < highest) state.queue.RetryQueue(waits, lowest);
    }
  }
}

}  // namespace

// Kinds that are looked at together before a pass: each costs about a microsecond under the lock.
constexpr int64_t kMostPassedOver = 2048;

Turn NextJob(EngineState& state, Time now) {
  const auto spread = [&] {
    return state.queue.PropagateVerdict(kSlice, [&](Gang& gang, const Kind& kind) {
      SetState(gang, kind.state, kind.reason);
      state.work.TriedInVain(gang.id);
    });
  };
  if (!spread()) return {};
  if (!state.stale_resources.empty()) return {true, std::nullopt};
  if (!state.queue.in_pass()) {
    state.candidates = {};
    RetryReclaims(state);
    RetryBesideShapes(state);
    state.free_gpu_milli = FreeGpuMilli(state);
    state.queue.Begin(state.cluster.growth());
    if (state.ever_fits.Follow(state.cluster, state.options.scheduler_names, now))
      state.queue.AnythingMayFit();
    state.queue_book.Follow(state.cluster);
    state.queue.PassOver(kMostPassedOver,
                         [&](const Gang& gang) { return StillTooFew(state, gang); });
  }
  if (std::optional<PlanJob> exchange = NextExchange(state, now))
    return {false, std::move(exchange)};
  for (int64_t looked = 0; looked < kSlice;) {
    if (std::optional<PlanJob> search = NextFirst(state, now)) return {false, std::move(search)};
    state.queue_book.Follow(state.cluster);
    Gang* gang = state.queue.Next();
    if (gang == nullptr) {
      std::optional<PlanJob> search = NextSearch(state, now);
      return {!search.has_value(), std::move(search)};
    }
    looked += CostOf(*gang);
    if (std::optional<PlanJob> job = MakeJob(state, *gang, now)) return {false, std::move(job)};
    NoteRefused(state, *gang, now);
    if (!spread()) break;
  }
  return {};
}

Time NextWake(const EngineState& state) {
  const bool now = !state.work.settled() || state.work.sweeping() ||
                   PassNeeded(state, Time(INT64_MIN)) || state.writes.has_actions() ||
                   state.ever_fits.Behind() || state.health.pending();
  if (now) return Time(0);
  Time timer = std::min({state.work.due(), state.health.due(), state.orders.due(),
                         state.kept_rooms.due(), state.requests.due()});
  if (state.stale_resources.empty()) timer = std::min(timer, state.bookings.due());
  if (state.queue.empty()) return timer;
  return std::min({timer, state.ever_fits.due(), state.queue_book.due(),
                   state.preemptions.wake().value_or(Time::Never())});
}

void FollowUse(EngineState& state, Time now) {
  QueueBook& book = state.queue_book;
  if (!book.Remember(state.cluster, now)) return;
  for (const auto& [waits, priority] : state.queue.queues()) {
    const queues::PreemptionSpec& says = book.tree().at(book.IndexOf(waits)).preemption;
    if (says.reclaim == queues::Reclaim::kFairShare) state.queue.RetryQueue(waits);
  }
}

bool PassNeeded(const EngineState& state, Time now) {
  return state.stale_resources.empty() &&
         (state.queue.PassNeeded(state.cluster.growth()) || state.bookings.SearchNeeded(now));
}

}  // namespace muster::engine
