#include "tests/kube/grouping_world.hpp"

#include <catch2/catch.hpp>
#include <utility>

#include "config/documents/manifest.hpp"
#include "config/policies/grouping_file.hpp"
#include "kube/owners/owner_reader.hpp"

namespace muster::kube::testing {

namespace {

config::ManifestDocument Document(const std::string& yaml) {
  auto documents = config::ParseManifests(yaml, "test");
  INFO(yaml);
  INFO((documents.ok() ? "" : documents.error().ToString()));
  REQUIRE(documents.ok());
  REQUIRE(documents->size() == 1);
  return documents->front();
}

Json Parsed(const std::string& yaml) {
  auto json = Json::Parse(Document(yaml).json(), size_t{1} << 20U, "test");
  REQUIRE(json.ok());
  return *std::move(json);
}

}  // namespace

std::string OwnedBy(const std::string& api_version, const std::string& kind,
                    const std::string& name, const std::string& uid) {
  return "ownerReferences: [{apiVersion: " + api_version + ", kind: " + kind + ", name: " + name +
         ", uid: " + uid + ", controller: true, blockOwnerDeletion: true}]";
}

std::string PodText(const std::string& name, const std::string& meta, const std::string& spec) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: team, uid: uid-" +
         name + (meta.empty() ? "" : ", ") + meta + "}, spec: {" + spec + "}}";
}

GroupingWorld::GroupingWorld() : rules_(config::ShippedGroupingRules()) {}

void GroupingWorld::Add(const std::string& yaml) {
  const std::string kind(Document(yaml).kind());
  const std::string name = Document(yaml).source().Find("metadata")->TextAt("name");
  const std::string version(Document(yaml).source().TextAt("apiVersion"));
  const OwnerFields fields(rules_, {version, kind, "team", name, ""});
  const OwnerAnswer kept = SiftOwner(Document(yaml).json(), fields, kind);
  INFO(kept.why);
  REQUIRE(kept.kind == OwnerAnswer::Kind::kRead);
  objects_.insert_or_assign(kind + " " + name, kept.object.json);
}

void GroupingWorld::Remove(const std::string& kind, const std::string& name) {
  objects_.erase(kind + " " + name);
}

OwnerRead GroupingWorld::Look(const OwnerKey& key) {
  ++reads_;
  CHECK(key.ns == "team");
  if (unread_.contains(key.kind)) return {OwnerRead::State::kUnread, nullptr};
  if (forbidden_.contains(key.kind)) return {OwnerRead::State::kForbidden, nullptr, "no right"};
  const auto found = objects_.find(key.Shown());
  if (found == objects_.end()) return {OwnerRead::State::kGone, nullptr};
  return {OwnerRead::State::kKnown, &found->second->root()};
}

Grouping GroupingWorld::Judge(const std::string& pod_yaml) {
  const Json pod = Parsed(pod_yaml);
  const OwnerLookup look = [this](const OwnerKey& key) { return Look(key); };
  return JudgeGrouping(pod.root(), rules_, look, unreadable_);
}

std::string GroupingWorld::Told(const std::string& pod_yaml) {
  const Grouping told = Judge(pod_yaml);
  switch (told.kind) {
    case Grouping::Kind::kLinked:
      return "linked";
    case Grouping::Kind::kUnread:
      return "read " + told.next->Shown();
    case Grouping::Kind::kAlone:
      return "alone: " + told.reason;
    case Grouping::Kind::kNotMember:
      return "no member: " + told.reason;
    case Grouping::Kind::kRefused:
      return "refused: " + told.reason;
    case Grouping::Kind::kUnreadable:
      CHECK(told.key.ns == "team");
      return "waits as " + told.key.name.substr(0, told.key.name.find('~')) + ": " + told.reason;
    case Grouping::Kind::kGang:
      break;
  }
  CHECK(told.key.ns == "team");
  std::string roles;
  int64_t sum = 0;
  for (const cluster::RoleMinimum& role : told.roles) {
    roles += (roles.empty() ? " (" : ", ") + role.name + " " + std::to_string(role.min_member);
    sum += role.min_member;
  }
  CHECK(sum <= told.minimum);
  std::string first;
  for (const cluster::RoleMinimum& role : told.first_roles)
    first += (first.empty() ? " (" : ", ") + role.name + " " + std::to_string(role.min_member);
  if (told.starts_with > 0) {
    CHECK(told.starts_with < told.minimum);
    first = ", first " + std::to_string(told.starts_with) + first + (first.empty() ? "," : "),");
  }
  return told.key.name.substr(0, told.key.name.find('~')) + " needs " +
         std::to_string(told.minimum) + roles + (roles.empty() ? "" : ")") + first +
         (told.role.empty() ? "" : " as " + told.role) +
         (told.attempt.empty() ? "" : ", attempt " + told.attempt);
}

}  // namespace muster::kube::testing
