// Fabrics that several tests place gangs in.
#pragma once

#include "topology/fabric/fabric_options.hpp"

namespace muster::testing {

// One tree "dc": racks within blocks, by the node labels "rack" and "block".
inline topology::FabricOptions BlocksAndRacks() {
  return {{{"dc",
            topology::FabricPreset::kNone,
            {{"block", {"block"}, topology::Unlabelled::kOutside},
             {"rack", {"rack"}, topology::Unlabelled::kOutside}}}}};
}

}  // namespace muster::testing
