#include "kube/dialects/gang_record.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::GangRecord;
using cluster::Headcount;
using cluster::Result;
using cluster::Time;

namespace {

constexpr const char* kEvicted = "evicted=true";
constexpr size_t kMaxTag = 8;
constexpr size_t kMaxOwners = 64;  // more than Muster writes

void AppendHeads(std::string& text, std::string_view name, const Headcount& heads) {
  const auto add = [&](std::string_view role, int64_t count) {
    text.append(text.empty() ? "" : " ").append(name);
    if (!role.empty()) text.append("/").append(role);
    text.append("=").append(std::to_string(count));
  };
  add("", heads.members);
  for (const auto& [role, count] : heads.roles) {
    // A name that would not come back as it was; its members count without it.
    if (role.empty() || role.find_first_of(" =") != std::string::npos) continue;
    add(role, count);
  }
}

// "owners=0a1b2c3d,-", where "-" is for pods without an owner.
void AppendOwners(std::string& text, const std::set<std::string>& owners) {
  std::string list;
  for (const std::string& owner : owners) {
    if (owner.find_first_of(" =,") != std::string::npos) continue;
    list.append(list.empty() ? "" : ",").append(owner.empty() ? "-" : owner);
  }
  if (!list.empty()) text.append(" owners=").append(list);
}

Error Wrong(std::string_view field) {
  return Error{Code::kInvalidArgument,
               "annotation " + std::string(cluster::kGangRecordAnnotation) +
                   " ignored: not as Muster writes it: \"" + std::string(field.substr(0, 64)) +
                   "\"",
               ""};
}

// "whole=8", "whole/worker=7"
bool ReadHeads(std::string_view name, std::string_view value, std::string_view key,
               Headcount& heads) {
  const bool total = key == name;
  const bool of_role =
      key.size() > name.size() + 1 && key.starts_with(name) && key[name.size()] == '/';
  if (!total && !of_role) return false;
  int64_t count = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), count);
  if (read.ec != std::errc() || read.ptr != value.data() + value.size() || count < 0) return false;
  (total ? heads.members : heads.roles[std::string(key.substr(name.size() + 1))]) = count;
  return true;
}

bool ReadOwners(std::string_view list, std::set<std::string>& owners) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const std::string_view owner = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (owner.empty() || owner.size() > kMaxTag || owners.size() > kMaxOwners) return false;
    owners.emplace(owner == "-" ? "" : owner);
  }
  return true;
}

}  // namespace

std::string FormatGangRecord(const GangRecord& record) {
  if (!record.has_run) return record.evicted ? kEvicted : "";
  std::string text;
  if (record.started) text = "started=" + FormatTimestamp(*record.started);
  AppendHeads(text, "whole", record.whole);
  if (record.ended != Headcount{}) AppendHeads(text, "ended", record.ended);
  if (record.lost != Headcount{}) {
    AppendHeads(text, "lost", record.lost);
    if (record.lost_since != Time()) text += " since=" + FormatTimestamp(record.lost_since);
  }
  AppendOwners(text, record.owners);
  if (record.evicted) text.append(" ").append(kEvicted);
  return text;
}

Result<GangRecord> ParseGangRecord(std::string_view text) {
  GangRecord record;
  const std::string_view whole = text;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) return Wrong(field);
    const std::string_view key = field.substr(0, equals);
    const std::string_view value = field.substr(equals + 1);
    if (key == "started" || key == "since") {
      const Result<Time> time = ParseTimestamp(value);
      if (!time.ok()) return Wrong(field);
      if (key == "started") {
        record.started = *time;
      } else {
        record.lost_since = *time;
      }
    } else if (field == kEvicted) {
      record.evicted = true;
    } else if (key == "owners") {
      if (!ReadOwners(value, record.owners)) return Wrong(field);
    } else if (ReadHeads("whole", value, key, record.whole)) {
      record.has_run = true;
    } else if (!ReadHeads("ended", value, key, record.ended) &&
               !ReadHeads("lost", value, key, record.lost)) {
      return Wrong(field);
    }
  }
  if (!whole.empty() && !record.has_run && !record.evicted) return Wrong(whole);
  return record;
}

std::string PodGroupPath(const ServedPodGroups& as, const cluster::ObjectKey& key) {
  return as.path() + "/namespaces/" + key.ns + "/" + std::string(as.resource()) + "/" + key.name;
}

Result<std::optional<ApiRequest>> PlanGangRecord(const engine::PatchGang& gang,
                                                 const ServedPodGroups& as,
                                                 std::string_view object) {
  const Result<Json> json = Json::Parse(object, kMaxPodGroupBytes, "PodGroup");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView group(json->root(), "PodGroup", problems);
  const JsonView metadata = group.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  const JsonView record = annotations.Get(cluster::kGangRecordAnnotation);
  if (metadata.Get("uid").Text() != gang.uid.text()) {
    return Error{Code::kNotFound, "it is another PodGroup of that name now", ""};
  }
  const std::string wanted = FormatGangRecord(gang.record);
  if (record.Text() == wanted) return std::optional<ApiRequest>();
  ApiRequest request{.method = Method::kPatch, .path = PodGroupPath(as, gang.key)};
  request.content_type = "application/merge-patch+json";
  request.metadata_only = true;
  JsonWriter body(request.body);
  body.BeginObject().Key("metadata").BeginObject().Key("uid").Text(gang.uid.text());
  body.Key("annotations").BeginObject().TextKey(cluster::kGangRecordAnnotation);
  if (wanted.empty()) {
    body.Null();
  } else {
    body.Text(wanted);
  }
  body.EndObject().EndObject().EndObject();
  return std::optional(std::move(request));
}

}  // namespace muster::kube
