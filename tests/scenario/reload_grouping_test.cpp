// A reload changes every grouping rule of the policy: for each field of a rule a change of it, and
// what is said of the pods of one owner then. It must be the same as if Muster had been started
// with it. Fails when a field has no story here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>

#include "config/policies/grouping_file.hpp"
#include "config/policies/policy_fields.hpp"
#include "config/policies/policy_file.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::kube {
namespace {

using cluster::Time;

struct Story {
  const char* field;
  const char* rule;  // '@' stands for the value
  const char* old_value;
  const char* new_value;
  const char* asked = "";  // muster.dev/min-member of the owner
  bool gone = false;       // the owner is
};

#define MUSTER_FOO "kind: Foo, group: x.io, resource: foos"

const Story kStories[] = {
    {"kind", "{kind: @, group: x.io, resource: foos, cases: [{minimum: \"2\"}]}", "Foo", "Bar"},
    {"group", "{kind: Foo, group: @, resource: foos, cases: [{minimum: \"2\"}]}", "x.io", "y.io"},
    {"resource", "{kind: Foo, group: x.io, resource: @, cases: [{minimum: \"2\"}]}", "foos",
     "fooz"},
    {"versions", "{" MUSTER_FOO ", versions: [@], cases: [{minimum: \"2\"}]}", "v1", "v2"},
    {"wrapper", "{" MUSTER_FOO ", @}", "wrapper: true", "cases: [{}]", "", true},
    {"notMembers[].when",
     "{" MUSTER_FOO ", notMembers: [{because: apart, when: [pod.metadata.labels.part is @]}], "
     "cases: [{minimum: \"1\"}]}",
     "x", "y"},
    {"notMembers[].because",
     "{" MUSTER_FOO ", notMembers: [{because: @, when: [pod.metadata.labels.part is x]}], "
     "cases: [{minimum: \"1\"}]}",
     "one", "other"},
    {"per", "{" MUSTER_FOO ", per: pod.metadata.labels.@, cases: [{minimum: \"1\"}]}", "part",
     "role"},
    {"attempt", "{" MUSTER_FOO ", attempt: pod.metadata.labels.@, cases: [{minimum: \"1\"}]}",
     "part", "role"},
    {"role",
     "{" MUSTER_FOO ", role: pod.metadata.labels.@, roles: [{name: a, makes: \"2\"}], "
     "cases: [{}]}",
     "part", "role"},
    {"roles[].each",
     "{" MUSTER_FOO ", role: pod.metadata.labels.role, roles: [{name: item.name, each: "
     "owner.spec.@, makes: item.count}], cases: [{}]}",
     "few", "many"},
    {"roles[].name",
     "{" MUSTER_FOO ", roles: [{name: @, makes: \"2\"}, {name: c, makes: \"1\"}], cases: [{}]}",
     "a", "b"},
    {"roles[].when",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"2\"}, {name: b, makes: \"1\", when: "
     "[owner.spec.flag is @]}], cases: [{}]}",
     "on", "off"},
    {"roles[].pods",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"2\", pods: [pod.metadata.labels.part is @]}], "
     "cases: [{}]}",
     "x", "y"},
    {"roles[].makes", "{" MUSTER_FOO ", roles: [{name: a, makes: \"@\"}], cases: [{}]}", "2", "3"},
    {"roles[].needs",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"3\", needs: \"@\"}], cases: [{}]}", "2", "3"},
    {"roles[].first",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"3\", first: \"@\"}], early: [{because: soon, "
     "when: [owner.spec.flag is on]}], cases: [{}]}",
     "1", "2"},
    {"roles[].unit",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"4\", needs: \"2\", unit: \"@\"}], cases: [{}]}",
     "1", "2"},
    {"notHonoured[].when",
     "{" MUSTER_FOO
     ", cases: [{minimum: \"2\"}], notHonoured: [{because: so, when: [owner.spec.flag is "
     "@]}]}",
     "on", "off"},
    {"notHonoured[].because",
     "{" MUSTER_FOO
     ", cases: [{minimum: \"2\"}], notHonoured: [{because: @, when: [owner.spec.flag is "
     "on]}]}",
     "one", "other"},
    {"early[].when",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"3\", first: \"1\"}], early: [{because: soon, "
     "when: [owner.spec.flag is @]}], cases: [{}]}",
     "on", "off"},
    {"early[].passes",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"3\", first: \"1\"}], early: [{because: soon, "
     "passes: @, when: [owner.spec.flag is on]}], cases: [{}]}",
     "true", "false", "2"},
    {"early[].pods",
     "{" MUSTER_FOO ", role: pod.metadata.labels.role, roles: [{name: item.name, each: "
     "owner.spec.many, makes: item.count, first: \"1\"}], early: [{because: soon, passes: true, "
     "when: [owner.spec.flag is on], pods: [pod.metadata.labels.part is @]}], cases: [{}]}",
     "x", "y"},
    {"early[].because",
     "{" MUSTER_FOO ", roles: [{name: a, makes: \"3\", first: \"1\"}], early: [{because: @, "
     "when: [owner.spec.flag is on]}], cases: [{}]}",
     "one", "other", "2"},
    {"cases[].when", "{" MUSTER_FOO ", cases: [{minimum: \"2\", when: [owner.spec.flag is @]}]}",
     "on", "off"},
    {"cases[].gang",
     "{" MUSTER_FOO ", role: pod.metadata.labels.role, roles: [{name: item.name, each: "
     "owner.spec.few, makes: item.count}], cases: [{gang: @}]}",
     "whole", "perRole"},
    {"cases[].minimum", "{" MUSTER_FOO ", cases: [{minimum: \"@\"}]}", "2", "3"},
    {"cases[].ended", "{" MUSTER_FOO ", cases: [{minimum: \"2\", ended: \"@\"}]}", "0", "1"},
    {"cases[].keepsRest", "{" MUSTER_FOO ", cases: [{minimum: \"2\", keepsRest: @}]}", "false",
     "true"},
    {"queue", "{" MUSTER_FOO ", queue: owner.spec.@, cases: [{minimum: \"2\"}]}", "flag", "other"},
    {"priorityClass", "{" MUSTER_FOO ", priorityClass: owner.spec.@, cases: [{minimum: \"2\"}]}",
     "flag", "other"},
    {"cases[].because", "{" MUSTER_FOO ", cases: [{gang: alone, because: @}]}", "one", "other"},
};

const Story kByOwner = {"gangs.byOwner",
                        "{" MUSTER_FOO ", cases: [{minimum: \"2\"}]}\ngangs: {byOwner: @}", "true",
                        "false"};

#undef MUSTER_FOO

GroupingSettings SettingsOf(const Story& story, const std::string& value) {
  std::string rule = story.rule;
  rule.replace(rule.find('@'), 1, value);
  const auto policy = config::LoadPolicy(
      "apiVersion: muster.dev/v1alpha1\nkind: Policy\ngrouping:\n- " + rule + "\n", "p");
  REQUIRE((policy.ok() ? "" : policy.error().ToString()) == "");
  return {policy->grouping, {"muster"}, policy->by_owner};
}

OwnerAnswer Owner(const Story& story) {
  if (story.gone) return {OwnerAnswer::Kind::kGone, {}, {}};
  const std::string asked = story.asked;
  const std::string text =
      R"({"metadata":{"name":"f","namespace":"team","uid":"f","annotations":{)" +
      (asked.empty() ? "" : R"("muster.dev/min-member":")" + asked + "\"") +
      R"(}},"spec":{"flag":"on","few":[{"name":"a","count":1},{"name":"b","count":1}],)" +
      R"("many":[{"name":"a","count":2},{"name":"b","count":2}]}})";
  auto json = Json::Parse(text, text.size(), "f");
  REQUIRE(json.ok());
  return {OwnerAnswer::Kind::kRead, {text, std::make_shared<const Json>(*std::move(json))}, {}};
}

