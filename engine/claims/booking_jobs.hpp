// What searches for room to book have in common (internal to engine/; R10, R15).
#pragma once

#include <vector>

#include "engine/gangs/gang.hpp"
#include "engine/judging/plan_job.hpp"
#include "engine/standing/booking.hpp"

namespace muster::engine {

struct ClaimState;

inline constexpr cluster::Duration kAgain = cluster::Seconds(10);

// Brings up to date what of their room is free. Costs O(room) after a change of the cluster.
void LookAtBookings(ClaimState& state, cluster::Time now);
// What `search` says, for that gang.
PlanJob SearchJob(ClaimState& state, const Gang& gang, BookingJob search, cluster::Time now);
// The gang and the nodes are those for which it was searched.
bool StillSearched(ClaimState& state, const PlanJob& job);
void SetRoom(const ClaimState& state, std::vector<cluster::Placement> room, Booking& booking);

}  // namespace muster::engine
