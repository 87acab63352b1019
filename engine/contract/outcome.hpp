// Outcome: what became of an action (engine/contract/actions.hpp). Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace muster::engine {

// Unique within one Scheduler; answers carry it back.
struct ActionId {
  uint64_t value = 0;
  auto operator<=>(const ActionId&) const = default;
};

// What became of an action.
//   kDone      it is so now (also when it was so before)
//   kGone      the pod does not exist any more under that UID; the facts will say so, too
//   kConflict  the pod is in a state that forbids it (bound elsewhere, being deleted, gated, or its
//              PodDisruptionBudget lets nobody go)
//   kRetry     unknown or passing failure: the engine decides whether and when to try again
//   kRefused   forbidden by the API server's configuration: trying again soon is pointless
enum class OutcomeKind { kDone, kGone, kConflict, kRetry, kRefused };

struct Outcome {
  ActionId id;
  OutcomeKind kind = OutcomeKind::kDone;
  std::string message;
  // Of kRetry: it says nothing of this action. Another of its set may not be done, say, or the API
  // server is busy.
  bool not_tried = false;
};

}  // namespace muster::engine
