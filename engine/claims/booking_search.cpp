#include "engine/claims/booking_search.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "engine/claims/booking_exchange.hpp"
#include "engine/claims/booking_first.hpp"
#include "engine/claims/booking_jobs.hpp"
#include "engine/claims/booking_look.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/judging/plan_job.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::NodeSet;
using cluster::Placement;
using cluster::Time;
using queues::BookingTerms;

namespace {

// As long as it was not tried again, what was found holds.
bool StillBooks(const ClaimState& state, const Gang& gang) {
  const bool whole = gang.tally.bound_of_muster == 0 && !gang.running();
  const bool untried = gang.pending() && whole && gang.state == GangState::kQueued &&
                       (!gang.queue->tried || gang.reason.code == ReasonCode::kNotTried);
  return (untried || BlockedByRoom(gang)) && TermsOfBookings(state, gang).depth > 0;
}

// Who leaves the nodes before that time, as far as is known. Gangs end by name: of those that end
// together the order is the same however they were learnt of. Costs what holds something there.
void AddLeavers(ClaimState& state, const Gang& gang, const NodeSet& useful, Time before, Time now,
                BookingJob& job) {
  const BookingNumbers others = OthersOf(state, gang);
  Leavers leavers(state, gang.id, now);
  std::map<std::pair<Time, GangId>, std::pair<policy::Leaving, queues::Trust>> ends;
  for (const NodeIndex index : useful.Nodes()) {
    for (const cluster::PodUid& uid : state.cluster.HoldersOn(index)) {
      const PlacedMember at = state.members.Find(uid);
      if (at.gang == nullptr || at.gang == &gang) continue;
      const KnownEnd end = leavers.EndOf(*at.gang, *at.member).known;
      const Placement& held = at.member->held()->placement;
      if (end.at >= before || Touches(state, others, held)) continue;
      auto& [leaving, by] = ends[{end.at, at.gang->id}];
      leaving.push_back(held);
      by = std::max(by, end.by);
    }
  }
  queues::Trust weakest = queues::Trust::kNone;
  for (auto& [at, leaving] : ends) {
    weakest = std::max(weakest, leaving.second);
    job.ends.push_back({at.first, at.second, weakest});
    job.steps.push_back(std::move(leaving.first));
  }
}

// Room that becomes free before that time.
PlanJob SearchBefore(ClaimState& state, const Gang& gang, Time before, Time now) {
  BookingJob search;
  AddLeavers(state, gang, state.classes.Of(gang, state.cluster), before, now, search);
  return SearchJob(state, gang, std::move(search), now);
}

PlanJob SearchToClose(ClaimState& state, const Gang& gang, Time now) {
  BookingJob search;
  const BookingNumbers others = OthersOf(state, gang);
  search.closing = true;
  search.level = TopologyOf(state, gang).required;
  search.busy = BusyNodes(
      state, gang.id, state.classes.Of(gang, state.cluster),
      [&](const Placement& held) { return !Touches(state, others, held); }, now);
  return SearchJob(state, gang, std::move(search), now);
}

// A booking that broke, or one that may be had earlier.
std::optional<PlanJob> SearchAgain(ClaimState& state, Time now) {
  const uint64_t growth = state.cluster.growth();
  for (const Booking& booking : std::vector<Booking>(state.bookings.all())) {
    Gang* booked = state.members.Find(booking.gang);
    if (booked == nullptr || !booked->pending()) continue;
    const Gang& gang = *booked;
    if (booking.sound) {
      const bool later = !booking.closed() && booking.searched_growth != growth &&
                         booking.searched_at + kAgain <= now;
      if (later) return SearchBefore(state, gang, booking.at, now);
      continue;
    }
    const bool waited = Waited(gang, now) >= TermsOfBookings(state, gang).reserve_after;
    if (!booking.closed() && waited && LookAt(state, booking, true, now).sound) {
      state.bookings.Close(booking.gang);
      NoteClosed(*booked, now);
      state.queue.AnythingMayFit();
      LookAtBookings(state, now);
      continue;
    }
    // What was found a moment ago broke already, or what is closed can never be free.
    if (booking.closed() || booking.searched_at == now) {
      EndBooking(state, booking.gang);
      const bool again = booking.closed() && booking.searched_at == now;
      state.bookings.Refuse(booking.gang, {now, state.cluster.generation(), again});
      continue;
    }
    return SearchBefore(state, gang, Time::Never(), now);
  }
  return std::nullopt;
}

// R10: of each class of nodes the first `depth` gangs in order that are blocked by room. One goes
// before them: of the highest priority the one that has waited longest, if for `reserveAfter`.
class NextInOrder {
 public:
  NextInOrder(ClaimState& state, Time now) : state_(state), now_(now) {
    const queues::Tree& tree = state.queue_book.tree();
    for (uint32_t i = 0; i < tree.size(); ++i)
      most_depth_ = std::max(most_depth_, tree.at(queues::QueueIndex{i}).bookings.depth);
    const std::shared_ptr<const cluster::Snapshot> snapshot = state.cluster.TakeSnapshot();
    for (NodeIndex index{0}; index.value < snapshot->size(); ++index.value)
      nodes_ += size_t{snapshot->node(index) != nullptr};
  }

