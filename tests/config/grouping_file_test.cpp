#include "config/policies/grouping_file.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "config/file.hpp"
#include "config/policies/grouping_fields.hpp"
#include "config/policies/policy_file.hpp"

namespace muster::config {
namespace {

using cluster::GroupingRule;
using cluster::GroupingRules;

const std::string kHead = "apiVersion: muster.dev/v1alpha1\nkind: GroupingRules\nrules:\n";
const std::string kFoo = "- {kind: Foo, group: x.io, resource: foos, ";

std::string FaultsOf(const std::string& text) {
  std::string lines;
  for (const cluster::Error& fault : ReadGroupingRules(text, "g.yaml").faults) {
    lines += (lines.empty() ? "" : "\n") + fault.ToString();
  }
  return lines;
}

const GroupingRule* Find(const GroupingRules& rules, const std::string& kind,
                         const std::string& group, const std::string& version) {
  for (const GroupingRule& rule : rules) {
    const auto& versions = rule.versions;
    const bool has =
        versions.empty() || std::find(versions.begin(), versions.end(), version) != versions.end();
    if (rule.kind == kind && rule.group == group && has) return &rule;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("every file of grouping rules that ships is read", "[config][grouping]") {
  std::size_t rules = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(MUSTER_SOURCE_DIR "/config/grouping")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto text = ReadFile(entry.path().string(), kMaxGroupingBytes);
    REQUIRE(text.ok());
    const GroupingReading reading = ReadGroupingRules(*text, entry.path().filename().string());
    INFO((reading.ok() ? "" : reading.faults.front().ToString()));
    CHECK(reading.ok());
    rules += reading.rules.size();
  }
  CHECK(ShippedGroupingRules().size() == rules);
}

TEST_CASE("the rules that ship are for every kind that is promised", "[config][grouping]") {
  const GroupingRules rules = ShippedGroupingRules();
  struct Want {
    const char* kind;
    const char* group;
    const char* version;
    bool wrapper;
  };
  for (const Want& want : {Want{"Job", "batch", "v1", false},
                           Want{"CronJob", "batch", "v1", true},
                           Want{"StatefulSet", "apps", "v1", false},
                           Want{"ReplicaSet", "apps", "v1", false},
                           Want{"Deployment", "apps", "v1", true},
                           Want{"JobSet", "jobset.x-k8s.io", "v1alpha2", false},
                           Want{"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "v1", false},
                           Want{"DisaggregatedSet", "disaggregatedset.x-k8s.io", "v1", true},
                           Want{"TrainJob", "trainer.kubeflow.org", "v1alpha1", true},
                           Want{"PyTorchJob", "kubeflow.org", "v1", false},
                           Want{"TFJob", "kubeflow.org", "v1", false},
                           Want{"MPIJob", "kubeflow.org", "v1", false},
                           Want{"MPIJob", "kubeflow.org", "v2beta1", false},
                           Want{"XGBoostJob", "kubeflow.org", "v1", false},
                           Want{"PaddleJob", "kubeflow.org", "v1", false},
                           Want{"JAXJob", "kubeflow.org", "v1", false},
                           Want{"RayCluster", "ray.io", "v1", false},
                           Want{"RayJob", "ray.io", "v1", true},
                           Want{"RayService", "ray.io", "v1", true},
                           Want{"RayCronJob", "ray.io", "v1", true},
                           Want{"SparkApplication", "sparkoperator.k8s.io", "v1beta2", false},
                           Want{"SparkConnect", "sparkoperator.k8s.io", "v1alpha1", false},
                           Want{"Workflow", "argoproj.io", "v1alpha1", true},
                           Want{"TaskRun", "tekton.dev", "v1", false},
                           Want{"Revision", "serving.knative.dev", "v1", true},
                           Want{"AppWrapper", "workload.codeflare.dev", "v1beta2", true},
                           Want{"Job", "batch.volcano.sh", "v1alpha1", false},
                           Want{"PodClique", "grove.io", "v1alpha1", false},
                           Want{"PodCliqueSet", "grove.io", "v1alpha1", true},
                           Want{"DynamoGraphDeployment", "nvidia.com", "v1beta1", true}}) {
    INFO(want.group << " " << want.kind << " " << want.version);
    const GroupingRule* rule = Find(rules, want.kind, want.group, want.version);
    REQUIRE(rule != nullptr);
    CHECK(rule->wrapper == want.wrapper);
    CHECK_FALSE(rule->resource.empty());
  }
}

TEST_CASE("no two rules that ship are for one kind, nor do they contradict themselves",
          "[config][grouping]") {
  std::vector<Contradiction> found;
  FindGroupingContradictions("rules", ShippedGroupingRules(), &found);
  for (const Contradiction& one : found) UNSCOPED_INFO(one.field << ": " << one.message);
  CHECK(found.empty());
}

TEST_CASE("rules that are written are read as the same rules", "[config][grouping]") {
  const GroupingRules rules = ShippedGroupingRules();
  const GroupingReading again = ReadGroupingRules(WriteGroupingRules(rules), "again");
  INFO((again.ok() ? "" : again.faults.front().ToString()));
  REQUIRE(again.ok());
  CHECK(again.rules == rules);
}

TEST_CASE("all faults of a file are reported at once, with their places", "[config][grouping]") {
  CHECK(FaultsOf(kHead + "- kind: foo\n  group: x.io\n  resource: foos\n  wraper: true\n"
                         "  role: pd.metadata.labels[a]\n"
                         "  roles:\n  - {name: w, makes: owner.spec.replicas of 1}\n"
                         "  cases:\n  - when:\n    - owner.spec.mode = X\n    gang: hole\n") ==
        "g.yaml:4:9: rules[0].kind: expected a kind such as JobSet, found \"foo\"\n"
        "g.yaml:7:3: rules[0].wraper: unknown field, did you mean wrapper?\n"
        "g.yaml:8:9: rules[0].role: expected a path such as pod.metadata.labels[app], found "
        "\"pd.metadata.labels[a]\": expected a path that begins with owner, pod, leader, item or "
        "key (did you mean pod?) at character 1, found \"pd.metadata.labels[a]\"\n"
        "g.yaml:10:22: rules[0].roles[0].makes: expected an amount such as owner.spec.replicas or "
        "1, found \"owner.spec.replicas of 1\": expected nothing more at character 21, found "
        "\"of\"\n"
        "g.yaml:13:7: rules[0].cases[0].when[0]: expected a condition such as owner.spec.mode is "
        "Indexed, found \"owner.spec.mode = X\": expected \"is\" or \"equals\" at character 17, "
        "found \"=\"\n"
        "g.yaml:14:11: rules[0].cases[0].gang: expected whole, perRole or alone, found \"hole\"");
}

TEST_CASE("what a rule must have is asked for", "[config][grouping]") {
  CHECK(FaultsOf(kHead + "- {}\n") ==
        "g.yaml:4:3: rules[0].kind: expected a kind such as JobSet, found nothing\n"
        "g.yaml:4:3: rules[0].group: expected an API group such as batch, or core, found nothing\n"
        "g.yaml:4:3: rules[0].resource: expected the plural of the kind, such as jobsets, found "
        "nothing");
  CHECK(FaultsOf("apiVersion: muster.dev/v1alpha1\nkind: GroupingRules\n") ==
        "g.yaml:1:1: rules: expected at least one");
  CHECK_THAT(FaultsOf(kHead + kFoo + "wrapper: true, notMembers: [{when: [key is a]}]}\n"),
             Catch::Contains("notMembers[0].because: expected the reason"));
}

TEST_CASE("a rule that contradicts itself is refused", "[config][grouping]") {
  struct Case {
    std::string rule;
    const char* want;
  };
  const auto [rule, want] = GENERATE(values<Case>({
      {"}", ".cases: expected at least one case, or wrapper: true"},
      {"wrapper: true, cases: [{gang: whole}]}", ".wrapper: expected no per, attempt, role"},
      {"wrapper: true, notMembers: [{because: x}]}",
       ".notMembers[0].when: expected at least one condition"},
      {"cases: [{gang: alone}]}", ".cases[0].because: expected why every pod is alone"},
      {"cases: [{gang: whole, because: x}]}", ".cases[0].because: expected none but"},
      {"cases: [{gang: perRole}]}", ".cases[0].gang: expected role, or roles with pods"},
      {"cases: [{gang: alone, because: x, minimum: 3}]}", ".cases[0].minimum: expected none but"},
      {"cases: [{gang: whole}, {gang: whole, when: [owner.a is b]}]}",
       ".cases[1]: never counts: case 0 holds before it"},
      {"cases: [{gang: whole, minimum: item.replicas}]}",
       ".cases[0].minimum: item and key are known only in a role with each"},
      {"role: pod.a, cases: [{gang: whole}]}", ".role: expected roles with names"},
      {"roles: [{each: owner.a}], cases: [{gang: whole}]}",
       ".roles[0].name: expected item.… or key"},
      {"roles: [{name: key}], cases: [{gang: whole}]}", ".roles[0].name: item and key are known"},
      {"roles: [{each: pod.a, name: key}], cases: [{gang: whole}]}",
       ".roles[0].each: expected a path that begins with owner"},
      {"roles: [{name: a, makes: \"owner.a[].b\"}], cases: [{gang: whole}]}",
       ".roles[0].makes: expected one value, found a path with []"},
      {"roles: [{name: a, first: 1}], cases: [{gang: whole}]}",
       ".roles[0].first: expected early beside it"},
      {"roles: [{name: a}], early: [{because: x, pods: [pod.a is b]}], cases: [{gang: whole}]}",
       ".early[0].pods: expected passes: true beside it"},
      {"roles: [{makes: 2}], early: [{because: x, passes: true, pods: [pod.a is b]}], cases: "
       "[{gang: whole}]}",
       ".early[0].pods: expected roles with names beside it"},
      {"role: pod.a, roles: [{name: a, pods: [pod.b is c]}], cases: [{gang: whole}]}",
       ".roles[0].pods: expected none beside role"},
      {"cases: [{gang: whole, when: [\"owner.a[].b is above 1\"]}]}",
       ".cases[0].when: expected single numbers"},
  }));
  INFO(rule);
  CHECK_THAT(FaultsOf(kHead + kFoo + rule + "\n"), Catch::Contains(std::string("rules[0]") + want));
}

TEST_CASE("two rules for one kind are refused, for two versions they are not",
          "[config][grouping]") {
  const std::string end = "cases: [{gang: whole}]}\n";
  CHECK(FaultsOf(kHead + kFoo + end + kFoo + "versions: [v1], " + end) ==
        "g.yaml:5:10: rules[1].kind: expected one rule for Foo of x.io in each version, found "
        "rules[0] for it too");
  CHECK(
      FaultsOf(kHead + kFoo + "versions: [v2], " + end + kFoo + "versions: [v1], " + end).empty());
}

TEST_CASE("rules are bounded in number and in size", "[config][grouping]") {
  std::string many = kHead;
  for (int i = 0; i < 201; ++i) {
    many += "- {kind: K" + std::to_string(i) + ", group: x.io, resource: ks, wrapper: true}\n";
  }
  CHECK_THAT(FaultsOf(many), Catch::Contains("rules: expected at most 200 rules, found 201"));
  std::string cases;
  for (int i = 0; i < 17; ++i) cases += "{when: [owner.a is a" + std::to_string(i) + "]}, ";
  CHECK_THAT(FaultsOf(kHead + kFoo + "cases: [" + cases + "]}\n"),
             Catch::Contains("rules[0].cases: expected at most 16, found 17"));
  CHECK_THAT(FaultsOf(kHead + std::string(kMaxGroupingBytes, '#')), Catch::Contains("g.yaml"));
}

TEST_CASE("rules of one's own take the place of those that ship, kind by kind",
          "[config][grouping]") {
  const GroupingReading own = ReadGroupingRules(
      kHead +
          "- {kind: MPIJob, group: kubeflow.org, versions: [v1, v3], resource: mpijobs, "
          "wrapper: true}\n" +
          kFoo + "wrapper: true}\n",
      "own");
  REQUIRE(own.ok());
  const GroupingRules shipped = ShippedGroupingRules();
  const GroupingRules all = WithOwnRules(shipped, own.rules);
  CHECK(all.size() == shipped.size() + 1);
  CHECK(Find(all, "MPIJob", "kubeflow.org", "v1")->wrapper);
  CHECK_FALSE(Find(all, "MPIJob", "kubeflow.org", "v2beta1")->wrapper);
  CHECK(Find(all, "Foo", "x.io", "v1") != nullptr);
  std::vector<Contradiction> found;
  FindGroupingContradictions("rules", all, &found);
  CHECK(found.empty());
}

TEST_CASE("a rule of one's own for some versions leaves the others as they were",
          "[config][grouping]") {
  const std::string end = "cases: [{gang: whole}]}\n";
  const auto two = ReadGroupingRules(kHead + kFoo + "versions: [v1, v2], " + end, "two");
  const auto own = ReadGroupingRules(kHead + kFoo + "versions: [v2], wrapper: true}\n", "own");
  REQUIRE(two.ok());
  REQUIRE(own.ok());
  const GroupingRules all = WithOwnRules(two.rules, own.rules);
  CHECK_FALSE(Find(all, "Foo", "x.io", "v1")->wrapper);
  CHECK(Find(all, "Foo", "x.io", "v2")->wrapper);
}

TEST_CASE("a policy has rules of its own, checked as those that ship are", "[config][grouping]") {
  const std::string head = "apiVersion: muster.dev/v1alpha1\nkind: Policy\ngrouping:\n";
  const auto good =
      LoadPolicy(head + kFoo + "cases: [{gang: whole, minimum: owner.spec.n}]}\n", "p");
  REQUIRE(good.ok());
  REQUIRE(good->grouping.size() == 1);
  CHECK(good->grouping[0].kind == "Foo");
  CHECK(WithOwnRules(ShippedGroupingRules(), good->grouping).size() ==
        ShippedGroupingRules().size() + 1);
  const auto again = LoadPolicy(WritePolicy(*good), "p");
  REQUIRE(again.ok());
  CHECK(again->grouping == good->grouping);
  const auto wrong = LoadPolicy(head + kFoo + "cases: [{gang: whole, minimun: 3}]}\n", "p");
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.error().ToString(),
             Catch::Contains("p:4:66: grouping[0].cases[0].minimun: unknown field, did you mean "
                             "minimum?"));
  const auto twice = LoadPolicy(head + kFoo + "wrapper: true}\n" + kFoo + "wrapper: true}\n", "p");
  REQUIRE_FALSE(twice.ok());
  CHECK_THAT(twice.error().ToString(), Catch::Contains("grouping[1].kind: expected one rule"));
}

// What ClusterRole muster is to have for owners, as manifests/base/permissions.yaml writes it.
std::string RightsForOwners() {
  std::map<std::string, std::set<std::string>> resources;  // by group
  for (const cluster::GroupingRule& rule : ShippedGroupingRules()) {
    if (rule.group != cluster::kCoreGroup) resources[rule.group].insert(rule.resource);
  }
  std::string text;
  for (const auto& [group, names] : resources) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    text += "- apiGroups: [" + group + "]\n  resources: [" + list + "]\n  verbs: [get]\n";
  }
  return text;
}

TEST_CASE("Muster may get the owners that its rules name, and no others", "[config][grouping]") {
  const auto file = ReadFile(MUSTER_SOURCE_DIR "/manifests/base/permissions.yaml", 1U << 20U);
  REQUIRE(file.ok());
  const std::string begin = "# Owners of pods, ";
  const size_t comment = file->find(begin);
  REQUIRE(comment != std::string::npos);
  const size_t rules = file->find("\n- ", comment) + 1;
  CHECK(file->substr(rules, file->find("\n#", rules) + 1 - rules) == RightsForOwners());
}

}  // namespace muster::config
