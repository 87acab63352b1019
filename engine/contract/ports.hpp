// Ports: what the engine's surroundings must provide. kube/ and sim/ implement them; the engine
// knows neither.
#pragma once

#include <vector>

#include "engine/contract/actions.hpp"

namespace muster::engine {

// Carries out actions against an API server.
class ActionPort {
 public:
  virtual ~ActionPort() = default;
  // 1. Takes all actions except AnswerBind, which the caller keeps for the extender's open calls.
  // 2. May return before they are done; every action with an id gets exactly one Outcome, through
  //    Scheduler::Report, from any thread and possibly before this returns.
  // 3. Actions of one pod are done in order.
  virtual void Perform(const std::vector<Action>& actions) = 0;
};

}  // namespace muster::engine
