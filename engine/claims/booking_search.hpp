// How bookings come, change and go (internal to engine/; R10, R15).
//
//   Follow      before a pass: ends bookings of gangs that do not wait for room any more, counts
//               what was kept free, and looks again at what of the others' room is free
//   NextSearch  after a pass, or in it (engine/claims/booking_first.hpp): where to look for room,
//               for a booking that broke, an earlier time, or the next gang in order; nothing:
//               nowhere
//   Commit      what was found, outside the lock
//
// A booking that broke before its gang has waited for `reserveAfter` is looked for anew. After that
// its room is closed instead, until it is free. A search is repeated when something became free,
// at most once in kAgain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/claims/booking_jobs.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/standing/booking.hpp"
#include "policy/victims/later.hpp"

namespace muster::engine {

struct ClaimState;
struct PlanJob;

void FollowBookings(ClaimState& state, cluster::Time now);
// The gang was tried and finds no room. One that has closed room, all of which is free, has no use
// for it: something else keeps it from there by now.
void GiveUpRoom(ClaimState& state, const PlanJob& job, cluster::Time now);
std::optional<PlanJob> NextSearch(ClaimState& state, cluster::Time now);
void CommitSearch(ClaimState& state, const PlanJob& job, const policy::LaterAnswer& found,
                  cluster::Time now);

// In a pass, before the next gang has its turn: where room is to be looked for first.
std::optional<PlanJob> NextFirst(ClaimState& state, cluster::Time now);

}  // namespace muster::engine
