// PodChecks: kube-scheduler's checks of a pod against the pods around it: NodePorts,
// PodTopologySpread, InterPodAffinity. Written after kube-scheduler's own code, looking at every
// pod for every node, and apart from policy/fit/pod_conditions.hpp, so that the two check each
// other. Internal to SchedulerCache.
//
// Labels of namespaces are not simulated: a namespaceSelector sees none.
#pragma once

#include <string>
#include <vector>

#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"

namespace muster::sim {

struct PodThere {
  const cluster::Pod* pod = nullptr;
  const cluster::Node* node = nullptr;
};

enum class PodBar { kNone, kPorts, kSpread, kSpreadLabel, kAffinity, kAntiAffinity, kExisting };

// `nodes`: all that there are. `there`: all other pods that have their nodes.
PodBar CheckPods(const cluster::Pod& pod, const cluster::Node& node,
                 const std::vector<const cluster::Node*>& nodes,
                 const std::vector<PodThere>& there);

}  // namespace muster::sim
