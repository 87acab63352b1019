#include "engine/claims/booking_rules.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/claims/claim_state.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/judging/durations.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/preemption/queue_rights.hpp"
#include "engine/preemption/restart_window.hpp"
#include "queues/standing.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Placement;
using cluster::Snapshot;
using cluster::Time;

namespace {

// `room`: a Booking or a KeptRoom.
template <typename Room>
bool Has(const BookingNumbers& numbers, const Room& room) {
  return std::binary_search(numbers.begin(), numbers.end(), room.number);
}

// What it asks for is within the guarantee of its queue.
bool WithinGuarantee(const ClaimState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  return queues::StandingOf(book.ledger(), book.WrittenOf(QueueOf(gang)),
                            book.tree().Dense(gang.queue->asks))
      .within;
}

// Of another queue, where the queues between which the choice is go by priority.
bool OutranksAcross(const ClaimState& state, const Gang& gang, const Gang& owner) {
  const QueueBook& book = state.queue_book;
  const queues::Tree& tree = book.tree();
  const auto branches = tree.Diverge(book.IndexOf(QueueOf(gang)), book.IndexOf(QueueOf(owner)));
  if (!branches || tree.at(tree.at(branches->a).parent).fair()) return false;
  return PriorityOf(gang) > PriorityOf(owner);
}

// The queue of the one is within its guarantee with it, and that of the other is not; where they
// are equal, as their queues are ordered.
bool FirstAcross(const ClaimState& state, const Gang& gang, const Gang& owner) {
  const bool within = WithinGuarantee(state, gang);
  if (within != WithinGuarantee(state, owner)) return within;
  return OutranksAcross(state, gang, owner);
}

bool MayEvictIt(const ClaimState& state, const Gang& gang, const Gang& booked) {
  return Preempts(state, gang) && OnceStarted(state, gang).MayEvict(booked);
}

// R16. What it would lose is what it has done since its last checkpoint.
bool MayBorrow(const ClaimState& state, const Gang& gang, const Gang& booked, Time by, Time now) {
  return TermsOfBookings(state, booked).lend_to_evictable &&
         (RunTimesOf(state, gang).checkpoints || TermsOfBookings(state, gang).without_checkpoint) &&
         MayEvictIt(state, booked, gang) && EvictableFrom(state, booked, gang, now) <= by;
}

// It runs, or some of it does: its end does not depend on when the next member starts.
Time EndIfStarted(const ClaimState& state, const Gang& gang, Time now) {
  const bool holds = gang.tally.bound_of_muster > 0 || gang.running();
  return holds ? EndOf(state, gang, now).at : now + EstimateOf(state, gang, now).duration;
}

}  // namespace

bool BlockedByRoom(const Gang& gang) {
  const bool whole = gang.tally.bound_of_muster == 0 && !gang.running();
  if (!gang.pending() || !whole || !gang.queue->tried || gang.state != GangState::kQueued)
    return false;
  return LacksRoom(gang.reason.code);
}

Duration Waited(const Gang& gang, Time now) {
  return gang.course.queued_at ? now - *gang.course.queued_at : Duration(0);
}

Time EvictableFrom(const ClaimState& state, const Gang& claimant, const Gang& gang, Time now) {
  const QueueBook& book = state.queue_book;
  const queues::Tree& tree = book.tree();
  const queues::QueueIndex leaf = book.IndexOf(QueueOf(gang));
  const auto branches = tree.Diverge(book.IndexOf(QueueOf(claimant)), leaf);
  const Duration least(branches ? tree.at(branches->b).preemption.min_runtime_reclaim
                                : tree.at(leaf).preemption.min_runtime_preempt);
  return std::max(now, gang.past.running_since().value_or(now) + least);
}

namespace {

bool HoldsSomething(const Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    return entry.second.planned() || entry.second.holds();
  });
}

}  // namespace

