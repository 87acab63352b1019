#include "engine/planning.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/booking_exchange.hpp"
#include "engine/booking_rules.hpp"
#include "engine/booking_search.hpp"
#include "engine/candidates.hpp"
#include "engine/engine_state.hpp"
#include "engine/evictions.hpp"
#include "engine/handover.hpp"
#include "engine/minimum.hpp"
#include "engine/moves.hpp"
#include "engine/queue_rules.hpp"
#include "engine/rank.hpp"
#include "engine/request.hpp"
#include "engine/setback.hpp"
#include "engine/settle.hpp"
#include "queues/rights.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

bool Whole(const Gang& gang) { return gang.tally.bound_of_muster == 0 && !gang.running(); }

// Whose fate it shares; nothing: nobody's. Under strict order the first one's is its own.
std::optional<KindKey> KindOf(const EngineState& state, const Gang& gang, const PlanJob& job) {
  const bool first =
      StrictOrder(state, gang.queue->queue) && &state.queue.FirstBeside(gang) == &gang;
  const bool turned_down =
      std::any_of(gang.members.begin(), gang.members.end(),
                  [](const auto& entry) { return !entry.second.plan->excluded.empty(); });
  const bool paused = state.preemptions.may_preempt_from(gang.id).has_value();
  if (!Whole(gang) || first || turned_down || paused) return std::nullopt;
  const bool counted = state.queue_book.on() && TermsOfBookings(state, gang).max_per_user > 0;
  return KindKey{job.request.key,       false,        gang.queue->order->priority,
                 Preempts(state, gang), job.kept_off, counted ? gang.id.key.ns : std::string()};
}

void Wait(EngineState& state, Gang& gang, const std::optional<KindKey>& kind, GangState waits,
          Reason reason) {
  PendingQueue::Tried(gang);
  state.work.TriedInVain(gang.id);
  if (kind) state.queue.Judge(gang, *kind, waits, reason);
  SetState(gang, waits, std::move(reason));
}

// Whom the gang waits for under strict order; null: nobody. R11: in a queue of the policy that is
// the first one that may use the same nodes, even if it is blocked itself.
const Gang* BlockerOf(EngineState& state, const Gang& gang) {
  const auto waits = [](const Gang& other) {
    return other.queue->tried && other.state == GangState::kQueued;
  };
  if (!state.queue_book.on()) {
    const Gang& first = state.queue.FirstBeside(gang);
    return &first != &gang && waits(first) ? &first : nullptr;
  }
  const cluster::NodeSet useful = state.classes.Of(gang, state.cluster);
  return state.queue.FirstBefore(gang, [&](const Gang& other) {
    return waits(other) && state.classes.Of(other, state.cluster).Meets(useful);
  });
}