// What is said of the owner's two pods, and what was read for it at last.
std::string Tell(const Story& story, const std::string& first, const std::string& then) {
  GroupingBook book;
  std::string path;
  const auto read = [&] {
    while (const auto request = book.owners().Take(Time(1'000))) {
      path = request->path + "\n";
      book.Learn(request->key, Owner(story), Time(1'000));
    }
  };
  book.Set(SettingsOf(story, first));
  const auto see = [&](const std::string& name, const std::string& labels) {
    cluster::Pod pod;
    pod.uid = cluster::PodUid(name);
    pod.key = {"team", name};
    cluster::PodSpec spec;
    spec.scheduler_name = "muster";
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    book.Keep(pod.uid,
              std::make_shared<const std::string>(
                  R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":")" + name +
                  R"(","labels":{)" + labels +
                  R"(},"ownerReferences":[{"apiVersion":"x.io/v1","kind":"Foo","name":"f",)" +
                  R"("uid":"f","controller":true}]},"spec":{}})"));
    book.Join(pod, Time());
  };
  see("p", R"("part":"x","role":"a")");
  see("q", R"("part":"z","role":"b")");
  read();
  if (first != then) book.Set(SettingsOf(story, then));
  read();
  std::string told = book.owners().size() == 0 ? "" : path;
  for (const char* pod : {"p", "q"}) {
    const Grouping* said = book.Find(cluster::PodUid(pod));
    REQUIRE(said != nullptr);
    told += std::to_string(static_cast<int>(said->kind)) + " " + said->key.name + " as " +
            said->role + " of " + std::to_string(said->minimum) + " " + said->reason +
            (said->keeps_rest ? " keeps the rest, " : ", ") + std::to_string(said->ended) +
            " ended" + said->unheeded + " queue " + said->queue + " class " + said->priority_class;
    for (const cluster::RoleUnit& unit : said->units)
      told += " " + unit.name + " by " + std::to_string(unit.size);
    for (const cluster::RoleMinimum& role : said->roles)
      told += " " + role.name + " " + std::to_string(role.min_member);
    told += "\n";
  }
  return told;
}

void CheckReload(const Story& story) {
  const std::string started = Tell(story, story.new_value, story.new_value);
  CHECK(Tell(story, story.old_value, story.old_value) != started);
  CHECK(Tell(story, story.old_value, story.new_value) == started);
}

TEST_CASE("a reload changes every field of grouping rules", "[reload][grouping]") {
  for (const Story& story : kStories) {
    DYNAMIC_SECTION(story.field) { CheckReload(story); }
  }
}

TEST_CASE("a reload switches gangs by owner off and on", "[reload][grouping]") {
  CheckReload(kByOwner);
  CheckReload({kByOwner.field, kByOwner.rule, kByOwner.new_value, kByOwner.old_value});
}

TEST_CASE("a reload makes gangs of Jobs that are not Indexed", "[reload][grouping]") {
  GroupingBook book;
  const auto settle = [&](const std::vector<std::string>& namespaces) {
    book.Set({config::WithNonIndexedJobs(config::ShippedGroupingRules(), namespaces), {"muster"}});
    while (const auto request = book.owners().Take(Time(1'000))) {
      const std::string text =
          R"({"metadata":{"name":"j","namespace":"team","uid":"j"},)"
          R"("spec":{"completionMode":"NonIndexed","parallelism":3,"completions":3}})";
      auto json = Json::Parse(text, text.size(), "j");
      REQUIRE(json.ok());
      book.Learn(
          request->key,
          {OwnerAnswer::Kind::kRead, {text, std::make_shared<const Json>(*std::move(json))}, {}},
          Time(1'000));
    }
    const Grouping* said = book.Find(cluster::PodUid("p"));
    return said == nullptr ? 0 : said->minimum;
  };
  settle({});
  cluster::Pod pod;
  pod.uid = cluster::PodUid("p");
  pod.key = {"team", "p"};
  cluster::PodSpec spec;
  spec.scheduler_name = "muster";
  pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  book.Keep(
      pod.uid,
      std::make_shared<const std::string>(
          R"({"metadata":{"name":"p","namespace":"team","uid":"p","ownerReferences":[)"
          R"({"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"j","controller":true}]},)"
          R"("spec":{}})"));
  book.Join(pod, Time());
  CHECK(settle({}) == 0);
  CHECK(settle({"other", "team"}) == 3);
  CHECK(settle({"other"}) == 0);
  CHECK(settle({"*"}) == 3);
  CHECK(book.Find(cluster::PodUid("p"))->keeps_rest);
}

TEST_CASE("every field of grouping rules has a story", "[reload][grouping]") {
  std::set<std::string> told;
  for (const Story& story : kStories) told.insert("grouping[]." + std::string(story.field));
  const std::vector<std::string> fields = config::ListPolicyFields();
  for (const std::string& field : fields) {
    const bool section = std::any_of(fields.begin(), fields.end(), [&](const std::string& other) {
      return other.rfind(field + ".", 0) == 0 || other.rfind(field + "[]", 0) == 0;
    });
    if (section || field.rfind("grouping", 0) != 0) continue;
    INFO(field << " has no story in tests/scenario/reload_grouping_test.cpp");
    CHECK(told.count(field) == 1);
  }
}

}  // namespace
}  // namespace muster::kube
