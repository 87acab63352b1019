// Applied: what a fact did to what is known, see cluster_state.hpp. A plain value.
#pragma once

#include <string>

namespace muster::cluster {

// `replaced` is the UID (as text) of an object that lost its name to the new one (rule 3).
struct Applied {
  bool changed = false;
  std::string replaced;
};

}  // namespace muster::cluster
