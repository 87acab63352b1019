// Filter and Prioritize: ExtenderArgs, ExtenderFilterResult, HostPriorityList.
#include "extender/wire.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "extender/wire_scanner.hpp"
#include "kube/decode.hpp"
#include "kube/encode.hpp"
#include "kube/json_view.hpp"
#include "kube/json_writer.hpp"
#include "kube/kept_fields.hpp"

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

// Room made for names before they are seen; more names than that are as welcome, but move.
constexpr size_t kMostReserved = 16384;

// For a node that is refused without a reason of the engine's.
constexpr std::string_view kPlainRefusal = "muster: planned on another node";

Status SkipValue(WireScanner& scan, const std::string& key) {
  const Result<Json> skipped = scan.Value(key);
  return skipped.ok() ? Status(Ok{}) : skipped.error();
}

Status ReadPod(WireScanner& scan, std::optional<cluster::Pod>& pod) {
  const Result<kube::KeptObject> kept = scan.Object(kube::PodFields(), "Pod");
  if (!kept.ok()) return kept.error();
  Result<cluster::Pod> decoded = kube::DecodePod(kept->node(), kept->With({}));
  if (!decoded.ok()) return decoded.error();
  pod = std::move(*decoded);
  return Ok{};
}

Status ReadNames(WireScanner& scan, std::vector<std::string>& names) {
  return scan.Items([&]() -> Status {
    if (const std::optional<std::string_view> plain = scan.PlainText()) {
      // Names are of much the same length: room for all that may follow, so that they never move.
      if (names.empty()) {
        names.reserve(std::min(kMostReserved, 1 + scan.left() / (plain->size() + 3)));
      }
      names.emplace_back(*plain);
      return Ok{};
    }
    Result<std::string> name = scan.Text();
    if (!name.ok()) return name.error().At("NodeNames");
    names.push_back(std::move(*name));
    return Ok{};
  });
}

// Each node of a NodeList: its name, and its bytes.
Status ReadObjects(WireScanner& scan, std::vector<std::string>& names,
                   std::vector<std::string_view>& objects) {
  return scan.Members([&](const std::string& key) -> Status {
    if (key != "items") return SkipValue(scan, key);
    if (scan.TakeNull()) return Ok{};
    return scan.Items([&]() -> Status {
      const std::string place = "Nodes.items[" + std::to_string(names.size()) + "]";
      const Result<Json> json = scan.Value(place);
      if (!json.ok()) return json.error();
      JsonProblems problems;
      const JsonView node(json->root(), place, problems);
      const JsonView metadata = node.Get("metadata");
      names.emplace_back(metadata.Get("name").RequiredText());
      if (!problems.none()) return problems.first();
      objects.push_back(scan.LastValue());
      return Ok{};
    });
  });
}

size_t TotalSize(const std::vector<std::string>& texts) {
  size_t total = 0;
  for (const std::string& text : texts) total += text.size();
  return total;
}

void AppendNames(std::string& out, const std::vector<std::string>& names) {
  out += '[';
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != 0) out += ',';
    AppendJsonText(out, names[i]);
  }
  out += ']';
}

void AppendNodeList(std::string& out, const std::vector<std::string_view>& objects) {
  out += "{\"metadata\":{},\"items\":[";
  for (size_t i = 0; i < objects.size(); ++i) {
    if (i != 0) out += ',';
    out += objects[i];
  }
  out += "]}";
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

}  // namespace muster::extender
