// What a pod demands of its node and of the pods around it, as JSON. For the encoders of kube/
// only.
#pragma once

#include "cluster/records/pod.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

// nodeSelector, affinity, tolerations, topologySpreadConstraints.
void AppendConstraints(JsonWriter& json, const cluster::PodSpec& spec);
// "ports" of the container that has them.
void AppendHostPorts(JsonWriter& json, const cluster::PodRules& rules);

}  // namespace muster::kube