  std::optional<PlanJob> Find() {
    for (const Booking& booking : state_.bookings.all()) taken_.push_back(booking.useful);
    if (VisitBefore() && !AllTaken() && VisitOverdue() && !AllTaken()) {
      state_.queue.Walk({[&](const Gang& first, Time since) { return MayEnter(first, since); },
                         [&](const Gang& gang) { return MayBookNow(gang); },
                         [&](const Gang& gang) { return Visit(gang); }});
    }
    state_.bookings.SetSearchDue(due_);
    return std::move(found_);
  }

 private:
  void WakeAt(Time time) {
    if (time > now_) due_ = std::min(due_, time);
  }

  // One of higher priority in the queue of a gang that has booked: that booking is no bar to it.
  // False: its room is to be looked for. The booking ends when it has some.
  bool VisitBefore() {
    for (const Booking& booking : state_.bookings.all()) {
      const Gang* owner = state_.members.Find(booking.gang);
      if (owner == nullptr || !owner->pending()) continue;
      const Gang* before = state_.queue.FirstBefore(*owner, [&](const Gang& gang) {
        if (!GivesWay(state_, booking, gang) || !Books(gang)) return false;
        if (Searches(gang)) return BookedBefore(gang) < TermsOf(gang).depth;
        WakeToSearch(gang);
        return false;
      });
      if (before == nullptr) continue;
      found_ = SearchFor(*before);
      return false;
    }
    return true;
  }

  // Of bookings that do not give way to it.
  int64_t BookedBefore(const Gang& gang) {
    const NodeSet useful = state_.classes.Of(gang, state_.cluster);
    return std::count_if(state_.bookings.all().begin(), state_.bookings.all().end(),
                         [&](const Booking& one) {
                           return one.useful.Meets(useful) && !GivesWay(state_, one, gang);
                         });
  }

  // That there is nothing known to book.
  bool Knows(const Gang& gang) const {
    const Unbookable* why = state_.bookings.WhyNot(gang.id);
    return why != nullptr &&
           (why->generation == state_.cluster.generation() || now_ < why->searched_at + kAgain);
  }

  // A search may find what is not known yet.
  bool Searches(const Gang& gang) {
    if (!Knows(gang)) return true;
    const bool close = Waited(gang, now_) >= TermsOf(gang).reserve_after;
    return close && !state_.bookings.WhyNot(gang.id)->closing;
  }

  PlanJob SearchFor(const Gang& gang) {
    return Knows(gang) ? SearchToClose(state_, gang, now_)
                       : SearchBefore(state_, gang, Time::Never(), now_);
  }

  // When that may be.
  void WakeToSearch(const Gang& gang) {
    const Unbookable& why = *state_.bookings.WhyNot(gang.id);
    if (why.generation != state_.cluster.generation()) WakeAt(why.searched_at + kAgain);
    WakeAt(*gang.course.queued_at + TermsOf(gang).reserve_after);
  }

  // Gangs come queue by queue.
  const BookingTerms& TermsOf(const Gang& gang) {
    if (!queue_ || *queue_ != gang.queue->queue) terms_ = TermsOfBookings(state_, gang);
    queue_ = gang.queue->queue;
    return terms_;
  }

  // A queue whose gangs are all too young, or may not book, is passed over as a whole.
  bool MayEnter(const Gang& first, Time since) {
    const BookingTerms& terms = TermsOf(first);
    if (terms.depth == 0 || since == Time::Never()) return false;
    if (now_ - since >= terms.min_age) return true;
    WakeAt(since + terms.min_age);
    return false;
  }

  bool Waits(const Gang& gang) const {
    return gang.course.queued_at && (BlockedByRoom(gang) || MayLackRoom(state_, gang));
  }

  // It waits for room, has none, and is old enough.
  bool Books(const Gang& gang) {
    if (!Waits(gang)) return false;
    if (state_.bookings.Of(gang.id) != nullptr) return false;
    const BookingTerms& terms = TermsOf(gang);
    if (terms.depth == 0) return false;
    if (Waited(gang, now_) >= terms.min_age) return true;
    WakeAt(*gang.course.queued_at + terms.min_age);
    return false;
  }

  bool MayBookNow(const Gang& gang) {
    if (&gang == overdue_ || !Books(gang)) return false;
    if (!Crowded(gang, TermsOf(gang).depth)) return true;
    NobodyBehind(gang);
    return false;
  }

