#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

using cluster::PodGroup;
using cluster::RoleMinimum;

std::string Group(const std::string& api_version, const std::string& spec) {
  return R"({"apiVersion":")" + api_version + R"(","kind":")" +
         (api_version.starts_with("scheduler.grove.io") ? "PodGang" : "PodGroup") +
         R"(","metadata":{"name":"g",
    "namespace":"n","uid":"u","resourceVersion":"7","creationTimestamp":"2024-05-01T09:30:00Z"},
    "spec":)" +
         spec + "}";
}

PodGroup Decode(const std::string& api_version, const std::string& spec) {
  const cluster::Result<PodGroup> group = DecodePodGroup(Group(api_version, spec));
  REQUIRE(group.ok());
  return *group;
}

const char* const kPlainVersion = "scheduling.x-k8s.io/v1alpha1";

TEST_CASE("every flavour of PodGroup", "[kube][podgroup]") {
  struct Case {
    std::string api_version;
    std::string spec;
    int64_t min_member;
    std::vector<RoleMinimum> roles;
    int64_t timeout_seconds;
  };
  const Case c = GENERATE(values<Case>({
      {"scheduling.x-k8s.io/v1alpha1", R"({"minMember":4,"scheduleTimeoutSeconds":30})", 4, {}, 30},
      {"scheduling.k8s.io/v1alpha1", R"({"minMember":4,"scheduleTimeoutSeconds":30})", 4, {}, 30},
      {"scheduling.sigs.k8s.io/v1alpha1", R"({"minMember":4})", 4, {}, 0},
      {"scheduling.x-k8s.io/v1alpha1", R"({"minResources":{"cpu":"1"}})", 1, {}, 0},
      {"scheduling.k8s.io/v1alpha2", R"({"schedulingPolicy":{"gang":{"minCount":16}}})", 16, {}, 0},
      {"scheduling.k8s.io/v1alpha3", R"({"schedulingPolicy":{"gang":{"minCount":16}}})", 16, {}, 0},
      {"scheduling.k8s.io/v1beta1", R"({"schedulingPolicy":{"basic":{}}})", 1, {}, 0},
      {"scheduling.volcano.sh/v1beta1",
       R"({"minMember":5,"queue":"q","minTaskMember":{"launcher":1,"worker":4}})",
       5,
       {{"launcher", 1}, {"worker", 4}},
       0},
      {"scheduling.volcano.sh/v1beta1",
       R"({"minMember":3,"minTaskMember":{"a":0,"b":3}})",
       3,
       {{"b", 3}},
       0},
      {"scheduling.run.ai/v2alpha2",
       R"({"minMember":3,"subGroups":[{"name":"w","minMember":2},{"name":"l","minMember":1}]})",
       3,
       {{"w", 2}, {"l", 1}},
       0},
      {"scheduling.run.ai/v2alpha2",
       R"({"subGroups":[{"name":"w","minMember":2},{"name":"top"}]})",
       2,
       {{"w", 2}},
       0},
      {"scheduler.grove.io/v1alpha1",
       R"({"podgroups":[{"name":"prefill","minReplicas":2},{"name":"decode","minReplicas":3}]})",
       5,
       {{"prefill", 2}, {"decode", 3}},
       0},
      {"scheduler.grove.io/v1alpha1",
       R"({"podgroups":[{"name":"prefill","minReplicas":2},{"name":"decode","minReplicas":0}]})",
       2,
       {{"prefill", 2}},
       0},
      {"scheduler.grove.io/v1alpha1",
       R"({"podgroups":[{"name":"decode","minReplicas":0,"topologyConstraint":null}]})",
       1,
       {},
       0},
      {"scheduler.grove.io/v1alpha1", R"({"podgroups":[]})", 1, {}, 0},
  }));
  CAPTURE(c.api_version, c.spec);
  const PodGroup group = Decode(c.api_version, c.spec);
  CHECK(group.defect.empty());
  CHECK(group.uid.text() == "u");
  CHECK(group.key.ToString() == "n/g");
  CHECK(group.resource_version == 7);
  CHECK(group.created.milliseconds() == 1714555800000);
  CHECK(group.min_member == c.min_member);
  CHECK(group.roles == c.roles);
  CHECK(group.schedule_timeout == cluster::Seconds(c.timeout_seconds));
}