const Booking* AheadOf(ClaimState& state, const Gang& gang) {
  if (state.bookings.none() || !gang.pending()) return nullptr;
  if (state.bookings.Of(gang.id) != nullptr) return nullptr;
  const cluster::NodeSet useful = state.classes.Of(gang, state.cluster);
  for (const Booking& booking : state.bookings.all()) {
    const Gang* booked = state.members.Find(booking.gang);
    if (booked == nullptr || booked == &gang || !booked->pending()) continue;
    if (!useful.Meets(booking.useful)) continue;
    if (BookedFor(state, gang) == booking.queue) {
      if (*gang.queue->order < *booked->queue->order) continue;
    } else if (FirstAcross(state, gang, *booked)) {
      continue;
    }
    return &booking;
  }
  return nullptr;
}

Reason BackfillBar(ClaimState& state, const Gang& gang) {
  const int64_t most = TermsOfBookings(state, gang).max_per_user;
  if (most == 0 || state.bookings.none()) return {};
  const int64_t ahead =
      state.bookings.CountJumpers(gang.id.key.ns, QueueOf(gang), [&](const GangId& id) {
        const Gang* other = state.members.Find(id);
        return other != nullptr && HoldsSomething(*other);
      });
  if (ahead < most) return {};
  const Booking* over = AheadOf(state, gang);
  if (over == nullptr) return {};
  Reason reason = Because(ReasonCode::kBackfillLimit, ahead, most,
                          Describe(*over) + "; backfill.maxPerUser of queue " +
                              BookedFor(state, gang) + " is " + std::to_string(most));
  state.bookings.TurnedAway(over->gang);
  return reason;
}

namespace {

void AddBookings(ClaimState& state, const Gang& gang, const cluster::NodeSet& useful, Time now,
                 BookingNumbers& numbers) {
  const Time end = EndIfStarted(state, gang, now);
  // Whose time has come and whose room is free starts there, and not in what others keep, be they
  // behind it. Only if its room and a later one overlap, because a node was made anew, does it look
  // elsewhere, too: else the two would wait for each other for ever.
  const Booking* own = state.bookings.Of(gang.id);
  const bool starts = own != nullptr && own->due(now) && own->free;
  for (const Booking& booking : state.bookings.all()) {
    if (starts && &booking >= own && !FitsBeside(state, {booking.number}, own->room)) continue;
    if (booking.open || booking.gang == gang.id || !useful.Meets(booking.nodes)) continue;
    if (!booking.closed() && end <= booking.at) continue;
    const Gang* booked = state.members.Find(booking.gang);
    if (booked == nullptr || GoesBefore(state, gang, *booked)) continue;
    if (MayBorrow(state, gang, *booked, booking.at, now)) continue;
    numbers.push_back(booking.number);
  }
}

}  // namespace

namespace {

// Of the same queue of the policy. The rest of a gang that grows cannot book: it goes before those
// behind it.
bool FirstInQueue(const ClaimState& state, const Gang& gang, const Gang& owner) {
  if (PriorityOf(gang) > PriorityOf(owner)) return true;
  return gang.pending() && owner.pending() && AwaitsRest(gang, state.members.GroupOf(gang)) &&
         *gang.queue->order < *owner.queue->order;
}

// Rooms that are kept for restarts, but for the gang's own, on these nodes (null: on any).
void AddKeptRooms(const ClaimState& state, const Gang& gang, const cluster::NodeSet* useful,
                  BookingNumbers& numbers) {
  const GangId across = AcrossAttempts(gang);
  for (const auto& [id, room] : state.kept_rooms.all()) {
    if (id == across || (useful != nullptr && !useful->Meets(room.nodes))) continue;
    if (!GoesBefore(state, gang, room)) numbers.push_back(room.number);
  }
}

}  // namespace

bool GoesBefore(const ClaimState& state, const Gang& gang, const KeptRoom& room) {
  return BookedFor(state, gang) == room.queue && PriorityOf(gang) > PriorityAt(state, room);
}

bool GoesBefore(ClaimState& state, const Gang& gang, const Gang& owner) {
  if (BookedFor(state, gang) == BookedFor(state, owner)) {
    if (FirstInQueue(state, gang, owner)) return true;
  } else if (FirstAcross(state, gang, owner)) {
    return true;
  }
  return MayEvictIt(state, gang, owner);
}

