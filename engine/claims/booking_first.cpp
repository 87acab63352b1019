#include "engine/claims/booking_first.hpp"

#include "engine/claims/booking_jobs.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/judging/plan_job.hpp"
#include "engine/judging/queue_rules.hpp"
#include "engine/preemption/verdict.hpp"

namespace muster::engine {

using cluster::Time;

bool MayLackRoom(const ClaimState& state, const Gang& gang) {
  if (!state.bookings.first() || !gang.pending() || gang.queue->tried || !StartsWhole(gang))
    return false;
  const bool behind =
      StrictOrder(state, gang.queue->queue) && &state.queue.FirstBeside(gang) != &gang;
  return !behind && !state.bookings.aside().contains(gang.id) &&
         OverQueue(state, gang, gang.queue->asks).code == ReasonCode::kNone;
}

bool GivesWay(const ClaimState& state, const Booking& booking, const Gang& gang) {
  const Gang* owner = state.members.Find(booking.gang);
  return owner != nullptr && owner->pending() && owner->queue->queue == gang.queue->queue &&
         owner->queue->order->priority < gang.queue->order->priority;
}

void NoteRefused(ClaimState& state, const Gang& gang, Time now) {
  if (!BlockedByRoom(gang) || state.bookings.Of(gang.id) != nullptr) return;
  const queues::BookingTerms terms = TermsOfBookings(state, gang);
  if (terms.depth == 0 || Waited(gang, now) < terms.min_age) return;
  const bool close = Waited(gang, now) >= terms.reserve_after;
  if (const Unbookable* why = state.bookings.WhyNot(gang.id)) {
    const bool known =
        why->generation == state.cluster.generation() || now < why->searched_at + kAgain;
    if (known && (!close || why->closing)) return;
  }
  const cluster::NodeSet useful = state.classes.Of(gang, state.cluster);
  int64_t before = 0;  // so many have booked, or have to first
  for (const Booking& booking : state.bookings.all()) {
    if (useful.Meets(booking.useful) && !GivesWay(state, booking, gang)) ++before;
  }
  for (const auto& [id, why] : state.bookings.refused()) {
    const Gang* other = state.members.Find(id);
    if (other == nullptr || other == &gang || !BlockedByRoom(*other)) continue;
    before += state.classes.Of(*other, state.cluster).Meets(useful) ? 1 : 0;
  }
  if (before < terms.depth) state.bookings.Owe(true);
}

}  // namespace muster::engine
