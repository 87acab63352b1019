// BindingFaults, DeviceFaults: whether the pods of a node fit on it, by the API's objects alone.
// Pure functions, for the Auditor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"
#include "sim/api_server/records.hpp"

namespace muster::sim {

// Of a pod that was bound just now: it has the devices that it asked for, and the node has room for
// all. `pods`: all that are bound there, this one too; `node`: null: there is none.
std::vector<std::string> BindingFaults(const PodRecord& bound, const NodePtr& node,
                                       const std::map<cluster::PodUid, PodPtr>& pods);

// Of the devices that the new pod was given: no more of any is taken than there is. (How a device
// is shared may change under the pods that have it; nobody new must get it then.)
// `known`: the node as it was a moment ago, which is what Muster may still go by; null: as now.
std::vector<std::string> DeviceFaults(const PodRecord& fresh, const cluster::Node& node,
                                      const NodePtr& known,
                                      const std::map<cluster::PodUid, PodPtr>& pods);

}  // namespace muster::sim