TEST_CASE("an odd minMember is kept as it is written", "[kube][podgroup]") {
  const int64_t count = GENERATE(0, -1, 2147483647, 9223372036854775807, -9223372036854775807);
  const PodGroup plain = Decode(kPlainVersion, R"({"minMember":)" + std::to_string(count) + "}");
  CHECK(plain.min_member == count);
  CHECK(plain.defect.empty());
  const PodGroup native =
      Decode("scheduling.k8s.io/v1beta1",
             R"({"schedulingPolicy":{"gang":{"minCount":)" + std::to_string(count) + "}}}");
  CHECK(native.min_member == count);
}

// Its job controller writes a task's replicas where the task has no minAvailable.
TEST_CASE("Volcano's role minima count only where minMember holds them all", "[kube][podgroup]") {
  struct Case {
    std::string spec;
    int64_t min_member;
    std::vector<RoleMinimum> roles;
  };
  const Case c = GENERATE(values<Case>({
      {R"({"minMember":3,"minTaskMember":{"worker":10}})", 3, {}},
      {R"({"minMember":4,"minTaskMember":{"launcher":1,"worker":4}})", 4, {}},
      {R"({"minMember":6,"minTaskMember":{"launcher":1,"worker":4}})",
       6,
       {{"launcher", 1}, {"worker", 4}}},
      {R"({"minTaskMember":{"worker":10}})", 1, {}},
      {R"({"minMember":0,"minTaskMember":{"worker":10}})", 1, {}},
      {R"({"minMember":0})", 1, {}},
      {R"({"minMember":9,"minTaskMember":{"a":9223372036854775807,"b":9223372036854775807}})",
       9,
       {}},
  }));
  CAPTURE(c.spec);
  const PodGroup group = Decode("scheduling.volcano.sh/v1beta1", c.spec);
  CHECK(group.defect.empty());
  CHECK(group.min_member == c.min_member);
  CHECK(group.roles == c.roles);
}

TEST_CASE("KAI's subgroups without children are the minimum", "[kube][podgroup]") {
  struct Case {
    std::string spec;
    int64_t min_member;
    std::vector<RoleMinimum> roles;
  };
  const Case c = GENERATE(values<Case>({
      // What a parent says is said again by its children.
      {R"({"subGroups":[{"name":"top","minMember":4},{"name":"a","parent":"top","minMember":3},
           {"name":"b","parent":"top","minMember":1}]})",
       4,
       {{"a", 3}, {"b", 1}}},
      {R"({"minMember":9,"subGroups":[{"name":"a","minMember":2}]})", 2, {{"a", 2}}},
      {R"({"minMember":1,"subGroups":[{"name":"a","minMember":2}]})", 2, {{"a", 2}}},
      {R"({"minMember":9,"subGroups":[{"name":"a"}]})", 1, {}},
      {R"({"minMember":9,"subGroups":[]})", 9, {}},
      {R"({"minMember":0})", 1, {}},
      {R"({"minMember":null})", 1, {}},
      {R"({"subGroups":[{"name":"a","minMember":9223372036854775807},
           {"name":"b","minMember":9223372036854775807}]})",
       INT64_MAX,
       {{"a", INT64_MAX}, {"b", INT64_MAX}}},
  }));
  CAPTURE(c.spec);
  const PodGroup group = Decode("scheduling.run.ai/v2alpha2", c.spec);
  CHECK(group.defect.empty());
  CHECK(group.min_member == c.min_member);
  CHECK(group.roles == c.roles);
}

