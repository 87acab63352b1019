// Filter and Prioritize: ExtenderArgs, ExtenderFilterResult, HostPriorityList.
#include "extender/wire/wire.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "extender/wire/wire_parts.hpp"
#include "extender/wire/wire_scanner.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using kube::AppendJsonText;
using kube::Json;
using kube::JsonProblems;
using kube::JsonView;

namespace {

// MaxExtenderPriority.
constexpr std::string_view kHighestScore = ",\"Score\":10}";

// For a node that is refused without a reason of the engine's.
constexpr std::string_view kPlainRefusal = "muster: planned on another node";

Status ReadPod(WireScanner& scan, std::optional<cluster::Pod>& pod) {
  const Result<kube::KeptObject> kept = scan.Object(kube::PodFields(), "Pod");
  if (!kept.ok()) return kept.error();
  Result<cluster::Pod> decoded = kube::DecodePod(kept->node(), kept->With({}));
  if (!decoded.ok()) return decoded.error();
  pod = std::move(*decoded);
  return Ok{};
}

bool AllPlain(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [](const std::string& text) {
    return kube::PlainJsonPrefix(text) == text.size();
  });
}

// {"<node>":"<refusal>",…} for every node.
void AppendRefused(std::string& out, const std::vector<std::string>& nodes,
                   std::string_view refusal) {
  std::string tail = ":";
  AppendJsonText(tail, refusal);
  out += '{';
  if (!AllPlain(nodes)) {
    for (const std::string& node : nodes) {
      if (out.back() != '{') out += ',';
      AppendJsonText(out, node);
      out += tail;
    }
    out += '}';
    return;
  }
  // Thousands of names that need no escaping: each is two copies into room made beforehand.
  tail = '"' + tail + ",\"";
  const size_t begin = out.size();
  out.resize(begin + 1 + TotalSize(nodes) + nodes.size() * tail.size());
  char* to = out.data() + begin;
  *to++ = '"';
  for (const std::string& node : nodes) {
    to += node.copy(to, node.size());
    to += tail.copy(to, tail.size());
  }
  const auto written = static_cast<size_t>(to - (out.data() + begin));
  // The last tail opened another name, and an empty list its first.
  out.resize(begin + (written == 1 ? 0 : written - 2));
  out += '}';
}

}  // namespace

Result<ExtenderArgs> DecodeArgs(std::string_view body) {
  ExtenderArgs args;
  std::optional<cluster::Pod> pod;
  std::vector<std::string> object_names;
  bool names_given = false;
  bool objects_given = false;
  WireScanner scan(body);
  Status read = scan.Members([&](const std::string& key) -> Status {
    if (scan.TakeNull()) return Ok{};
    if (key == "pod") return ReadPod(scan, pod);
    if (key == "nodenames") {
      names_given = true;
      return ReadNames(scan, args.question.nodes);
    }
    if (key == "nodes") {
      objects_given = true;
      return ReadObjects(scan, object_names, args.objects);
    }
    return SkipValue(scan, key);
  });
  if (read.ok()) read = scan.End();
  if (!read.ok()) return read.error();
  if (!pod) return Error{Code::kInvalidArgument, "is missing", "Pod"};
  if (names_given == objects_given) {
    return Error{Code::kInvalidArgument,
                 names_given ? "expected NodeNames or Nodes, found both"
                             : "expected NodeNames or Nodes, found neither",
                 ""};
  }
  args.question.pod = std::move(*pod);
  if (objects_given) {
    args.form = NodesForm::kObjects;
    args.question.nodes = std::move(object_names);
  }
  return args;
}

std::string EncodeFilterReply(const ExtenderArgs& args, const engine::FilterAnswer& answer) {
  if (!answer.error.empty()) return EncodeFilterError(answer.error);
  const std::vector<std::string>& nodes = args.question.nodes;
  const auto found =
      answer.node.empty() ? nodes.end() : std::find(nodes.begin(), nodes.end(), answer.node);
  const bool passes = found != nodes.end();
  const std::string_view refusal = answer.refusal.empty() ? kPlainRefusal : answer.refusal;
  std::string out;
  out.reserve(256 + (passes ? 0 : TotalSize(nodes) + nodes.size() * (refusal.size() + 6)));
  out += "{\"Nodes\":";
  if (args.form == NodesForm::kNames) {
    out += "null,\"NodeNames\":";
    AppendNames(out, passes ? std::vector<std::string>{*found} : std::vector<std::string>{});
  } else {
    const auto position = static_cast<size_t>(found - nodes.begin());
    AppendNodeList(out, passes ? std::vector<std::string_view>{args.objects[position]}
                               : std::vector<std::string_view>{});
    out += ",\"NodeNames\":null";
  }
  if (passes) {
    out += ",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{}";
  } else if (answer.resolvable) {
    out += ",\"FailedNodes\":";
    AppendRefused(out, nodes, refusal);
    out += ",\"FailedAndUnresolvableNodes\":{}";
  } else {
    out += ",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":";
    AppendRefused(out, nodes, refusal);
  }
  out += ",\"Error\":\"\"}";
  return out;
}

std::string EncodeFilterError(std::string_view error) {
  std::string out =
      "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":null,"
      "\"FailedAndUnresolvableNodes\":null,\"Error\":";
  AppendJsonText(out, error);
  return out + "}";
}

std::string EncodePrioritizeReply(const ExtenderArgs& args,
                                  const engine::PrioritizeAnswer& answer) {
  const std::vector<std::string>& nodes = args.question.nodes;
  std::string out = "[";
  if (std::find(nodes.begin(), nodes.end(), answer.node) != nodes.end()) {
    out += "{\"Host\":";
    AppendJsonText(out, answer.node);
    out += kHighestScore;
  }
  out += ']';
  return out;
}

}  // namespace muster::extender
