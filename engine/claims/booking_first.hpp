// Who books before others start (internal to engine/; R10).
//
// 1. A gang that is refused for room and may book does so before those after it in order have their
//    turn. Else one that comes in the same instant would take what it is about to book.
// 2. Before the first plan of a process gangs that have waited for their minAge are looked at in
//    order, as if none of them started: those that find no room book. So a restart costs nobody a
//    booking: what another gang was kept off before is booked again before that gang is tried.
//    Gangs that fit as it is are passed over; so is, this once, one that finds nothing to book,
//    because nobody knows yet whether it ever fits.
#pragma once

#include <optional>

#include "engine/gangs/gang.hpp"
#include "engine/standing/booking.hpp"

namespace muster::engine {

struct ClaimState;
struct PlanJob;

// See 2: it waits, by its own queue it could start, and it was not tried in this process.
bool MayLackRoom(const ClaimState& state, const Gang& gang);
// The booking ends when the gang, which waits, is to book: that is of higher priority in its queue.
bool GivesWay(const ClaimState& state, const Booking& booking, const Gang& gang);
// The gang was tried just now.
void NoteRefused(ClaimState& state, const Gang& gang, cluster::Time now);

}  // namespace muster::engine
