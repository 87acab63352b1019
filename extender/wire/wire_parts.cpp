#include "extender/wire/wire_parts.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kube/json/json_view.hpp"

namespace muster::extender {

using cluster::Ok;
using cluster::PodUid;
using cluster::Result;
using cluster::Status;
using kube::AppendJsonText;
using kube::Json;
using kube::JsonProblems;
using kube::JsonView;
using kube::JsonWriter;

namespace {

// Room made for names before they are seen; more names than that are as welcome, but move.
constexpr size_t kMostReserved = 16384;

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

}  // namespace

Status SkipValue(WireScanner& scan, const std::string& key) {
  const Result<Json> skipped = scan.Value(key);
  return skipped.ok() ? Status(Ok{}) : skipped.error();
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

VictimsByNode ReadVictimsByNode(const JsonView& map, NodesForm form) {
  VictimsByNode nodes;
  map.Members([&](std::string_view name, const JsonView& node) {
    nodes.emplace(std::string(name), ReadVictims(node, form));
  });
  return nodes;
}

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

}  // namespace muster::extender
