// Whether a pod or a PodGroup may be evicted for others, by whatever name its ecosystem gives that.
// For the decoders of kube/ only.
#pragma once

#include <optional>

#include "kube/json/json_view.hpp"

namespace muster::kube {

// These decide, first match first: annotation or label muster.dev/preemptible (true or false, else
// a problem); label or annotation kai.scheduler/preemptibility; annotation or label
// volcano.sh/preemptable. Nothing: none says anything that its system understands.
std::optional<bool> ReadPreemptible(const JsonView& labels, const JsonView& annotations);

// spec.preemptibility of KAI's PodGroups: non-preemptible and semi-preemptible are not. Of the
// latter KAI evicts members beyond the minimum, Muster none.
std::optional<bool> ReadPreemptibility(const JsonView& said);

}  // namespace muster::kube
