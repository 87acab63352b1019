// PriorityClass: what a priority is called, and whether pods with it may preempt. A pod says its
// priority itself (Kubernetes' Priority admission plugin); the class says it for those that are yet
// to come. Plain value, built by the decoders.
#pragma once

#include <cstdint>

#include "cluster/base/ids.hpp"

namespace muster::cluster {

struct PriorityClass {
  PriorityClassUid uid;
  ObjectKey key;  // without a namespace
  int32_t value = 0;
  bool preempts = true;         // false: preemptionPolicy Never
  bool global_default = false;  // of pods that name no class
  int64_t resource_version = 0;
  auto operator<=>(const PriorityClass&) const = default;
};

}  // namespace muster::cluster
