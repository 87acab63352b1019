// Which queue pods and PodGroups name, by whatever name their ecosystem gives that.
#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"

namespace muster::kube {
namespace {

std::string QueueNameMeta(const std::string& labels, const std::string& annotations) {
  return R"("metadata":{"name":"x","namespace":"n","uid":"u","labels":{)" + labels +
         R"(},"annotations":{)" + annotations + "}}";
}

std::string QueueOfPod(const std::string& labels, const std::string& annotations) {
  const auto pod = DecodePod("{" + QueueNameMeta(labels, annotations) +
                                 R"(,"spec":{"containers":[{"name":"c"}]},"status":{}})",
                             {});
  REQUIRE(pod.ok());
  return pod->asked_queue;
}

std::string QueueOfGroup(const std::string& version, const std::string& labels,
                         const std::string& annotations, const std::string& spec) {
  const auto group =
      DecodePodGroup(R"({"apiVersion":")" + version + R"(","kind":"PodGroup",)" +
                     QueueNameMeta(labels, annotations) + R"(,"spec":{)" + spec + "}}");
  REQUIRE(group.ok());
  return group->queue;
}

const std::string kLabels =  // NOLINT(cert-err58-cpp)
    R"("kueue.x-k8s.io/queue-name":"kueue","kai.scheduler/queue":"kai")";
const std::string kQueueNameVolcano =  // NOLINT(cert-err58-cpp)
    R"("scheduling.volcano.sh/queue-name":"volcano")";

TEST_CASE("the first word about the queue counts", "[kube][queue]") {
  CHECK(QueueOfPod("", "").empty());
  CHECK(QueueOfPod(kLabels, kQueueNameVolcano + R"(,"muster.dev/queue":"own")") == "own");
  CHECK(QueueOfPod(kLabels + R"(,"muster.dev/queue":"own")", kQueueNameVolcano) == "own");
  CHECK(QueueOfPod(kLabels, kQueueNameVolcano) == "kueue");
  CHECK(QueueOfPod(R"("kai.scheduler/queue":"kai")", kQueueNameVolcano) == "kai");
  CHECK(QueueOfPod("", kQueueNameVolcano) == "volcano");
  CHECK(QueueOfPod(kQueueNameVolcano, "") == "volcano");
}

TEST_CASE("a PodGroup names its queue by labels and annotations, else in its spec",
          "[kube][queue]") {
  const std::string volcano = "scheduling.volcano.sh/v1beta1";
  const std::string kai = "scheduling.run.ai/v2alpha2";
  const std::string plain = "scheduling.x-k8s.io/v1alpha1";
  CHECK(QueueOfGroup(volcano, "", "", R"("queue":"team")") == "team");
  CHECK(QueueOfGroup(kai, "", "", R"("queue":"team")") == "team");
  CHECK(QueueOfGroup(plain, "", "", R"("queue":"team")").empty());
  CHECK(QueueOfGroup(kai, R"("muster.dev/queue":"own")", "", R"("queue":"team")") == "own");
  CHECK(QueueOfGroup(plain, R"("kueue.x-k8s.io/queue-name":"q")", "", "") == "q");
  // What these systems write where nobody names one.
  CHECK(QueueOfGroup(volcano, "", "", R"("queue":"default")").empty());
  CHECK(QueueOfGroup(kai, "", "", R"("queue":"default-queue")").empty());
}

TEST_CASE("a pod that is written names its queue again", "[kube][queue]") {
  const auto pod = DecodePod("{" + QueueNameMeta("", kQueueNameVolcano) +
                                 R"(,"spec":{"containers":[{"name":"c"}]},"status":{}})",
                             {});
  REQUIRE(pod.ok());
  const auto again = DecodePod(EncodePod(*pod), {});
  REQUIRE(again.ok());
  CHECK(again->asked_queue == "volcano");
}

}  // namespace
}  // namespace muster::kube
