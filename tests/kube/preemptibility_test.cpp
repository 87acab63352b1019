// Who says that it is not to be evicted, by whatever name its ecosystem gives that.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"

namespace muster::kube {
namespace {

using Said = std::optional<bool>;

std::string Meta(const std::string& labels, const std::string& annotations) {
  return R"("metadata":{"name":"x","namespace":"n","uid":"u","labels":{)" + labels +
         R"(},"annotations":{)" + annotations + "}}";
}

cluster::Pod ReadPod(const std::string& labels, const std::string& annotations) {
  const auto pod = DecodePod(
      "{" + Meta(labels, annotations) + R"(,"spec":{"containers":[{"name":"c"}]},"status":{}})",
      {});
  REQUIRE(pod.ok());
  return *pod;
}

Said OfPod(const std::string& labels, const std::string& annotations) {
  return ReadPod(labels, annotations).preemptible;
}

cluster::PodGroup ReadGroup(const std::string& version, const std::string& labels,
                            const std::string& annotations, const std::string& spec) {
  const auto group = DecodePodGroup(R"({"apiVersion":")" + version + R"(","kind":"PodGroup",)" +
                                    Meta(labels, annotations) + R"(,"spec":{)" + spec + "}}");
  REQUIRE(group.ok());
  return *group;
}

constexpr const char* kPreemptibilityKai = "scheduling.run.ai/v2alpha2";
constexpr const char* kPlain = "scheduling.x-k8s.io/v1alpha1";

TEST_CASE("the first word about preemptibility counts", "[kube][preemptible]") {
  CHECK(OfPod("", "") == Said());
  CHECK(OfPod("", R"("muster.dev/preemptible":"false")") == Said(false));
  CHECK(OfPod(R"("muster.dev/preemptible":"false")", "") == Said(false));
  CHECK(OfPod(R"("kai.scheduler/preemptibility":"non-preemptible")", "") == Said(false));
  CHECK(OfPod(R"("kai.scheduler/preemptibility":"semi-preemptible")", "") == Said(false));
  CHECK(OfPod(R"("kai.scheduler/preemptibility":"preemptible")", "") == Said(true));
  CHECK(OfPod("", R"("volcano.sh/preemptable":"false")") == Said(false));
  CHECK(OfPod("", R"("volcano.sh/preemptable":"0")") == Said(false));
  CHECK(OfPod("", R"("volcano.sh/preemptable":"True")") == Said(true));
  CHECK(OfPod(R"("kai.scheduler/preemptibility":"non-preemptible")",
              R"("muster.dev/preemptible":"true","volcano.sh/preemptable":"false")") == Said(true));
}

TEST_CASE("what other systems do not understand says nothing; Muster's own word is true or false",
          "[kube][preemptible]") {
  CHECK(OfPod(R"("kai.scheduler/preemptibility":"no")", R"("volcano.sh/preemptable":"no")") ==
        Said());
  const cluster::PodGroup group =
      ReadGroup(kPlain, "", R"("muster.dev/preemptible":"no")", R"("minMember":1)");
  CHECK(group.preemptible == Said());
  CHECK(group.defect.find("expected \"true\" or \"false\", got \"no\"") != std::string::npos);
}

TEST_CASE("a PodGroup says it by labels and annotations, KAI's also in its spec",
          "[kube][preemptible]") {
  const std::string spec = R"("minMember":1,"preemptibility":"non-preemptible")";
  CHECK(ReadGroup(kPreemptibilityKai, "", "", spec).preemptible == Said(false));
  CHECK(ReadGroup(kPlain, "", "", spec).preemptible == Said());
  CHECK(ReadGroup(kPreemptibilityKai, "", R"("muster.dev/preemptible":"true")", spec).preemptible ==
        Said(true));
  CHECK(ReadGroup(kPlain, "", R"("volcano.sh/preemptable":"false")", "").preemptible ==
        Said(false));
}

TEST_CASE("what a pod says of its preemptibility survives being written", "[kube][preemptible]") {
  const cluster::Pod pod = ReadPod(R"("kai.scheduler/preemptibility":"non-preemptible")", "");
  const auto again = DecodePod(EncodePod(pod));
  REQUIRE(again.ok());
  CHECK(again->preemptible == Said(false));
}

}  // namespace
}  // namespace muster::kube