// Under strict order, behind a gang that does not fit.
bool Blocked(EngineState& state, Gang& gang) {
  if (!StrictOrder(state, gang.queue->queue) || !Whole(gang)) return false;
  if (state.kept_rooms.Of(gang.id) != nullptr) return false;  // no other one may have that room
  const Gang* blocker = BlockerOf(state, gang);
  if (blocker == nullptr) return false;
  KindKey behind;
  behind.request.queue = gang.queue->queue;
  behind.blocked = true;
  if (state.queue_book.on()) {
    std::map<uint64_t, int64_t> specs;
    for (const auto& [uid, member] : gang.members) specs[state.specs.IdOf(*member.pod->spec)] = 0;
    behind.request.roles.assign(specs.begin(), specs.end());
  }
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

// It has all that it may have.
std::optional<PlanJob> NoneIsWanted(EngineState& state, Gang& gang) {
  PendingQueue::Tried(gang);
  state.work.TriedInVain(gang.id);
  return std::nullopt;
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
  if (state.kept_rooms.Of(gang.id) != nullptr) return false;
  Reason bar = BackfillBar(state, gang);
  if (bar.code == ReasonCode::kNone) return false;
  Wait(state, gang, KindOf(state, gang, job), GangState::kQueued, std::move(bar));
  return true;
}

// It has been complete for long enough that others may be evicted for it.
bool PastDelay(EngineState& state, const Gang& gang, Time now) {
  const QueueBook& book = state.queue_book;
  if (!book.on() || !gang.course.queued_at) return true;
  const cluster::Duration delay(book.tree().at(book.IndexOf(gang.queue->queue)).preemption.delay);
  const Time from = *gang.course.queued_at + delay;
  if (from > now) state.preemptions.WakeAt(from);
  return from <= now;
}

// What does not fit for one queue fits for none: nobody is evicted, and no node is closed to it.
policy::RequestKey OfAnyQueue(policy::RequestKey key) {
  key.queue = "*";  // no queue's name
  key.non_preemptible = false;
  return key;
}

bool DependsOnQueue(const PlanJob& job) {
  return job.preempts_below != INT64_MIN || job.closed != nullptr || job.shaped.shut != nullptr;
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
                    kind->reason.code == ReasonCode::kNotEnoughGpus && Whole(gang);
  if (!told || gang.queue->asks.gpu_milli <= state.free_gpu_milli ||
      StrictOrder(state, gang.queue->queue))
    return false;
  const KindKey& key = *state.queue.KeyOf(gang);
  const bool asked =
      state.ever_fits.Asked(key.request) ||
      (state.ever_fits.Asked(OfAnyQueue(key.request)) && ClosedTo(state, gang).nodes == nullptr);
  return asked && !MayPreempt(state, gang);
}

// What is to be planned for the gang; nothing: what is known says that it waits.
std::optional<PlanJob> MakeJob(EngineState& state, Gang& gang, Time now) {
  if (Blocked(state, gang)) return std::nullopt;
  const bool whole = Whole(gang);
  EverFits& ever_fits = state.ever_fits;
  PlanJob job;
  job.id = gang.id;
  job.version = gang.work->version;
  job.order = *gang.queue->order;
  job.request = RequestOf(state, gang, now);
  const bool drains = Drains(state, gang);
  if (drains) job.request.elastic.clear();
  if (AwaitsRest(gang, state.members.GroupOf(gang))) {
    Reason bar = drains ? HoldBar(state, gang) : OverQueue(state, gang, gang.queue->asks);
    if (bar.code != ReasonCode::kNone) {
      Wait(state, gang, std::nullopt, GangState::kDegraded, std::move(bar));
      return std::nullopt;
    }
  }
  if (job.request.required.empty() && job.request.elastic.empty()) return NoneIsWanted(state, gang);
  if (!job.request.elastic.empty()) job.segments = SegmentRulesOf(state, gang);
  job.plain = Plain(state, job.request);
  const bool preempts = whole && ever_fits.Never(job.request.key) == nullptr &&
                        MayPreempt(state, gang) && PastDelay(state, gang, now);
  if (preempts) job.preempts_below = job.order.priority;
  job.plain = job.plain && !(preempts && state.preemptions.may_preempt_from(gang.id));
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

void Refuse(EngineState& state, Gang& gang, const PlanJob& job, const PlanResult& result,
            Time now) {
  if (job.request.required.empty()) {  // only elastic members: the gang runs
    PendingQueue::Tried(gang);
    state.work.TriedInVain(gang.id);
    return;
  }
  Reason reason = job.over_queue && !result.never_fits
                      ? OverQueue(state, gang, gang.queue->asks)
                      : FromShortage(result.shortage, result.never_fits, result.down);
  if (reason.code != ReasonCode::kNotEnoughGpus)
    reason.need = static_cast<int64_t>(job.request.required.size());
  const bool whole = gang.tally.bound_of_muster == 0;
  if (result.shielded && whole && !result.never_fits)
    reason = Because(
        job.candidates.shielded.by_budget ? ReasonCode::kDisruptionBudget : ReasonCode::kMinRuntime,
        0, job.candidates.shielded.gangs, job.candidates.shielded.why);
  if (!whole && !gang.course.obstacle.empty()) reason.detail = gang.course.obstacle;
  // In the domain where they have to be.
  gang.course.cramped = !whole && gang.past.has_run() &&
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
  if (job.empty != nullptr) {
    const EverFits::Verdict verdict = {result.never_fits ? NeverFits(reason) : Reason{},
                                       result.fits_in};
    state.ever_fits.Learn(job.request.key, job.basis, verdict);
    if (job.closed == nullptr)
      state.ever_fits.Learn(OfAnyQueue(job.request.key), job.basis, verdict);
  }
  const Reason* impossible = whole ? state.ever_fits.Never(job.request.key) : nullptr;
  const bool never = impossible != nullptr;
  if (never) reason = *impossible;
  // Where something became free since, this holds until the pass is over: there will be another.
  if (whole && job.plain && !job.over_queue) {
    state.queue.Fail(job.request.key, job.preempts_below, reason, job.kept_off);
    if (!DependsOnQueue(job) && !result.booked)
      state.queue.Fail(OfAnyQueue(job.request.key), INT64_MIN, reason, job.kept_off);
  }
  const GangState waits = !whole  ? GangState::kDegraded
                          : never ? GangState::kUnsatisfiable
                                  : GangState::kQueued;
  Wait(state, gang, whole ? KindOf(state, gang, job) : std::nullopt, waits, std::move(reason));
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
  if (!state.queue_book.on() || !Whole(gang)) return;
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

// Gangs that are kept off whole nodes of other queues may have come to borrow, or the nodes may be
// others.
void RetryBesideShapes(EngineState& state) {
  for (const std::string& queue : state.shapes.TakeTurnedAway()) state.queue.RetryQueue(queue);
}

// Where gangs hold more than before: those that may have them evicted have a turn.
void RetryReclaims(EngineState& state) {
  const std::set<std::string> grown = state.queue.TakeGrown();
  if (grown.empty() || !state.queue_book.on()) return;
  state.queue_book.Follow(state.cluster);
  const QueueBook& book = state.queue_book;
  for (const auto& entry : state.queue.queues()) {
    const std::string& waits = entry.first;
    const int64_t highest = entry.second;
    const bool any = std::any_of(grown.begin(), grown.end(), [&](const std::string& grew) {
      if (waits != grew) return MayClaim(book.ledger(), book.IndexOf(waits), book.IndexOf(grew));
      const auto holders = state.holdings.by_queue().find(grew);
      return holders != state.holdings.by_queue().end() &&
             holders->second.begin()->first.first < highest;
    });
    if (any) state.queue.RetryQueue(waits);
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
    state.queue_book.Follow(state.cluster);
    Gang* gang = state.queue.Next(state.cluster.usage());
    if (gang == nullptr) {
      std::optional<PlanJob> search = NextSearch(state, now);
      return {!search.has_value(), std::move(search)};
    }
    looked += CostOf(*gang);
    if (std::optional<PlanJob> job = MakeJob(state, *gang, now)) return {false, std::move(job)};
    if (!spread()) break;
  }
  return {};
}

namespace {

// Takes the elastic members from the plan that the limits of its queue leave no room for, segments
// as a whole. Lost members of a gang that runs come back whatever they are; those that it still is
// to grow by do not. kNone: the rest may be had.
Reason KeepWithinQueue(const EngineState& state, const Gang& gang, PlanResult& plan) {
  cluster::Usage taken = UsageOf(state, plan.required);
  if (Whole(gang) || AwaitsRest(gang, state.members.GroupOf(gang))) {
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

std::vector<cluster::Placement> PlacementsOf(const PlanResult& result) {
  std::vector<cluster::Placement> all = result.required;
  for (const std::vector<cluster::Placement>& batch : result.elastic)
    all.insert(all.end(), batch.begin(), batch.end());
  return all;
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
  if (state.queue_book.on()) state.queue_book.Follow(state.cluster);
  if (state.queue_book.on() && result.victims.empty()) {
    const bool same_layout = state.cluster.TakeSnapshot()->layout() == job.snapshot->layout();
    if (!same_layout) return state.queue.Retry(*gang);
    Reason over = KeepWithinQueue(state, *gang, within.emplace(result));
    if (over.code != ReasonCode::kNone) {
      if (job.request.required.empty()) {
        NoneIsWanted(state, *gang);
      } else {
        const bool whole = Whole(*gang);
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