  // Nobody behind it gets what it would have to have first: once for all that may use the same.
  void NobodyBehind(const Gang& gang) {
    NodeSet useful = state_.classes.Of(gang, state_.cluster);
    const bool known = std::any_of(shut_.begin(), shut_.end(), [&](NodeSet both) {
      const uint32_t count = both.count();
      both.Join(useful);
      return both.count() == count && useful.count() == count;
    });
    if (known) return;
    shut_.push_back(useful);
    taken_.push_back(std::move(useful));
    contenders_.clear();
  }

  // As many as may have booked of the nodes that it may use.
  bool Crowded(const Gang& gang, int64_t depth) {
    const cluster::PodSpec* only = gang.members.begin()->second.pod->spec.get();
    for (const auto& [uid, member] : gang.members) {
      if (member.pod->spec.get() != only) only = nullptr;
    }
    const auto known = only == nullptr ? contenders_.end() : contenders_.find(only);
    if (known != contenders_.end()) return known->second >= depth;
    const NodeSet useful = state_.classes.Of(gang, state_.cluster);
    const int64_t contenders = std::count_if(taken_.begin(), taken_.end(),
                                             [&](const NodeSet& one) { return one.Meets(useful); });
    if (only != nullptr) contenders_[only] = contenders;
    return contenders >= depth;
  }

  // Every node is taken as often as any queue's depth allows: nobody can book before one of them
  // is given back.
  bool AllTaken() const {
    return most_depth_ <= std::count_if(taken_.begin(), taken_.end(),
                                        [&](const NodeSet& one) { return one.count() >= nodes_; });
  }

  // Whoever has waited longest, for `reserveAfter` at least. True: on to the others.
  bool VisitOverdue() {
    const Gang* longest = nullptr;
    bool all = false;  // of the queue that is looked at
    const auto before = [](const Gang& a, const Gang& b) {
      return std::make_tuple(-int64_t{PriorityOf(a)}, *a.course.queued_at, a.id) <
             std::make_tuple(-int64_t{PriorityOf(b)}, *b.course.queued_at, b.id);
    };
    const auto enter = [&](const Gang& first, Time since) {
      all = since != Time::Never() && now_ - since >= TermsOf(first).reserve_after;
      return MayEnter(first, since);
    };
    const auto counts = [&](const Gang& gang) {
      return Waits(gang) && Waited(gang, now_) >= TermsOf(gang).min_age;
    };
    const auto look = [&](const Gang& gang) {
      if (longest == nullptr || before(gang, *longest)) longest = &gang;
      return all;
    };
    state_.queue.WalkEach({enter, counts, look});
    const bool books = longest != nullptr && Books(*longest) &&
                       !Crowded(*longest, TermsOf(*longest).depth) &&
                       Waited(*longest, now_) >= TermsOf(*longest).reserve_after;
    if (!books) return true;
    overdue_ = longest;
    return Visit(*longest);
  }

  // True: on to the next one.
  bool Visit(const Gang& gang) {
    if (Crowded(gang, TermsOf(gang).depth)) return true;
    if (Searches(gang)) {
      found_ = SearchFor(gang);
      return false;
    }
    if (state_.bookings.first()) return true;  // nobody knows yet whether it ever fits
    taken_.push_back(state_.classes.Of(gang, state_.cluster));
    contenders_.clear();
    WakeToSearch(gang);
    return !AllTaken();
  }

  ClaimState& state_;
  const Time now_;
  int64_t most_depth_ = 0;            // of any queue
  size_t nodes_ = 0;                  // of the cluster
  std::optional<std::string> queue_;  // of which `terms_` are
  BookingTerms terms_;
  const Gang* overdue_ = nullptr;  // it had its turn before the others
  std::vector<NodeSet> taken_;     // by bookings, and by those that have to book before others
  std::vector<NodeSet> shut_;      // of gangs that others of these keep from booking
  std::map<const cluster::PodSpec*, int64_t> contenders_;  // how many of those; looked up only
  Time due_ = Time::Never();
  std::optional<PlanJob> found_;
};

// It has the room of others that come after it: they look for other room. So do those that give way
// to it, where no more than its queue's depth may book. Who was overtaken before at this time looks
// again later.
void Overtake(ClaimState& state, const Gang& gang, const Booking& booking, Time now) {
  const BookingNumbers binding = OthersOf(state, gang);
  int64_t beside = TermsOfBookings(state, gang).depth - 1;
  for (const Booking& other : std::vector<Booking>(state.bookings.all())) {
    const bool bound = std::binary_search(binding.begin(), binding.end(), other.number);
    if (other.gang == gang.id || !other.useful.Meets(booking.useful)) continue;
    const bool over = GivesWay(state, other, gang) && beside <= 0;
    if (!bound && (over || other.nodes.Meets(booking.nodes))) {
      EndBooking(state, other.gang);
      if (state.bookings.Overtaken(other.gang, now))
        state.bookings.Refuse(other.gang, {now, state.cluster.generation(), true});
    } else {
      --beside;
    }
  }
}

// By evictions alone, which the gang plans by itself.
bool AtOnce(const PlanJob& job, const policy::LaterAnswer& found, Time now) {
  return !job.booking->closing && found.steps > 0 &&
         job.booking->ends[found.steps - 1].at <= now + cluster::Duration(1);
}

}  // namespace

