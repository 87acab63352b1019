// EngineState: the highest layer of state, with every owner (internal to engine/). A function takes
// the lowest layer that has what it needs. Guarded by Scheduler's lock. engine/README.md says who
// owns what.
#pragma once

#include <utility>

#include "engine/claims/claim_state.hpp"
#include "engine/contract/counts.hpp"

namespace muster::engine {

struct EngineState : ClaimState {
  explicit EngineState(Options given, Rules plugged = {})
      : ClaimState(std::move(given), std::move(plugged)) {}

  int64_t free_gpu_milli = 0;  // on all nodes, when the pass began
  Progress progress;           // of the Advance under way
};

}  // namespace muster::engine
