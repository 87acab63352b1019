// NodeFilter: which nodes count for a placement.
#pragma once

namespace muster::policy {

// Whether nodes that are cordoned, not ready or left out count: a gang that would fit once they are
// back is not unsatisfiable. With kAll, the taints by which the control plane marks such nodes
// (node.kubernetes.io/unschedulable, not-ready, unreachable) are passed over as well.
enum class NodeFilter { kSchedulable, kAll };

}  // namespace muster::policy
