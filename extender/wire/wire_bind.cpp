// Bind and Preempt: ExtenderBindingArgs and -Result, ExtenderPreemptionArgs and -Result.
#include <string>
#include <string_view>
#include <utility>

#include "extender/wire/wire_parts.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::extender {

using cluster::PodUid;
using cluster::Result;
using kube::Json;
using kube::JsonProblems;
using kube::JsonView;
using kube::JsonWriter;

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

std::string EncodePreemptionReply(const VictimsByNode& nodes) {
  std::string out = "{\"NodeNameToMetaVictims\":";
  JsonWriter json(out);
  AppendVictims(json, nodes);
  return out + "}";
}

}  // namespace muster::extender
