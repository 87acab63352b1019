// What is kept or asked for, for gangs that wait (internal to engine/): bookings, nodes of
// autoscalers. Guarded by Scheduler's lock.
#pragma once

#include <utility>

#include "engine/booking.hpp"
#include "engine/bookings.hpp"
#include "engine/node_requests.hpp"
#include "engine/scale_ups.hpp"
#include "engine/standing_state.hpp"

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
