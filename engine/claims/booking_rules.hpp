// What bookings (R10, R15) and rooms that are kept for a restart (KeptRooms) mean for gangs
// (internal to engine/): who is kept off whose room. Reads the engine's state; what it changes is
// only what is remembered of it.
//
// A booking keeps a gang off the free part of its room unless
//
//   1. the gang goes before the booking's gang in order (GoesBefore)
//   2. it ends by the booking's time, if it starts now
//   3. it gets lost members back: they are of what ran before
//   4. the booking's gang may evict it when its time comes, and it loses little (R16)
//   5. something is kept for its restart: it was there before
//
// Room that is kept for a gang which asked for nodes (engine/claims/asked_rooms.hpp) keeps gangs
// off but for 1, 3 and 5. Room that is kept for a restart keeps off every gang but its own and
// those of higher priority in its queue.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/gangs/gang.hpp"
#include "engine/standing/booking.hpp"
#include "engine/standing/show.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

struct ClaimState;
struct KeptRoom;

// It was tried, and nothing but room keeps it from starting.
bool BlockedByRoom(const Gang& gang);
// For how long it has waited.
cluster::Duration Waited(const Gang& gang, cluster::Time now);

BookingNumbers KeptOff(ClaimState& state, const Gang& gang, cluster::Time now);
// Of a gang that waits as a whole: the first booking that it would go ahead of if it started now,
// where the two may use the same nodes. Not: of a gang behind it in its queue, nor one that would
// take more than its queue is guaranteed, unless the gang itself does. Null: none, or it has booked
// as well.
const Booking* AheadOf(ClaimState& state, const Gang& gang);
// backfill.maxPerUser: as many gangs of its namespace as its queue allows went ahead of bookings,
// and it would be one more; kNone: it may start.
Reason BackfillBar(ClaimState& state, const Gang& gang);

// The claimant may not have it evicted before (R8); not before `now`.
cluster::Time EvictableFrom(const ClaimState& state, const Gang& claimant, const Gang& gang,
                            cluster::Time now);
// The rule of order: room that is kept for `owner` binds those that come after it, nobody before
// it. In the same queue of the policy the gang comes before by higher priority: what is kept is a
// promise, and holds against older gangs of its priority, but for the rest of one that grows. Of
// another queue it does if it is within its queue's guarantee and `owner` is not. It also does if
// it may have `owner` evicted.
bool GoesBefore(ClaimState& state, const Gang& gang, const Gang& owner);
// The gang for which it is kept ran there: nobody else goes before it.
bool GoesBefore(const ClaimState& state, const Gang& gang, const KeptRoom& room);
// All that is kept for those that do not come after the gang, but for its own: room for it is
// looked for beside that.
BookingNumbers OthersOf(ClaimState& state, const Gang& gang);
// The cluster without what these keep.
std::shared_ptr<const cluster::Snapshot> Without(ClaimState& state, const BookingNumbers& bookings);
// All of it is free, and nothing of it kept.
bool FitsBeside(ClaimState& state, const BookingNumbers& bookings,
                const std::vector<cluster::Placement>& placements);
// Of these the first booking that has something free; null: none has.
const Booking* FirstOf(const ClaimState& state, const BookingNumbers& bookings);
// For people: the first of these that keeps something free; empty: none does.
std::string KeeperOf(const ClaimState& state, const BookingNumbers& bookings);
// Some of it is on devices, or in the room of pods, that these have booked.
bool Touches(const ClaimState& state, const BookingNumbers& bookings,
             const cluster::Placement& held);

// "gang a/b, which is to start by 2027-01-15T08:00:00Z (declared)".
std::string Describe(const Booking& booking);

// "2027-01-15T08:00:00Z"
// On what its time rests: "gang a/c leaves n0, n1".
std::string EvidenceOf(const ClaimState& state, const Booking& booking);

}  // namespace muster::engine
