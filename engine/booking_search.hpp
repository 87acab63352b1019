// How bookings come, change and go (internal to engine/; R10, R15).
//
//   Follow      before a pass: ends bookings of gangs that do not wait for room any more, counts
//   what
//               was kept free, and looks again at what of the others' room is free
//   NextSearch  after a pass, or in it (booking_first.hpp): where room is to be looked for, for a
//   booking that broke, an earlier
//               time, or the next gang in order; nothing: nowhere
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

#include "engine/booking.hpp"
#include "engine/gang.hpp"
#include "policy/victims/later.hpp"

namespace muster::engine {

struct EngineState;
struct PlanJob;

// Of a PlanJob that looks for room to book.
struct BookingJob {
  struct End {
    cluster::Time at;
    cluster::GangId gang;
    queues::Trust by = queues::Trust::kNone;  // the weakest up to this one
  };
  // Who leaves, when that is known: one step and one end for each gang, in order of time.
  std::vector<policy::Leaving> steps;
  std::vector<End> ends;
  // Else, where nodes are to be closed: who is there. `level`: of which one domain is closed.
  bool closing = false;
  bool exchange = false;  // see booking_exchange.hpp
  std::vector<policy::BusyNode> busy;
  std::string level;
  uint64_t growth = 0;  // ClusterState::growth() of what is searched
};

inline constexpr cluster::Duration kAgain = cluster::Seconds(10);

void FollowBookings(EngineState& state, cluster::Time now);
// Brings up to date what of their room is free. Costs O(room) after a change of the cluster.
void LookAtBookings(EngineState& state, cluster::Time now);
// The gang was tried and finds no room. One that has closed room, all of which is free, has no use
// for it: something else keeps it from there by now.
void GiveUpRoom(EngineState& state, const PlanJob& job, cluster::Time now);
std::optional<PlanJob> NextSearch(EngineState& state, cluster::Time now);
// What `search` says, for that gang.
PlanJob SearchJob(EngineState& state, const Gang& gang, BookingJob search, cluster::Time now);
// The gang and the nodes are those for which it was searched.
bool StillSearched(EngineState& state, const PlanJob& job);
void SetRoom(const EngineState& state, std::vector<cluster::Placement> room, Booking& booking);
void CommitSearch(EngineState& state, const PlanJob& job, const policy::LaterAnswer& found,
                  cluster::Time now);

}  // namespace muster::engine
