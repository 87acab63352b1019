// The extender protocol in bytes, kube-scheduler's side of it: requests are encoded, replies read
// as kube-scheduler reads them. For the embedded kube-scheduler, tests and benches; what Muster
// does is in extender/wire/wire.hpp. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/extender_api.hpp"
#include "extender/wire/wire.hpp"
#include "sim/calls/extender_port.hpp"

namespace muster::extender {

// ExtenderArgs, with node names.
std::string EncodeArgs(const engine::NodesQuestion& question);
// The same with Node objects: `objects` holds the JSON of each, in the order of question.nodes.
std::string EncodeArgs(const engine::NodesQuestion& question,
                       const std::vector<std::string_view>& objects);

// What kube-scheduler makes of a reply: in form kNames NodeNames go first, else, or when they are
// null, Nodes count; null twice is no node at all. Of a node in both maps
// FailedAndUnresolvableNodes wins.
cluster::Result<sim::FilterReply> DecodeFilterReply(std::string_view body, NodesForm form);

cluster::Result<sim::PrioritizeReply> DecodePrioritizeReply(std::string_view body);

std::string EncodeBindRequest(const engine::BindCall& call);
// The error that a reply carries; empty: bound. A reply that cannot be read is an error too.
std::string BindErrorIn(std::string_view body);

std::string EncodePreemptionArgs(const cluster::Pod& pod, const VictimsByNode& nodes);
cluster::Result<VictimsByNode> DecodePreemptionReply(std::string_view body);

}  // namespace muster::extender
