// Sweep: what is to be looked at in every gang, or in every gang of a namespace, and how far that
// has come (internal to engine/). A fact that concerns many gangs only notes a Sweep, and Settle
// goes through the gangs, some at a time. Plain values.
#pragma once

#include <optional>

#include "engine/contract/gang_view.hpp"

namespace muster::engine {

struct Sweep {
  bool all = false;                 // are judged again
  bool waiting = false;             // those that were not tried, or wait for victims, are
  std::optional<GangId> last = {};  // that was looked at

  // Another one joins it: both begin again.
  void Join(const Sweep& other) {
    all = all || other.all;
    waiting = waiting || other.waiting;
    last.reset();
  }
};

}  // namespace muster::engine
