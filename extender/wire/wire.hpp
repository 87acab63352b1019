// The extender protocol in bytes, Muster's side of it: JSON as kube-scheduler writes and reads it.
// Requests are decoded, replies encoded; the opposite, for those who play kube-scheduler, is in
// embedded/caller_wire.hpp. Pure functions, any thread.
//
// Reading follows Go's encoding/json: keys in upper or lower case, null for absent, unknown keys
// ignored. Beyond that, what is refused is listed in kube/json/json.hpp; so is a request with both,
// or neither, of NodeNames and Nodes. Writing uses Go's names and order of fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/extender_api.hpp"
#include "extender/wire/wire_values.hpp"

namespace muster::extender {

// ExtenderArgs, the request of Filter and Prioritize.
struct ExtenderArgs {
  engine::NodesQuestion question;
  NodesForm form = NodesForm::kNames;
  // With kObjects: the JSON of each node, in the order of question.nodes. Views into the body.
  std::vector<std::string_view> objects;
};
cluster::Result<ExtenderArgs> DecodeArgs(std::string_view body);

// ExtenderFilterResult. The planned node passes, if it was asked about; then nobody reads why
// others were refused, and the reply does not list them. Else every node of the question is
// refused. Nodes that came as objects go back as those very bytes.
std::string EncodeFilterReply(const ExtenderArgs& args, const engine::FilterAnswer& answer);
// The call failed: nothing passes, nothing is refused.
std::string EncodeFilterError(std::string_view error);
// HostPriorityList: a bare array of the planned node's score, if it was asked about; nodes that are
// left out have 0.
std::string EncodePrioritizeReply(const ExtenderArgs& args, const engine::PrioritizeAnswer& answer);

// ExtenderBindingArgs and ExtenderBindingResult.
cluster::Result<engine::BindCall> DecodeBindRequest(std::string_view body);
std::string EncodeBindReply(std::string_view error);

// ExtenderPreemptionArgs and ExtenderPreemptionResult. Victims come as UIDs or as whole pods, by
// the form of nodes; a reply always has UIDs.
struct PreemptionArgs {
  cluster::Pod pod;
  VictimsByNode nodes;
  NodesForm form = NodesForm::kNames;
};
cluster::Result<PreemptionArgs> DecodePreemptionArgs(std::string_view body);
std::string EncodePreemptionReply(const VictimsByNode& nodes);

}  // namespace muster::extender
