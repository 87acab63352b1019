// What searches for room to book have in common (internal to engine/; R10, R15).
#pragma once

#include <vector>

#include "engine/gangs/gang.hpp"
#include "engine/judging/plan_job.hpp"
#include "engine/standing/booking.hpp"

namespace muster::engine {

struct ClaimState;

inline constexpr cluster::Duration kAgain = cluster::Seconds(10);

// Finds out again what is free of each booking's room. Costs O(room) after a change of the cluster.
void LookAtBookings(ClaimState& state, cluster::Time now);
// The job that makes this search for the gang.
PlanJob SearchJob(ClaimState& state, const Gang& gang, BookingJob search, cluster::Time now);
// The gang and the nodes are still those for which the job searched.
bool StillSearched(ClaimState& state, const PlanJob& job);
// Gangs that it kept off may fit now.
void EndBooking(ClaimState& state, const GangId& gang);
// Nodes are closed for the gang; only the first time since it ran last is kept.
void NoteClosed(Gang& gang, cluster::Time now);
void SetRoom(const ClaimState& state, std::vector<cluster::Placement> room, Booking& booking);

}  // namespace muster::engine