TEST_CASE("a malformed PodGroup is kept with its defect", "[kube][podgroup]") {
  struct Case {
    std::string api_version;
    std::string spec;
    std::string want;
  };
  const std::string native = "scheduling.k8s.io/v1beta1";
  const std::string kai = "scheduling.run.ai/v2alpha2";
  const Case c = GENERATE_COPY(values<Case>({
      {kPlainVersion, R"({"minMember":"4"})",
       "PodGroup.spec.minMember: expected a whole number, found a text"},
      {kPlainVersion, R"({"minMember":4.0})", "PodGroup.spec.minMember: expected a whole number"},
      {kPlainVersion, R"({"minMember":18446744073709551615})",
       "PodGroup.spec.minMember: expected a whole"},
      {kPlainVersion, R"({"scheduleTimeoutSeconds":-1})", "PodGroup.spec.scheduleTimeoutSeconds: "},
      {kPlainVersion, "null", "PodGroup.spec: is missing"},
      {kPlainVersion, "[]", "PodGroup.spec: expected an object, found a list"},
      {native, "{}", "PodGroup.spec.schedulingPolicy: expected either gang or basic"},
      {native, R"({"schedulingPolicy":{"gang":{"minCount":1},"basic":{}}})",
       "PodGroup.spec.schedulingPolicy: expected either"},
      {native, R"({"schedulingPolicy":{"gang":{}}})",
       "PodGroup.spec.schedulingPolicy.gang.minCount: is"},
      {"scheduling.volcano.sh/v1beta1", R"({"minTaskMember":{"a":-1}})",
       "PodGroup.spec.minTaskMember.a: expected a whole number from 0"},
      {kai, R"({"subGroups":[{"minMember":1}]})", "PodGroup.spec.subGroups[0].name: is missing"},
      {kai, R"({"subGroups":[{"name":"a","minMember":15},{"name":"a","minMember":1}]})",
       "PodGroup.spec.subGroups[1].name: another subgroup has the same name"},
      {kai, R"({"subGroups":[{"name":"a"},{"name":"b"},{"name":"a","parent":"b"}]})",
       "PodGroup.spec.subGroups[2].name: another subgroup has the same name"},
      {kai, R"({"subGroups":[{"name":"a","minMember":1,"parent":"b"}]})",
       "PodGroup.spec.subGroups[0].parent: no subgroup has that name"},
      {kai, R"({"subGroups":[{"name":"a","minMember":1,"parent":"a"}]})",
       "PodGroup.spec.subGroups[0].parent: does not lead to a subgroup without parent"},
      {kai, R"({"subGroups":[{"name":"x","minMember":1},{"name":"a","parent":"b"},
           {"name":"b","parent":"a"}]})",
       "PodGroup.spec.subGroups[1].parent: does not lead to a subgroup without parent"},
  }));
  CAPTURE(c.spec);
  CHECK_THAT(Decode(c.api_version, c.spec).defect, Catch::StartsWith(c.want));
}

TEST_CASE("a PodGroup that cannot be identified is refused", "[kube][podgroup]") {
  const auto error = [](const std::string& text) {
    const cluster::Result<PodGroup> group = DecodePodGroup(text);
    return group.ok() ? "" : group.error().ToString();
  };
  CHECK(error(Group("example.com/v1", "{}")) ==
        "PodGroup.apiVersion: not an API group of PodGroups that Muster knows");
  CHECK(error(R"({"metadata":{"name":"g","namespace":"n","uid":"u"},"spec":{}})") ==
        "PodGroup.apiVersion: not an API group of PodGroups that Muster knows");
  CHECK(error(R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","metadata":{"name":"g"}})") ==
        "PodGroup.metadata.namespace: is missing");
}

TEST_CASE("a level of the fabric is asked for by annotation", "[kube][pod-group]") {
  const auto decode = [](const std::string& annotations) {
    const auto group = DecodePodGroup(
        R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"name":"g",)"
        R"("namespace":"default","uid":"u","annotations":{)" +
        annotations + R"(}},"spec":{"minMember":2}})");
    REQUIRE(group.ok());
    return group->topology;
  };
  CHECK(decode("").none());
  CHECK(decode(R"("muster.dev/topology-required":"","x":"rack")").none());
  CHECK(
      decode(R"("muster.dev/topology-required":"block","muster.dev/topology-preferred":"rack")") ==
      cluster::TopologyTerms{"block", "rack"});
}

