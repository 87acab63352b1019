#include "cluster/records/pod.hpp"

#include <algorithm>

namespace muster::cluster {

const char* ToString(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
    case PodPhase::kUnknown:
      break;
  }
  return "Unknown";
}

bool Pod::gated_by_muster() const {
  return std::find(gates.begin(), gates.end(), kGangGate) != gates.end();
}

bool Pod::gated_by_others() const {
  return std::any_of(gates.begin(), gates.end(),
                     [](const std::string& gate) { return gate != kGangGate; });
}

}  // namespace muster::cluster
