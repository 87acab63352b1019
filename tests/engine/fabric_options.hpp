// Options of an engine that knows blocks and racks.
#pragma once

#include "engine/contract/options.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::testing {

inline engine::Options WithFabric(engine::Options options = {}) {
  options.placement.fabric = BlocksAndRacks();
  return options;
}

}  // namespace muster::testing