// The terms of a PodGroup of that API, with these annotations and this spec.
cluster::PodGroup WithTerms(const std::string& api, const std::string& annotations,
                            const std::string& spec) {
  const auto group = DecodePodGroup(
      R"({"apiVersion":")" + api +
      R"(","kind":"PodGroup","metadata":{"name":"g","namespace":"default","uid":"u",)" +
      R"("annotations":{)" + annotations + R"(}},"spec":{)" + spec + "}}");
  REQUIRE(group.ok());
  return *group;
}

TEST_CASE("segments are listed by level and size, the largest first", "[kube][pod-group]") {
  const auto decode = [](const std::string& annotations) {
    return WithTerms("scheduling.x-k8s.io/v1alpha1", annotations, R"("minMember":16)");
  };
  const cluster::PodGroup group =
      decode(R"("muster.dev/topology-segments-required":"rack=4,dc/block=8",)"
             R"("muster.dev/topology-segments-preferred":"example.com/nvl=2")");
  CHECK(group.defect.empty());
  CHECK(group.topology ==
        cluster::TopologyTerms{
            "", "", {{"dc/block", 8, true}, {"rack", 4, true}, {"example.com/nvl", 2, false}}});
  const auto defect = [&](const std::string& text) {
    return decode(R"("muster.dev/topology-segments-required":")" + text + "\"").defect;
  };
  const std::string place =
      R"(PodGroup.metadata.annotations["muster.dev/topology-segments-required"]: )";
  CHECK(defect("rack=8,block=12") ==
        place + "segments of 12 cannot be cut into segments of 8: 12 = 1 × 8 + 4");
  CHECK(defect("a=16,b=8,c=4,d=2,e=1") == place + "more than 4 layers of segments");
  for (const std::string wrong :
       {"rack", "=4", "rack=", "rack=0", "rack=-4", "rack=4x", "rack=4;block=8", "rack=1000001"}) {
    INFO(wrong);
    CHECK(defect(wrong) == place +
                               "expected LEVEL=SIZE, SIZE from 1 to 1000000, separated by "
                               "commas, got \"" +
                               wrong + "\"");
  }
}

TEST_CASE("how a gang is divided and spread is said by annotation, beside any levels",
          "[kube][pod-group]") {
  const auto decode = [](const std::string& annotations, const std::string& api = kPlainVersion,
                         const std::string& spec = R"("minMember":2)") {
    const PodGroup group = WithTerms(api, annotations, spec);
    CHECK(group.defect.empty());
    return group.topology;
  };
  const auto said = [](cluster::TopologyTerms levels, cluster::Balance balance,
                       const std::string& spread, const std::string& group) {
    levels.balance = balance;
    levels.spread = spread;
    levels.spread_group = group;
    return levels;
  };
  using cluster::Balance;
  const std::string pack = R"("muster.dev/topology-balance":"pack")";
  const std::string spread =
      R"("muster.dev/topology-spread":"dc/rack","muster.dev/spread-group":"chat")";
  CHECK(decode(R"("muster.dev/topology-balance":"even")") == said({}, Balance::kEven, "", ""));
  CHECK(decode(pack) == said({}, Balance::kPack, "", ""));
  CHECK(decode(R"("muster.dev/topology-balance":"","muster.dev/spread-group":"")").none());
  CHECK(decode(spread) == said({}, Balance::kUnsaid, "dc/rack", "chat"));
  CHECK(decode(R"("muster.dev/topology-spread":"rack")") == said({}, Balance::kUnsaid, "rack", ""));
  // Other systems may say the levels.
  const std::string kueue = "annotations kueue.x-k8s.io/podset-…-topology";
  CHECK(decode(pack + R"(,"kueue.x-k8s.io/podset-required-topology":"r")") ==
        said({"r", "", {}, kueue}, Balance::kPack, "", ""));
  CHECK(decode(spread, "scheduling.run.ai/v2alpha2",
               R"("minMember":2,"topologyConstraint":{"requiredTopologyLevel":"r"})") ==
        said({"r", "", {}, "spec.topologyConstraint"}, Balance::kUnsaid, "dc/rack", "chat"));
}

