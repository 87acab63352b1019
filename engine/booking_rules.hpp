// What bookings (R10, R15) and rooms that are kept for a restart (KeptRooms) mean for gangs
// (internal to engine/): who is kept off whose room. Reads the engine's state; what it changes is
// only what is remembered of it.
//
// A booking keeps a gang off the free part of its room unless
//
//   1. the gang ends by the booking's time, if it starts now
//   2. it gets lost members back: they are of what ran before
//   3. it is within its queue's guarantee, and the booking's gang, in another queue, is not within
//      its own
//   4. it may have the booking's gang evicted: it would as soon as that gang had started
//   5. the booking's gang may evict it when its time comes, and it loses little (R16)
//   6. something is kept for its restart: it was there before
//
// A room that is kept for a restart keeps off every gang but its own. One that is kept for a gang
// which asked for nodes (asked_rooms.hpp) keeps off those that do not go before it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/booking.hpp"
#include "engine/gang.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

struct EngineState;

// The queue of the policy for whose gang room is booked (R10): its namespace's queue is below that.
const std::string& BookedFor(const EngineState& state, const Gang& gang);
// Its queue's.
queues::BookingTerms TermsOfBookings(const EngineState& state, const Gang& gang);
// It was tried, and nothing but room keeps it from starting.
bool BlockedByRoom(const Gang& gang);
// For how long it has waited.
cluster::Duration Waited(const Gang& gang, cluster::Time now);

BookingNumbers KeptOff(EngineState& state, const Gang& gang, cluster::Time now);
// Of a gang that waits as a whole: the first booking that it would go ahead of if it started now,
// where the two may use the same nodes. Not: of a gang behind it in its queue, nor one that would
// take more than its queue is guaranteed, unless the gang itself does. Null: none, or it has booked
// as well.
const Booking* AheadOf(EngineState& state, const Gang& gang);
// backfill.maxPerUser: as many gangs of its namespace as its queue allows went ahead of bookings,
// and it would be one more; kNone: it may start.
Reason BackfillBar(EngineState& state, const Gang& gang);

// The claimant may not have it evicted before (R8); not before `now`.
cluster::Time EvictableFrom(const EngineState& state, const Gang& claimant, const Gang& gang,
                            cluster::Time now);
// Nodes that `other` asked for are no more its than the gang's: 3 and 4 above, or it is of higher
// priority in the same queue.
bool GoesBefore(EngineState& state, const Gang& gang, const Gang& other);
// All but its own.
BookingNumbers OthersOf(const EngineState& state, const Gang& gang);
// The cluster without what these keep.
std::shared_ptr<const cluster::Snapshot> Without(EngineState& state,
                                                 const BookingNumbers& bookings);
// All of it is free, and nothing of it kept.
bool FitsBeside(EngineState& state, const BookingNumbers& bookings,
                const std::vector<cluster::Placement>& placements);
// Of these the first booking that has something free; null: none has.
const Booking* FirstOf(const EngineState& state, const BookingNumbers& bookings);
// For people: the first of these that keeps something free; empty: none does.
std::string KeeperOf(const EngineState& state, const BookingNumbers& bookings);
// Some of it is on devices, or in the room of pods, that these have booked.
bool Touches(const EngineState& state, const BookingNumbers& bookings,
             const cluster::Placement& held);

// "gang a/b, which is to start by 2027-01-15T08:00:00Z (declared)".
std::string Describe(const Booking& booking);

std::string ShowTime(cluster::Time time);  // "2027-01-15T08:00:00Z"
// Of nodes: their names in order, a few of them.
std::string NamesOf(const EngineState& state, const cluster::NodeSet& nodes);
// On what its time rests: "gang a/c leaves n0, n1".
std::string EvidenceOf(const EngineState& state, const Booking& booking);

}  // namespace muster::engine