namespace {

// Rooms that are kept for gangs which asked for nodes.
void AddAskedRooms(ClaimState& state, const Gang& gang, const cluster::NodeSet& useful,
                   BookingNumbers& numbers) {
  if (!state.requests.keeps()) return;
  for (const auto& [key, request] : state.requests.all()) {
    if (request.room->number == 0 || request.ask.gang == gang.id) continue;
    if (!useful.Meets(request.room->nodes)) continue;
    const Gang* asker = state.members.Find(request.ask.gang);
    if (asker != nullptr && !GoesBefore(state, gang, *asker))
      numbers.push_back(request.room->number);
  }
}

}  // namespace

BookingNumbers KeptOff(ClaimState& state, const Gang& gang, Time now) {
  BookingNumbers numbers;
  const bool none = state.bookings.none() && state.kept_rooms.none() && !state.requests.keeps();
  if (none) return numbers;
  const cluster::NodeSet useful = state.classes.Of(gang, state.cluster);
  const bool ran_there = Replaces(state, gang) || KeptRoomOf(state, gang) != nullptr;
  if (!ran_there) AddBookings(state, gang, useful, now, numbers);
  if (!ran_there) AddAskedRooms(state, gang, useful, numbers);
  AddKeptRooms(state, gang, &useful, numbers);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

BookingNumbers OthersOf(ClaimState& state, const Gang& gang) {
  BookingNumbers numbers;
  const auto binds = [&](const GangId& owner) {
    if (owner == gang.id) return false;
    const Gang* other = state.members.Find(owner);
    return other == nullptr || !GoesBefore(state, gang, *other);
  };
  for (const Booking& booking : state.bookings.all()) {
    if (binds(booking.gang)) numbers.push_back(booking.number);
  }
  AddKeptRooms(state, gang, nullptr, numbers);
  for (const auto& [key, request] : state.requests.all()) {
    if (request.room->number != 0 && binds(request.ask.gang))
      numbers.push_back(request.room->number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

namespace {

// Takes what is free of the placement's devices, and its other room with that. Where nothing is
// free of devices that it has, somebody has come there already.
void TakeFree(const Snapshot& snapshot, Placement kept, cluster::FreeTable& free) {
  const cluster::Node* node = snapshot.node(kept.node);
  if (node == nullptr) return;
  const bool devices = !kept.gpus.empty();
  const auto left = free.gpus(kept.node);
  std::vector<cluster::GpuShare> shares;
  for (const cluster::GpuShare& share : kept.gpus) {
    for (size_t i = 0; i < left.size() && i < node->gpus.size(); ++i) {
      if (node->gpus[i].index != share.index) continue;
      const cluster::DeviceAmount taken = share.taken.AtMost(left[i]).AtLeast({});
      if (!taken.none()) shares.push_back({share.index, taken});
    }
  }
  kept.gpus = std::move(shares);
  if (!devices || !kept.gpus.empty()) free.Take(*node, kept);
}

}  // namespace

std::shared_ptr<const Snapshot> Without(ClaimState& state, const BookingNumbers& bookings) {
  std::shared_ptr<const Snapshot> now = state.cluster.TakeSnapshot();
  if (bookings.empty()) return now;
  std::shared_ptr<const Snapshot>& known = state.kept_snapshots.At(now->generation(), bookings);
  if (known != nullptr) return known;
  cluster::FreeTable free = now->free();
  for (const Booking& booking : state.bookings.all()) {
    if (!Has(bookings, booking)) continue;
    for (const Placement& kept : booking.kept) TakeFree(*now, kept, free);
  }
  for (const auto& [id, room] : state.kept_rooms.all()) {
    if (!Has(bookings, room)) continue;
    for (const Placement& kept : room.placements) TakeFree(*now, kept, free);
  }
  for (const auto& [key, request] : state.requests.all()) {
    if (!Has(bookings, *request.room)) continue;
    for (const Placement& kept : request.room->placements) TakeFree(*now, kept, free);
  }
  known = std::make_shared<const Snapshot>(now->nodes(), std::move(free), now->generation(),
                                           now->layout(), nullptr, now->pods());
  return known;
}

const Booking* FirstOf(const ClaimState& state, const BookingNumbers& bookings) {
  const std::vector<Booking>& all = state.bookings.all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Booking& booking) {
    return Has(bookings, booking) && !booking.kept.empty();
  });
  return found == all.end() ? nullptr : &*found;
}

std::string KeeperOf(const ClaimState& state, const BookingNumbers& bookings) {
  if (const Booking* first = FirstOf(state, bookings)) return Describe(*first);
  for (const auto& [id, room] : state.kept_rooms.all()) {
    if (Has(bookings, room)) return Describe(room);
  }
  for (const auto& [key, request] : state.requests.all()) {
    if (Has(bookings, *request.room)) return Describe(request);
  }
  return {};
}

bool FitsBeside(ClaimState& state, const BookingNumbers& bookings,
                const std::vector<Placement>& placements) {
  if (bookings.empty()) return true;
  const std::shared_ptr<const Snapshot> left = Without(state, bookings);
  cluster::FreeTable free = left->free();
  return std::all_of(placements.begin(), placements.end(), [&](const Placement& one) {
    const cluster::Node& node = *left->node(one.node);
    const bool fits = free.Fits(node, one);
    if (fits) free.Take(node, one);
    return fits;
  });
}

bool Touches(const ClaimState& state, const BookingNumbers& bookings, const Placement& held) {
  const auto overlaps = [&](const Placement& room) {
    if (room.node != held.node) return false;
    return std::any_of(room.gpus.begin(), room.gpus.end(), [&](const auto& booked) {
      return std::any_of(held.gpus.begin(), held.gpus.end(),
                         [&](const auto& one) { return one.index == booked.index; });
    });
  };
  const auto booked = [&](const Booking& booking) {
    return Has(bookings, booking) && booking.nodes.Contains(held.node) &&
           std::any_of(booking.room.begin(), booking.room.end(), overlaps);
  };
  const auto kept = [&](const auto& entry) {
    const KeptRoom& room = entry.second;
    return Has(bookings, room) && room.nodes.Contains(held.node) &&
           std::any_of(room.placements.begin(), room.placements.end(), overlaps);
  };
  const auto asked = [&](const auto& entry) {
    const AskedRoom& room = *entry.second.room;
    return Has(bookings, room) && room.nodes.Contains(held.node) &&
           std::any_of(room.placements.begin(), room.placements.end(), overlaps);
  };
  return std::any_of(state.bookings.all().begin(), state.bookings.all().end(), booked) ||
         std::any_of(state.kept_rooms.all().begin(), state.kept_rooms.all().end(), kept) ||
         std::any_of(state.requests.all().begin(), state.requests.all().end(), asked);
}

std::string Describe(const Booking& booking) {
  const std::string who = "gang " + booking.gang.key.ToString();
  if (booking.closed()) return who + ", which starts when those who run there have ended";
  return who + ", which is to start by " + ShowTime(booking.at) + " (" + ToString(booking.by) + ")";
}

std::string EvidenceOf(const ClaimState& state, const Booking& booking) {
  const std::string where = NamesOf(state.cluster, booking.nodes);
  if (!booking.closed())
    return "gang " + booking.last.key.ToString() + " is the last to leave " + where;
  const std::string turns = ShowTime(booking.turns_at);
  std::string text = booking.open ? "others may come to " + where + " until " + turns +
                                        ", then no more until those there have ended"
                                  : "no others come to " + where + " until those there have ended";
  if (!booking.open && booking.turns_at != Time::Never())
    text += ", or until " + turns + ": then they may for as long";
  const int64_t hours = booking.idle / cluster::Seconds(3600).value();
  if (hours > 0) text += "; " + std::to_string(hours) + " GPU hours were kept idle for it";
  return text;
}

}  // namespace muster::engine
