// What of a booking's room is free, who is there, and whether all of it will be free in time
// (internal to engine/).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "engine/judging/durations.hpp"
#include "engine/preemption/queue_rights.hpp"
#include "engine/standing/booking.hpp"
#include "policy/victims/later.hpp"

namespace muster::engine {

struct ClaimState;

// When pods leave their devices, as far as is known at one moment, and what the gang that waits for
// them may do about it.
class Leavers {
 public:
  Leavers(const ClaimState& state, const cluster::GangId& booked, cluster::Time now);

  struct End {
    KnownEnd known;
    bool evictable = false;  // R16: that is when it may be evicted
  };
  // Of a pod that holds something. Never: it stays, nobody knows, or it makes way for another gang.
  End EndOf(const cluster::PodUid& pod);
  End EndOf(const Gang& gang, const Member& member);
  // It leaves some time, for all that is known.
  bool Leaves(const cluster::PodUid& pod) const;

 private:
  End EndOf(const Gang& gang);

  const ClaimState& state_;
  const cluster::GangId& booked_;
  const cluster::Time now_;
  const Gang* claimant_ = nullptr;  // null: it evicts nobody
  std::optional<OnceStarted> rights_;
  std::unordered_map<const Gang*, End> known_;  // looked up only
};

struct Looked {
  bool free = true;   // all of the room is
  bool sound = true;  // all of the room will be free at the booking's time
  std::vector<cluster::Placement> kept;
  cluster::Time due = cluster::Time::Never();  // when that is to be looked at again
};
// As if it were `closed`, if that is asked.
Looked LookAt(ClaimState& state, const Booking& booking, bool closed, cluster::Time now);

// Of these nodes, those where pods are that `counts` and that leave some time.
std::vector<policy::BusyNode> BusyNodes(
    const ClaimState& state, const cluster::GangId& booked, const cluster::NodeSet& nodes,
    const std::function<bool(const cluster::Placement&)>& counts, cluster::Time now);

}  // namespace muster::engine
