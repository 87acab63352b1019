#include <catch2/catch.hpp>
#include <string>

#include "kube/decode.hpp"

namespace muster::kube {
namespace {

using cluster::PodGroup;
using cluster::RoleMinimum;

std::string Group(const std::string& api_version, const std::string& spec) {
  return R"({"apiVersion":")" + api_version + R"(","kind":"PodGroup","metadata":{"name":"g",
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

}  // namespace
}  // namespace muster::kube
