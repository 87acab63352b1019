// Rules: decisions that options cannot express as numbers, or that no operator needs. Each has a
// default; the caller that constructs a Scheduler may plug in another one.
#pragma once

#include <memory>

#include "cluster/base/units.hpp"
#include "cluster/holdings/device_assigner.hpp"
#include "policy/domains/fabric_wish.hpp"

namespace muster::engine {

// None is null once a Scheduler has it. Shared and never changed.
struct Rules {
  std::shared_ptr<const cluster::DeviceAssigner> devices =
      std::make_shared<const cluster::LowestNumbered>();
  std::shared_ptr<const policy::Wishes> wishes = std::make_shared<const policy::FabricWishes>();
  // The Event on why a gang waits is repeated after this, as long as it waits: an API server keeps
  // Events for an hour. 0: nobody reads them, so it is not repeated, members get no message, and
  // what would be enough is not looked for.
  cluster::Duration tell_again = cluster::Seconds(1800);
};

}  // namespace muster::engine
