// The queue that a pod or a PodGroup names, by whatever name its ecosystem gives that. For the
// decoders of kube/ only.
#pragma once

#include <string>
#include <string_view>

#include "kube/json/json_view.hpp"

namespace muster::kube {

// These decide, first match first: annotation or label muster.dev/queue; labels
// kueue.x-k8s.io/queue-name, kai.scheduler/queue; annotation or label
// scheduling.volcano.sh/queue-name. Empty: none is there.
std::string ReadQueueName(const JsonView& labels, const JsonView& annotations);

// spec.queue of Volcano's and KAI's PodGroups. Empty: it is not there, or has the name that these
// systems write where nobody names one ("default", "default-queue").
std::string ReadSpecQueue(const JsonView& spec);
std::string SpecQueue(std::string_view name);

}  // namespace muster::kube