TEST_CASE("a balance that is neither even nor pack is reported with both", "[kube][pod-group]") {
  const auto defect = [](const std::string& annotation) {
    return WithTerms(kPlainVersion, annotation, R"("minMember":2)").defect;
  };
  for (const std::string wrong : {"Pack", "spread", "even,pack"}) {
    CHECK(defect(R"("muster.dev/topology-balance":")" + wrong + "\"") ==
          R"(PodGroup.metadata.annotations["muster.dev/topology-balance"]: )"
          "expected even or pack, got \"" +
              wrong + "\"");
  }
  CHECK(defect(R"("muster.dev/spread-group":")" + std::string(254, 'x') + "\"") ==
        R"(PodGroup.metadata.annotations["muster.dev/spread-group"]: )"
        "expected a name of at most 253 bytes");
}

// LeaderWorkerSet puts its name on the pods, not on the PodGroups that it makes for Volcano.
TEST_CASE("replicas of a LeaderWorkerSet are one spread group where they name none",
          "[kube][pod]") {
  const auto decode = [](const std::string& annotations) {
    const auto pod = DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":)"
                               R"({"leaderworkerset.sigs.k8s.io/name":"chat"},"annotations":{)" +
                               annotations + R"(}},"spec":{}})");
    REQUIRE(pod.ok());
    return pod->spec->topology;
  };
  CHECK(decode("").none());
  CHECK(decode(R"("muster.dev/topology-spread":"rack")").spread_group == "chat");
  CHECK(decode(R"("muster.dev/topology-spread":"rack","muster.dev/spread-group":"all")")
            .spread_group == "all");
}

