// ClaimState: the layer above StandingState (internal to engine/): room that is booked for gangs
// that wait, and nodes that are requested for them. Guarded by Scheduler's lock.
#pragma once

#include <utility>

#include "engine/claims/bookings.hpp"
#include "engine/claims/node_requests.hpp"
#include "engine/claims/scale_ups.hpp"
#include "engine/standing/booking.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

struct ClaimState : StandingState {
  explicit ClaimState(Options given, Rules plugged = {})
      : StandingState(std::move(given), std::move(plugged)) {}

  Bookings bookings;
  KeptSnapshots kept_snapshots;
  ScaleUps scale_ups;     // nodes that are asked for
  NodeRequests requests;  // by ProvisioningRequests
};

}  // namespace muster::engine
