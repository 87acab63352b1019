#include "engine/claims/booking_jobs.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/booking_look.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/judging/request.hpp"

namespace muster::engine {

using cluster::Placement;
using cluster::Time;

void EndBooking(ClaimState& state, const GangId& gang) {
  const Booking* booking = state.bookings.Of(gang);
  if (booking != nullptr && (!booking->kept.empty() || booking->turned_away))
    state.queue.AnythingMayFit();
  state.bookings.End(gang);
}

void NoteClosed(Gang& gang, Time now) {
  if (!gang.closed_since) gang.closed_since = now;
}

namespace {

// Closed room is open for as long as it was closed before: whether it is now, and when that
// changes.
std::pair<bool, Time> OpenUntil(const ClaimState& state, const Booking& booking, Time now) {
  const Gang* gang = state.members.Find(booking.gang);
  if (gang == nullptr || !booking.closed() || !gang->closed_since) return {false, Time::Never()};
  const int64_t each = TermsOfBookings(state, *gang).reserve_for.value();
  if (each <= 0) return {false, Time::Never()};
  const int64_t turns = (now - *gang->closed_since).value() / each;
  return {turns % 2 == 1, *gang->closed_since + cluster::Duration((turns + 1) * each)};
}

// Its time has come: it has a turn, whether or not anything became free just now.
void CallGang(ClaimState& state, const GangId& id) {
  Gang* gang = state.members.Find(id);
  if (gang == nullptr || !gang->pending()) return;
  state.queue.ForgetFailures();
  state.queue.Retry(*gang);
}

}  // namespace

void LookAtBookings(ClaimState& state, Time now) {
  if (!state.bookings.LookNeeded(state.cluster.generation(), now)) return;
  state.bookings.Count(now);
  Time due = Time::Never();
  for (const Booking& booking : std::vector<Booking>(state.bookings.all())) {
    Looked looked = LookAt(state, booking, false, now);
    due = std::min(due, looked.due);
    if (booking.at > now) due = std::min(due, booking.at);
    const auto [open, until] = OpenUntil(state, booking, now);
    due = std::min(due, until);
    if (state.bookings.SetOpen(booking.gang, open, until)) state.queue.AnythingMayFit();
    state.bookings.Look(booking.gang, std::move(looked.kept), looked.free, looked.sound);
    const bool starts = state.bookings.Of(booking.gang)->due(now);
    if (starts && state.bookings.Call(booking.gang)) CallGang(state, booking.gang);
  }
  state.bookings.LookedAt(state.cluster.generation(), due);
  state.kept_snapshots.Clear();
}

PlanJob SearchJob(ClaimState& state, const Gang& gang, BookingJob search, Time now) {
  search.growth = state.cluster.growth();
  PlanJob job;
  job.id = gang.id;
  job.version = gang.work->version;
  job.order = *gang.queue->order;
  job.request = RequestOf(state, gang, now);
  job.closed = ClosedTo(state, gang).nodes;
  job.shaped = ShapedFor(state, gang);
  job.snapshot = Without(state, OthersOf(state, gang));
  job.booking = std::make_shared<const BookingJob>(std::move(search));
  return job;
}

bool StillSearched(ClaimState& state, const PlanJob& job) {
  const Gang* gang = state.members.Find(job.id);
  return gang != nullptr && gang->pending() && gang->work->version == job.version &&
         state.cluster.TakeSnapshot()->layout() == job.snapshot->layout();
}

void SetRoom(const ClaimState& state, std::vector<Placement> room, Booking& booking) {
  booking.room = std::move(room);
  booking.nodes = {};
  booking.hosts.clear();
  for (const Placement& one : booking.room) {
    booking.nodes.Add(one.node);
    booking.hosts.push_back(state.cluster.node(one.node)->uid);
  }
}

}  // namespace muster::engine
