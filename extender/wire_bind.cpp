// Bind and Preempt: ExtenderBindingArgs and -Result, ExtenderPreemptionArgs and -Result.
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "extender/wire.hpp"
#include "kube/decode.hpp"
#include "kube/encode.hpp"
#include "kube/json_view.hpp"
#include "kube/json_writer.hpp"

namespace muster::extender {

using cluster::PodUid;
using cluster::Result;
using kube::Json;
using kube::JsonProblems;
using kube::JsonView;
using kube::JsonWriter;

namespace {

// Victims.Pods: pods or MetaPods, told apart by where the UID is.
Victims ReadVictims(const JsonView& node, NodesForm form) {
  Victims victims;
  const JsonView pods = node.GetAnyCase("Pods");
  pods.Items([&](const JsonView& pod) {
    if (form == NodesForm::kNames) {
      victims.pods.emplace_back(std::string(pod.GetAnyCase("UID").RequiredText()));
    } else {
      const JsonView metadata = pod.Get("metadata");
      victims.pods.emplace_back(std::string(metadata.Get("uid").RequiredText()));
    }
  });
  victims.pdb_violations =
      node.GetAnyCase("NumPDBViolations").Integer(0, 0, std::numeric_limits<int64_t>::max());
  return victims;
}

VictimsByNode ReadVictimsByNode(const JsonView& map, NodesForm form) {
  VictimsByNode nodes;
  map.Members([&](std::string_view name, const JsonView& node) {
    nodes.emplace(std::string(name), ReadVictims(node, form));
  });
  return nodes;
}

// {"<node>":{"Pods":[{"UID":"…"},…],"NumPDBViolations":0},…}
void AppendVictims(JsonWriter& json, const VictimsByNode& nodes) {
  json.BeginObject();
  for (const auto& [name, victims] : nodes) {
    json.TextKey(name).BeginObject().Key("Pods").BeginArray();
    for (const PodUid& pod : victims.pods) {
      json.BeginObject().Key("UID").Text(pod.text()).EndObject();
    }
    json.EndArray().Key("NumPDBViolations").Integer(victims.pdb_violations).EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string EncodeBindRequest(const engine::BindCall& call) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("PodName").Text(call.pod.name).Key("PodNamespace").Text(call.pod.ns);
  json.Key("PodUID").Text(call.uid.text()).Key("Node").Text(call.node).EndObject();
  return out;
}

Result<engine::BindCall> DecodeBindRequest(std::string_view body) {
  const Result<Json> json = Json::Parse(body, body.size(), "ExtenderBindingArgs");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView args(json->root(), "ExtenderBindingArgs", problems);
  engine::BindCall call;
  if (args.ExpectObject()) {
    call.pod.name = args.GetAnyCase("PodName").RequiredText();
    call.pod.ns = args.GetAnyCase("PodNamespace").RequiredText();
    call.uid = PodUid(std::string(args.GetAnyCase("PodUID").RequiredText()));
    call.node = args.GetAnyCase("Node").RequiredText();
  }
  if (!problems.none()) return problems.first();
  return call;
}

std::string EncodeBindReply(std::string_view error) {
  std::string out;
  JsonWriter(out).BeginObject().Key("Error").Text(error).EndObject();
  return out;
}

std::string BindErrorIn(std::string_view body) {
  const Result<Json> json = Json::Parse(body, body.size(), "ExtenderBindingResult");
  if (!json.ok()) return json.error().ToString();
  JsonProblems problems;
  const JsonView result(json->root(), "ExtenderBindingResult", problems);
  const JsonView error = result.GetAnyCase("Error");
  const std::string text(error.Text());
  return problems.none() ? text : problems.first().ToString();
}

Result<PreemptionArgs> DecodePreemptionArgs(std::string_view body) {
  const Result<Json> json = Json::Parse(body, body.size(), "ExtenderPreemptionArgs");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView args(json->root(), "ExtenderPreemptionArgs", problems);
  if (!args.ExpectObject()) return problems.first();
  const JsonView pod = args.GetAnyCase("Pod");
  const JsonView meta_victims = args.GetAnyCase("NodeNameToMetaVictims");
  const JsonView victims = args.GetAnyCase("NodeNameToVictims");
  if (!pod.present()) pod.Problem("is missing");
  if (meta_victims.present() && victims.present()) {
    args.Problem("expected NodeNameToVictims or NodeNameToMetaVictims, found both");
  }
  PreemptionArgs decoded;
  decoded.form = victims.present() ? NodesForm::kObjects : NodesForm::kNames;
  decoded.nodes = ReadVictimsByNode(victims.present() ? victims : meta_victims, decoded.form);
  if (!problems.none()) return problems.first();
  Result<cluster::Pod> preemptor = kube::DecodePod(pod.node());
  if (!preemptor.ok()) return preemptor.error();
  decoded.pod = std::move(*preemptor);
  return decoded;
}

std::string EncodePreemptionArgs(const cluster::Pod& pod, const VictimsByNode& nodes) {
  std::string out = "{\"Pod\":";
  kube::AppendPod(out, pod);
  out += ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":";
  JsonWriter json(out);
  AppendVictims(json, nodes);
  return out + "}";
}

std::string EncodePreemptionReply(const VictimsByNode& nodes) {
  std::string out = "{\"NodeNameToMetaVictims\":";
  JsonWriter json(out);
  AppendVictims(json, nodes);
  return out + "}";
}

Result<VictimsByNode> DecodePreemptionReply(std::string_view body) {
  const Result<Json> json = Json::Parse(body, body.size(), "ExtenderPreemptionResult");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView result(json->root(), "ExtenderPreemptionResult", problems);
  if (!result.ExpectObject()) return problems.first();
  VictimsByNode nodes =
      ReadVictimsByNode(result.GetAnyCase("NodeNameToMetaVictims"), NodesForm::kNames);
  if (!problems.none()) return problems.first();
  return nodes;
}

}  // namespace muster::extender
