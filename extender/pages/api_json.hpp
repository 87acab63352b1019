// JSON of what the engine tells people, as the /v1 pages serve it and `muster get -o json` prints.
//
// Pure functions. Names are lowerCamel; times are seconds relative to `now` (the engine's clock has
// no date); absent values are left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "engine/scheduler.hpp"
#include "extender/wire/json_text.hpp"
#include "topology/links/node_topology.hpp"

namespace muster::extender {

// {"gangs": [{namespace, name, kind, state, reason{code, formerCode, message, have, need, detail,
// room{subgroup, level, domain, nodes, nodesWithRoom, gpusWanted, gpusFree, gpuNodes,
// gpusInCluster, membersThatFit, membersCounted, causes[{kind, nodes, name, gpus|cores|mebibytes:
// …Wanted, …FreeLeast, …FreeMost, …PerNode, bestNode}]}}, scaleUp (whether nodes are asked for,
// where the gang waits for room and the policy has scale-up), remainder (of elastic members that
// wait for a whole segment, a sentence), queue, priority, minMember, gpus, ageSeconds, pods, bound,
// succeeded, failed, attempts, waitedSeconds, startedSecondsAgo, deadlineInSeconds}]}, without
// members. `kind` is "Pod" for a gang of one pod that names none, else "PodGroup", of whatever
// flavour it is (Grove's PodGangs, too).
std::string GangsJson(const std::vector<engine::GangView>& gangs, cluster::Time now);
// One gang as above, with "turn", where it waits in a queue of the policy: {queue, position, of,
// and, where another queue goes first, at, ahead, aheadGang, aheadB, own, ownB} (engine::TurnView),
// with "wouldStartIf", where a change is known that would let it start: [{what, text,
// pods, gpus, nodes[{name, gpus}], taints[], gangs[]}]
// (engine::LeastChange), with "nobodyMakesWay" ["…"], where it waits for room, and with its plan:
//   "members": [{pod, uid, role, phase, gated, required, plannedNode, boundNode, gpus[index],
//     kubelet{outcome, predicted[index], choices}, ringGigabytesPerSecond, bindHeld}]
//   "rings", where the links of nodes are known: {members, slowest{pod, node,
//   ringGigabytesPerSecond}, fastest{…}} "fabric", where the policy names one: {levels[{tree,
//   level, domains[{name, members}],
//     crossings}], links, crossed[{tree, level, from, to, fromDomain, toDomain}], crossings}; where
//     the gang waits for a domain also level, wanted, domains, offers[{name, members}],
//     cheapestToFree{name, missing, blocked, gangs[], gangsInAll, gpus, pods[], podsInAll}
std::string GangJson(const engine::GangView& gang, const engine::GangFabric& fabric,
                     cluster::Time now, const std::optional<engine::TurnView>& turn = {},
                     const std::vector<engine::LeastChange>& changes = {},
                     const std::vector<std::string>& nobody_goes = {});
// {"nodes": [{name, ready, schedulable, cordoned, overcommitted, leftOut{endsInSeconds, why,
// gpus[index]}, cpuMilli, cpuMilliFree, memoryMiB, memoryMiBFree, podSlots, podSlotsFree, holders,
// gpus[{index, model, uuid, healthy, cordoned, freeGpus}]}]}
std::string NodesJson(const std::vector<engine::NodeView>& nodes, cluster::Time now);
// {"domains": [{tree, level, name, depth, nodes, freeNodes, keptNodes, gpus, freeGpus, slots}],
// "findings": ["…"]}; each domain is followed by those below it.
std::string FabricJson(const engine::FabricView& fabric);
// {"source", "profile", "anotherSize", "matrix": text that topology::ParseMachine reads,
// "megabytesPerSecond": {nvlink, pcie, …}}
std::string LinksJson(const topology::MachineFacts& facts);
// "preemption": who makes way, or made way, for a gang, by which right, and whom it may not have
// evicted: {madeSecondsAgo, nodes, gpusMilliAsked, victims[{gang, pods, gpusMilli, ranSeconds,
// right}], refused[]}
void AddPreemption(JsonText& json, const engine::Certificate& certificate, cluster::Time now);
// {"error": "…", "place": "…"}
std::string ErrorJson(const cluster::Error& error);

}  // namespace muster::extender
