// What PodGroups say beside their size: priority, and how they may be taken apart.
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

cluster::PodGroup WordsOf(const std::string& version, const std::string& spec,
                          const std::string& labels = "") {
  const std::string kind = version.starts_with("scheduler.grove.io") ? "PodGang" : "PodGroup";
  const auto group =
      DecodePodGroup(R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                     R"(","metadata":{"name":"g","namespace":"n","uid":"u","labels":{)" + labels +
                     R"(}},"spec":{)" + spec + "}}");
  REQUIRE(group.ok());
  CHECK(group->defect.empty());
  return *group;
}

const std::string kBeta = "scheduling.k8s.io/v1beta1";
const std::string kAlpha3 = "scheduling.k8s.io/v1alpha3";
const std::string kAlpha2 = "scheduling.k8s.io/v1alpha2";
const std::string kGang = R"("schedulingPolicy":{"gang":{"minCount":2}})";

TEST_CASE("Kubernetes' PodGroup says the priority of all of its pods", "[kube][podgroup]") {
  for (const std::string& version : {kBeta, kAlpha3, kAlpha2}) {
    CHECK(WordsOf(version, kGang).priority.none());
    const cluster::GroupPriority said =
        WordsOf(version, kGang + R"(,"priorityClassName":"high","priority":1000)").priority;
    CHECK(said.value == 1000);
    CHECK(said.class_name == "high");
    CHECK(said.policy_of_class);
    CHECK_FALSE(said.preempts.has_value());
    CHECK(WordsOf(version, kGang + R"(,"priority":-5)").priority.value == -5);
    CHECK(WordsOf(version, kGang + R"(,"preemptionPolicy":"Never")").priority.preempts == false);
    CHECK(WordsOf(version, kGang + R"(,"preemptionPolicy":"PreemptLowerPriority")")
              .priority.preempts == true);
  }
}

TEST_CASE("Volcano, KAI and Grove name the class, and KAI by a label as well", "[kube][podgroup]") {
  const auto class_of = [](const std::string& version, const std::string& spec,
                           const std::string& labels = "") {
    const cluster::GroupPriority said = WordsOf(version, spec, labels).priority;
    CHECK_FALSE(said.value.has_value());
    CHECK_FALSE(said.policy_of_class);
    return said.class_name;
  };
  const std::string spec = R"("minMember":2,"priorityClassName":"high","priority":3)";
  const std::string label = R"("priorityClassName":"train")";
  CHECK(class_of("scheduling.volcano.sh/v1beta1", spec) == "high");
  CHECK(class_of("scheduling.volcano.sh/v1beta1", R"("minMember":2)", label).empty());
  CHECK(class_of("scheduling.run.ai/v2alpha2", spec, label) == "high");
  CHECK(class_of("scheduling.run.ai/v2alpha2", R"("minMember":2)", label) == "train");
  CHECK(class_of("scheduler.grove.io/v1alpha1",
                 R"("podgroups":[{"name":"a","minReplicas":1}],"priorityClassName":"high")") ==
        "high");
  CHECK(class_of("scheduling.x-k8s.io/v1alpha1", spec).empty());
}

TEST_CASE("KAI's label on a pod says the class of its gang", "[kube][pod]") {
  const auto pod = DecodePod(
      R"({"metadata":{"name":"x","namespace":"n","uid":"u","labels":{"priorityClassName":"train"}},)"
      R"("spec":{"containers":[{"name":"c"}]},"status":{}})");
  REQUIRE(pod.ok());
  CHECK(pod->spec->gang_class == "train");
}

TEST_CASE("each version of Kubernetes' PodGroup has its own spelling of its disruption mode",
          "[kube][podgroup]") {
  const auto whole = [](const std::string& version, const std::string& mode) {
    return WordsOf(version, kGang + R"(,"disruptionMode":)" + mode).disrupted_whole;
  };
  for (const std::string& version : {kBeta, kAlpha3}) {
    CHECK_FALSE(WordsOf(version, kGang).disrupted_whole);
    CHECK(whole(version, R"({"all":{}})"));
    CHECK_FALSE(whole(version, R"({"single":{}})"));
    CHECK_FALSE(whole(version, "null"));
  }
  CHECK(whole(kAlpha2, R"("PodGroup")"));
  CHECK_FALSE(whole(kAlpha2, R"("Pod")"));
  CHECK_FALSE(
      WordsOf("scheduling.volcano.sh/v1beta1", R"("minMember":2,"disruptionMode":{"all":{}})")
          .disrupted_whole);
}

}  // namespace
}  // namespace muster::kube
