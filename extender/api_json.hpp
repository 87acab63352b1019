// JSON of what the engine tells people, as the /v1 pages serve it and `muster get -o json` prints.
//
// Pure functions. Names are lowerCamel; times are seconds relative to `now` (the engine's clock has
// no date); absent values are left out.
#pragma once

#include <string>
#include <vector>

#include "cluster/result.hpp"
#include "cluster/units.hpp"
#include "engine/scheduler.hpp"
#include "topology/node_topology.hpp"

namespace muster::extender {

// {"gangs": [{namespace, name, state, reason{code, message, …}, bound, …}]}, without members.
std::string GangsJson(const std::vector<engine::GangView>& gangs, cluster::Time now);
// One gang with its members and plan; where the policy names a fabric also "fabric": {levels[{tree,
// level, domains[{name, members}], crossings}], links, level, wanted, offers[{name, members}]}.
std::string GangJson(const engine::GangView& gang, const engine::GangFabric& fabric,
                     cluster::Time now);
// {"nodes": [{name, ready, gpus[{index, model, free}], cpuMilliFree, …}]}
std::string NodesJson(const std::vector<engine::NodeView>& nodes, cluster::Time now);
// {"domains": [{tree, level, name, depth, nodes, freeNodes, gpus, freeGpus, slots}], "findings":
// ["…"]}; each domain is followed by those below it.
std::string FabricJson(const engine::FabricView& fabric);
// {"source", "profile", "anotherSize", "matrix": text that topology::ParseMachine reads, "speeds":
// {nvlink, pcie, …} in MB/s}
std::string LinksJson(const topology::MachineFacts& facts);
// {"error": "…", "place": "…"}
std::string ErrorJson(const cluster::Error& error);

}  // namespace muster::extender
