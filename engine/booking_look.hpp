// What of a booking's room is free, and whether all of it will be in time (internal to engine/).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cluster/snapshot.hpp"
#include "engine/booking.hpp"
#include "engine/durations.hpp"

namespace muster::engine {

struct EngineState;

// When pods leave their devices, as far as is known at one moment.
class Leavers {
 public:
  Leavers(EngineState& state, const cluster::GangId& booked, cluster::Time now)
      : state_(state), booked_(booked), now_(now) {}

  // Of a pod that holds something. Never: it stays, nobody knows, or it makes way for another gang.
  KnownEnd EndOf(const cluster::PodUid& pod);
  // It leaves some time, for all that is known.
  bool Leaves(const cluster::PodUid& pod) const;

 private:
  const EngineState& state_;
  const cluster::GangId& booked_;
  const cluster::Time now_;
  std::map<cluster::GangId, KnownEnd> known_;
};

struct Looked {
  bool sound = true;  // all of the room will be free at the booking's time
  std::vector<cluster::Placement> kept;
  cluster::Time due = cluster::Time::Never();  // when that is to be looked at again
};
// As if it were `closed`, if that is asked.
Looked LookAt(EngineState& state, const Booking& booking, bool closed, cluster::Time now);

}  // namespace muster::engine