TEST_CASE("what teams write for Kueue, KAI and Volcano says where a gang wants to be",
          "[kube][pod-group]") {
  const auto terms = [](const std::string& annotations) {
    cluster::PodGroup group =
        WithTerms("scheduling.x-k8s.io/v1alpha1", annotations, R"("minMember":16)");
    CHECK(group.defect.empty());
    group.topology.said_by.clear();
    return group.topology;
  };
  CHECK(terms(R"("kueue.x-k8s.io/podset-required-topology":"example.com/rack")") ==
        cluster::TopologyTerms{"example.com/rack", ""});
  CHECK(terms(R"("kueue.x-k8s.io/podset-preferred-topology":"example.com/block",)"
              R"("kueue.x-k8s.io/podset-slice-required-topology":"example.com/rack",)"
              R"("kueue.x-k8s.io/podset-slice-size":"4")") ==
        cluster::TopologyTerms{"", "example.com/block", {{"example.com/rack", 4, true}}});
  CHECK(terms(R"("kueue.x-k8s.io/podset-slice-required-topology-constraints":)"
              R"("[{\"topology\":\"r\",\"size\":\"8\"},{\"topology\":\"b\",\"size\":16}]")") ==
        cluster::TopologyTerms{"", "", {{"b", 16, true}, {"r", 8, true}}});
  CHECK(terms(R"("kai.scheduler/topology-required-placement":"b",)"
              R"("kai.scheduler/topology-preferred-placement":"r",)"
              R"("kai.scheduler/segment-size":"4",)"
              R"("kai.scheduler/segment-topology-required-placement":"r",)"
              R"("kai.scheduler/segment-topology-preferred-placement":"h")") ==
        cluster::TopologyTerms{"b", "r", {{"r", 4, true}, {"h", 4, false}}});
  CHECK(terms(R"("volcano.sh/network-topology-mode":"hard",)"
              R"("volcano.sh/network-topology-highest-tier":"2")") ==
        cluster::TopologyTerms{"tier-2", ""});
  CHECK(terms(R"("volcano.sh/network-topology-mode":"soft")") ==
        cluster::TopologyTerms{"", "tier-1"});
  // Muster's own annotations count alone.
  CHECK(terms(R"("muster.dev/topology-preferred":"rack",)"
              R"("kueue.x-k8s.io/podset-required-topology":"example.com/block")") ==
        cluster::TopologyTerms{"", "rack"});
}

TEST_CASE("what a PodGroup of KAI, Volcano or kube-scheduler requires is in its spec",
          "[kube][pod-group]") {
  const cluster::PodGroup kai =
      WithTerms("scheduling.run.ai/v2alpha2", "",
                R"("minMember":2,"topologyConstraint":{"topology":"t","requiredTopologyLevel":"r",)"
                R"("preferredTopologyLevel":"h"})");
  CHECK(kai.topology == cluster::TopologyTerms{"r", "h", {}, "spec.topologyConstraint"});
  const cluster::PodGroup volcano =
      WithTerms("scheduling.volcano.sh/v1beta1", "",
                R"("minMember":2,"networkTopology":{"mode":"soft","highestTierAllowed":2})");
  CHECK(volcano.topology == cluster::TopologyTerms{"", "tier-2", {}, "spec.networkTopology"});
  const cluster::PodGroup native =
      WithTerms("scheduling.k8s.io/v1beta1", "",
                R"("schedulingPolicy":{"gang":{"minCount":2}},)"
                R"("schedulingConstraints":{"topology":[{"key":"example.com/rack"}]})");
  CHECK(native.topology ==
        cluster::TopologyTerms{"example.com/rack", "", {}, "spec.schedulingConstraints.topology"});
}

TEST_CASE("what is malformed in other systems' annotations is reported with its place",
          "[kube][pod-group]") {
  const auto defect = [](const std::string& annotations) {
    return WithTerms("scheduling.x-k8s.io/v1alpha1", annotations, R"("minMember":16)").defect;
  };
  CHECK(defect(R"("kueue.x-k8s.io/podset-slice-required-topology":"r",)"
               R"("kueue.x-k8s.io/podset-slice-size":"four")") ==
        R"(PodGroup.metadata.annotations["kueue.x-k8s.io/podset-slice-size"]: )"
        R"(expected a number of pods from 1 to 1000000, got "four")");
  CHECK(defect(R"("kai.scheduler/segment-topology-required-placement":"r")") ==
        R"(PodGroup.metadata.annotations["kai.scheduler/segment-size"]: )"
        R"(expected a number of pods from 1 to 1000000, got "")");
  const std::string key = "kueue.x-k8s.io/podset-slice-required-topology-constraints";
  const auto layers = [&](const std::string& text) {
    const std::string place = "PodGroup.metadata.annotations[\"" + key + "\"]";
    const std::string said = defect("\"" + key + "\":\"" + text + "\"");
    REQUIRE(said.starts_with(place));
    return said.substr(place.size());
  };
  CHECK(layers("[{") == ".byte 2: not valid JSON: Missing a name for object member.");
  CHECK(layers("{}") == ".layers: expected a list, found an object");
  CHECK(layers(R"([{\"topology\":\"r\"}])") ==
        ".layers[0].size: expected a number of pods of at least 1");
  CHECK(layers(R"([{\"size\":\"8\"}])") == ".layers[0].topology: is missing");
  CHECK(layers("[1]") == ".layers[0]: expected an object, found a number");
}

TEST_CASE("of the groups of Kubernetes 1.37 kube-scheduler waits for all gates",
          "[kube][podgroup]") {
  const auto together = [](const std::string& version) {
    const auto group =
        DecodePodGroup(R"({"apiVersion":")" + version +
                       R"(","kind":"PodGroup","metadata":{"name":"g","namespace":"n","uid":"u"},)"
                       R"("spec":{"minMember":2,"schedulingPolicy":{"gang":{"minCount":2}}}})");
    REQUIRE(group.ok());
    return group->gates_together;
  };
  CHECK(together("scheduling.k8s.io/v1beta1"));
  CHECK(together("scheduling.k8s.io/v1alpha3"));
  CHECK_FALSE(together("scheduling.k8s.io/v1alpha2"));
  CHECK_FALSE(together("scheduling.x-k8s.io/v1alpha1"));
  CHECK_FALSE(together("scheduling.volcano.sh/v1beta1"));
}

}  // namespace
}  // namespace muster::kube
