#include "tests/kube/played_group.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Result;

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

Members MembersOf(const JsonView& object) {
  Members members;
  object.Members([&](std::string_view key, const JsonView& value) {
    std::string json;
    value.AppendTo(json);
    members.emplace_back(std::string(key), json);
  });
  return members;
}

// {type, item} of a list of conditions.
Members ByType(const std::string& list) {
  Members items;
  if (list == "null") return items;
  const Result<Json> json = Json::Parse(list, 1 << 20, "list");
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView view(json->root(), "list", problems);
  view.Items([&](const JsonView& item) {
    const JsonView type = item.Get("type");
    std::string text;
    item.AppendTo(text);
    items.emplace_back(std::string(type.Text()), text);
  });
  return items;
}

void Put(Members& members, const std::string& key, const std::string& value) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const auto& member) { return member.first == key; });
  if (found == members.end()) {
    members.emplace_back(key, value);
  } else {
    found->second = value;
  }
}

std::string MergedByType(const std::string& is, const std::string& patch) {
  Members items = ByType(is);
  for (const auto& [type, item] : ByType(patch)) Put(items, type, item);
  std::string list = "[";
  for (const auto& [type, item] : items) list += (list.size() == 1 ? "" : ",") + item;
  return list + "]";
}

}  // namespace

PlayedGroup::PlayedGroup(const std::string& status, std::string metadata)
    : metadata_(std::move(metadata)) {
  const Result<Json> json = Json::Parse(status, 1 << 20, "status");
  REQUIRE(json.ok());
  JsonProblems problems;
  status_ = MembersOf(JsonView(json->root(), "status", problems));
}

std::string PlayedGroup::Object() const {
  std::string object = R"({"kind":"PodGroup","metadata":{)" + metadata_ +
                       R"("name":"train","namespace":"team","uid":"u-1","generation":3,)" +
                       R"("resourceVersion":")" + std::to_string(version_) + R"("},"status":{)";
  bool first = true;
  for (const auto& [key, value] : status_) {
    object += (first ? "\"" : ",\"") + key + "\":" + value;
    first = false;
  }
  return object + "}}";
}

std::string PlayedGroup::Status(const std::string& key) const {
  for (const auto& [name, value] : status_) {
    if (name == key) return value;
  }
  return "null";
}

std::string PlayedGroup::Said(const engine::PatchGang& gang, const ServedPodGroups& as,
                              cluster::Time now) const {
  const auto patch = PlanGangStatus(gang, as, Object(), now);
  REQUIRE(patch.ok());
  return patch->has_value() ? (**patch).body : "";
}

bool PlayedGroup::Say(const engine::PatchGang& gang, const ServedPodGroups& as, cluster::Time now) {
  const auto patch = PlanGangStatus(gang, as, Object(), now);
  REQUIRE(patch.ok());
  if (!patch->has_value()) return false;
  last_patch_ = **patch;
  REQUIRE(Apply(last_patch_.content_type, last_patch_.body));
  return true;
}

bool PlayedGroup::Apply(const std::string& content_type, const std::string& body) {
  const Result<Json> json = Json::Parse(body, 1 << 20, "patch");
  REQUIRE(json.ok());
  JsonProblems problems;
  const JsonView patch(json->root(), "patch", problems);
  const JsonView metadata = patch.Get("metadata");
  if (metadata.Get("resourceVersion").Text() != std::to_string(version_)) return false;
  const bool strategic = content_type == "application/strategic-merge-patch+json";
  for (const auto& [key, value] : MembersOf(patch.Get("status"))) {
    const bool by_type = strategic && key == "conditions";
    Put(status_, key, by_type ? MergedByType(Status(key), value) : value);
  }
  ++version_;
  return true;
}

}  // namespace muster::kube
