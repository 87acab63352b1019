// DisruptionBudget: how many pods of a PodDisruptionBudget (policy/v1) may be evicted now. Whether
// one may go is for the eviction API to say; that a budget changed says when to ask again. Plain
// value, built by the decoders.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/selector.hpp"

namespace muster::cluster {

struct DisruptionBudget {
  DisruptionBudgetUid uid;
  ObjectKey key;
  // Of pods of its namespace. None at all: no pod; without requirements: every pod.
  std::optional<std::vector<SelectorRequirement>> selector;
  int64_t disruptions_allowed = 0;  // as the disruption controller last said
  int64_t resource_version = 0;
  auto operator<=>(const DisruptionBudget&) const = default;
};

}  // namespace muster::cluster
