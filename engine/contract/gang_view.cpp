#include "engine/contract/gang_view.hpp"

namespace muster::engine {

const char* ToString(GangState state) {
  switch (state) {
    case GangState::kForming:
      return "Forming";
    case GangState::kQueued:
      return "Queued";
    case GangState::kReserved:
      return "Reserved";
    case GangState::kBinding:
      return "Binding";
    case GangState::kRunning:
      return "Running";
    case GangState::kFinished:
      return "Finished";
    case GangState::kBackoff:
      return "Backoff";
    case GangState::kDegraded:
      return "Degraded";
    case GangState::kInvalid:
      return "Invalid";
    case GangState::kForbidden:
      return "Forbidden";
    case GangState::kUnsatisfiable:
      return "Unsatisfiable";
    case GangState::kPreempting:
      return "Preempting";
  }
  return "Forming";
}

const char* ToString(queues::Trust trust) {
  switch (trust) {
    case queues::Trust::kNone:
      return "unknown";
    case queues::Trust::kEnforced:
      return "enforced";
    case queues::Trust::kDeclared:
      return "declared";
    case queues::Trust::kLearnt:
      break;
  }
  return "learnt";
}

}  // namespace muster::engine
