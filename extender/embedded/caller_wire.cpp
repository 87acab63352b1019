#include "extender/embedded/caller_wire.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "extender/wire/wire_parts.hpp"
#include "kube/encode/encode.hpp"

namespace muster::extender {

using cluster::Ok;
using cluster::Result;
using cluster::Status;
using kube::Json;
using kube::JsonProblems;
using kube::JsonView;
using kube::JsonWriter;

namespace {

// The plain text of the next value; null is empty.
Result<std::string> TextOrNull(WireScanner& scan) {
  if (scan.TakeNull()) return std::string();
  return scan.Text();
}

// Adds the reasons of {"<node>":"<refusal>",…} up.
Status CountRefusals(WireScanner& scan, std::map<std::string, int64_t>& refused) {
  if (scan.TakeNull()) return Ok{};
  auto last = refused.end();
  return scan.Entries([&]() -> Status {
    const std::optional<std::string_view> plain = scan.PlainText();
    if (plain && last != refused.end() && last->first == *plain) {
      ++last->second;
      return Ok{};
    }
    std::string reason(plain.value_or(""));
    if (!plain) {
      Result<std::string> text = scan.Text();
      if (!text.ok()) return text.error();
      reason = std::move(*text);
    }
    last = refused.try_emplace(std::move(reason), 0).first;
    ++last->second;
    return Ok{};
  });
}

}  // namespace

std::string EncodeArgs(const engine::NodesQuestion& question) {
  std::string out;
  out.reserve(2048 + TotalSize(question.nodes) + 3 * question.nodes.size());
  out += "{\"Pod\":";
  kube::AppendPod(out, question.pod);
  out += ",\"Nodes\":null,\"NodeNames\":";
  AppendNames(out, question.nodes);
  out += '}';
  return out;
}

std::string EncodeArgs(const engine::NodesQuestion& question,
                       const std::vector<std::string_view>& objects) {
  std::string out = "{\"Pod\":";
  kube::AppendPod(out, question.pod);
  out += ",\"Nodes\":";
  AppendNodeList(out, objects);
  out += ",\"NodeNames\":null}";
  return out;
}

Result<sim::FilterReply> DecodeFilterReply(std::string_view body, NodesForm form) {
  sim::FilterReply reply;
  std::vector<std::string> object_names;
  std::vector<std::string_view> objects;
  bool names_given = false;
  WireScanner scan(body);
  if (scan.TakeNull()) return reply;
  Status read = scan.Members([&](const std::string& key) -> Status {
    if (key == "failednodes" || key == "failedandunresolvablenodes") {
      return CountRefusals(scan, reply.refused);
    }
    if (scan.TakeNull()) return Ok{};
    if (key == "nodenames") {
      names_given = true;
      return ReadNames(scan, reply.passed);
    }
    if (key == "nodes") return ReadObjects(scan, object_names, objects);
    if (key != "error") return SkipValue(scan, key);
    Result<std::string> error = TextOrNull(scan);
    if (!error.ok()) return error.error();
    reply.error = std::move(*error);
    return Ok{};
  });
  if (read.ok()) read = scan.End();
  if (!read.ok()) return read.error();
  if (form == NodesForm::kObjects || !names_given) reply.passed = std::move(object_names);
  return reply;
}

Result<sim::PrioritizeReply> DecodePrioritizeReply(std::string_view body) {
  const Result<Json> json = Json::Parse(body, body.size(), "HostPriorityList");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView list(json->root(), "HostPriorityList", problems);
  sim::PrioritizeReply reply;
  list.Items([&](const JsonView& item) {
    sim::NodeScore score;
    score.node = item.GetAnyCase("Host").Text();
    score.score = item.GetAnyCase("Score").Integer(0, INT64_MIN, INT64_MAX);
    reply.scores.push_back(std::move(score));
  });
  if (!problems.none()) return problems.first();
  return reply;
}

std::string EncodeBindRequest(const engine::BindCall& call) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("PodName").Text(call.pod.name).Key("PodNamespace").Text(call.pod.ns);
  json.Key("PodUID").Text(call.uid.text()).Key("Node").Text(call.node).EndObject();
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

std::string EncodePreemptionArgs(const cluster::Pod& pod, const VictimsByNode& nodes) {
  std::string out = "{\"Pod\":";
  kube::AppendPod(out, pod);
  out += ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":";
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
