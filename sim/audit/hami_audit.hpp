// HamiFaults: whether HAMi's device plugin was told what Muster planned, and gave just that, by the
// API's objects alone. Pure functions, for the Auditor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"
#include "sim/api_server/records.hpp"

namespace muster::sim {

// Of a pod that was bound just now. The plugin hands out, container by container, all that the
// annotation lists; that has to be what was planned, and nobody else may be served at that time.
// `pods`: all that are bound there.
std::vector<std::string> HamiFaults(const PodRecord& bound, const cluster::Node& node,
                                    const std::map<cluster::PodUid, PodPtr>& pods);

// It gave the pod other devices than it was told; empty: it did not.
std::string HamiGaveOther(const PodRecord& pod);

}  // namespace muster::sim