void GiveUpRoom(ClaimState& state, const PlanJob& job, Time now) {
  LookAtBookings(state, now);
  const Booking* own = state.bookings.Of(job.id);
  const bool present = job.snapshot->generation() == state.cluster.generation();
  if (own == nullptr || !own->closed() || !own->due(now) || !present) return;
  EndBooking(state, job.id);
  // There may be other room as things are.
  state.bookings.Refuse(job.id, {.searched_at = now, .generation = 0, .closing = true});
}

void FollowBookings(ClaimState& state, Time now) {
  Bookings& bookings = state.bookings;
  bookings.Count(now);
  for (const Booking& booking : std::vector<Booking>(bookings.all())) {
    const Gang* gang = state.members.Find(booking.gang);
    const bool waits =
        gang != nullptr && StillBooks(state, *gang) && BookedFor(state, *gang) == booking.queue;
    if (!waits) {
      EndBooking(state, booking.gang);
    } else if (*gang->queue->order != booking.order) {  // it binds others than before
      bookings.Reorder(booking.gang, *gang->queue->order);
      state.queue.AnythingMayFit();
    }
  }
  for (auto at = bookings.refused().begin(); at != bookings.refused().end();) {
    const GangId id = (at++)->first;
    const Gang* gang = state.members.Find(id);
    if (gang == nullptr || !StillBooks(state, *gang)) bookings.Forget(id);
  }
  LookAtBookings(state, now);
}

std::optional<PlanJob> NextSearch(ClaimState& state, Time now) {
  if (!state.queue_book.tree().books()) return std::nullopt;
  state.queue_book.Follow(state.cluster);
  LookAtBookings(state, now);
  std::optional<PlanJob> job = SearchAgain(state, now);
  if (job) return job;
  return NextInOrder(state, now).Find();
}

void CommitSearch(ClaimState& state, const PlanJob& job, const policy::LaterAnswer& found,
                  Time now) {
  if (job.booking->exchange) return CommitExchange(state, job, found, now);
  if (!StillSearched(state, job)) return;
  Gang* gang = state.members.Find(job.id);
  const Booking* known = state.bookings.Of(job.id);
  const bool closing = job.booking->closing;
  // Where it fits as it is, it has its turn in order.
  const bool usable = found.placed && (closing || found.steps > 0) && !AtOnce(job, found, now);
  if (!usable) {
    if (state.bookings.first() && found.placed) return state.bookings.SetAside(job.id);
    if (known != nullptr && known->sound) {
      return state.bookings.Searched(job.id, now, state.cluster.growth());
    }
    if (known != nullptr) EndBooking(state, job.id);
    return state.bookings.Refuse(job.id, {now, state.cluster.generation(), closing});
  }
  Booking booking;
  booking.gang = job.id;
  booking.queue = BookedFor(state, *gang);
  booking.order = *gang->queue->order;
  if (!closing) {
    const BookingJob::End& end = job.booking->ends[found.steps - 1];
    booking.at = end.at;
    booking.by = end.by;
    booking.last = end.gang;
  }
  const bool keeps = known != nullptr && known->sound && known->at <= booking.at;
  if (keeps) return state.bookings.Searched(job.id, now, state.cluster.growth());
  if (known != nullptr) state.queue.AnythingMayFit();
  SetRoom(state, found.placements, booking);
  booking.useful = state.classes.Of(*gang, state.cluster);
  booking.searched_at = now;
  booking.searched_growth = state.cluster.growth();
  if (!booking.closed() && !gang->promised) gang->promised = booking.at;
  if (booking.closed()) NoteClosed(*gang, now);
  if (known != nullptr) booking.idle = known->idle;
  Overtake(state, *gang, booking, now);
  state.bookings.Grant(std::move(booking));
}

std::optional<PlanJob> NextFirst(ClaimState& state, Time now) {
  if (!state.bookings.first() && !state.bookings.owes()) return std::nullopt;
  // Each search costs as much as a plan.
  constexpr size_t kMostAside = 64;
  if (state.bookings.aside().size() < kMostAside) {
    if (std::optional<PlanJob> job = NextSearch(state, now)) return job;
  }
  state.bookings.EndFirst();
  state.bookings.Owe(false);
  return std::nullopt;
}

}  // namespace muster::engine
