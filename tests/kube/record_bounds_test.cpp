// Records are small whatever the objects are.
#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/node_devices.hpp"
#include "kube/watch/resource.hpp"

namespace muster::kube {
namespace {

using cluster::Result;

std::string Times(int count, const std::string& text) {
  std::string many = text;
  for (int i = 1; i < count; ++i) many += "," + text;
  return many;
}

std::string PodOf(const std::string& meta, const std::string& spec) {
  return R"({"metadata":{"name":"p","namespace":"n","uid":"u")" + meta + R"(},"spec":{)" + spec +
         "}}";
}

TEST_CASE("of many gates a few are kept, Muster's among them", "[kube][fat]") {
  const Result<cluster::Pod> pod =
      DecodePod(PodOf("", R"("schedulingGates":[)" + Times(5'000, R"({"name":"x"})") +
                              R"(,{"name":"muster.dev/gang"}])"));
  REQUIRE(pod.ok());
  CHECK(pod->gates.size() == 65);
  CHECK(pod->gated_by_muster());
  CHECK(pod->gated_by_others());
}

TEST_CASE("annotations leave no more in a record than they may", "[kube][fat]") {
  std::string indices = "0";
  for (int i = 1; i < 20'000; ++i) indices += "," + std::to_string(i);
  const Result<cluster::Pod> pod =
      DecodePod(PodOf(R"(,"annotations":{"muster.dev/gpus":")" + indices +
                          R"(","muster.dev/defect":")" + std::string(100'000, 'd') + R"("})",
                      ""));
  REQUIRE(pod.ok());
  CHECK(pod->bound_gpus.empty());
  CHECK(pod->defect == std::string(1024, 'd'));
  const Result<cluster::Pod> named = DecodePod(
      PodOf(R"(,"annotations":{"pod-group-name":")" + std::string(100'000, 'g') + R"("})", ""));
  REQUIRE(named.ok());
  CHECK(named->pod_group.empty());
  CHECK_THAT(named->defect, Catch::StartsWith("Pod.metadata.annotations: holds a text"));
}

TEST_CASE("a node takes as many devices by their indices as a node may have", "[kube][fat]") {
  std::string indices = "0";
  for (int i = 1; i < kMaxGpusPerNode; ++i) indices += "," + std::to_string(i);
  const auto bound = [](const std::string& text) {
    return DecodePod(PodOf(R"(,"annotations":{"muster.dev/gpus":")" + text + R"("})", ""))
        ->bound_gpus.size();
  };
  CHECK(bound(indices) == static_cast<size_t>(kMaxGpusPerNode));
  CHECK(bound(indices + "," + std::to_string(kMaxGpusPerNode)) == 0);
}

TEST_CASE("a PodGroup of very many roles is one with a defect", "[kube][fat]") {
  const auto group = [](int roles) {
    std::string text = R"({"apiVersion":"scheduling.run.ai/v2alpha2","metadata":{"name":"g",)"
                       R"("namespace":"n","uid":"u"},"spec":{"minMember":1,"subGroups":[)";
    for (int i = 0; i < roles; ++i) {
      text += (i == 0 ? "" : ",") + (R"({"name":"r)" + std::to_string(i)) + R"(","minMember":1})";
    }
    return text + "]}}";
  };
  const Result<cluster::PodGroup> fine = DecodePodGroup(group(1'024));
  REQUIRE(fine.ok());
  CHECK(fine->defect.empty());
  CHECK(fine->roles.size() == 1'024);
  const Result<cluster::PodGroup> many = DecodePodGroup(group(1'025));
  REQUIRE(many.ok());
  CHECK(many->defect == "PodGroup.spec.subGroups[1024].minMember: more than 1024 roles");
  CHECK(many->roles.size() == 1'024);
  const Result<cluster::PodGroup> large = DecodePodGroup(group(100'000));
  REQUIRE(large.ok());
  CHECK(large->key.name == "g");
  CHECK(large->defect == "PodGroup.spec.subGroups: is larger than 262144 bytes, it is not read");
  CHECK(large->roles.empty());
}

TEST_CASE("a node of which something is left out stays known and takes no more pods",
          "[kube][fat]") {
  const std::string text =
      R"({"metadata":{"name":"a","uid":"u","labels":{"k":")" + std::string(5'000, 'v') +
      R"("}},"status":{"allocatable":{"cpu":"4"},"conditions":[{"type":"Ready","status":"True"}]}})";
  const Result<DecodedNode> node = DecodeNode(text);
  REQUIRE(node.ok());
  CHECK(node->node.name == "a");
  CHECK(node->node.ready);
  CHECK(node->node.unschedulable);
  CHECK(node->node.labels.empty());
  CHECK(node->node.allocatable.cpu == cluster::MilliCpu(4000));
  REQUIRE(node->warnings.size() == 1);
  CHECK_THAT(node->warnings[0], Catch::Contains("takes no more pods: Node.metadata.labels: holds"));
}

TEST_CASE("a budget or a namespace of which something is left out is reported, and why",
          "[kube][fat]") {
  const std::string long_map = R"({"k":")" + std::string(5'000, 'v') + R"("})";
  const std::string meta = R"("name":"b","namespace":"n","uid":"u")";
  const auto observe = [](const Resource& resource, const std::string& text) {
    const Result<KeptObject> object = KeptObject::Read(text, resource.fields, resource.kind, {});
    REQUIRE(object.ok());
    Result<Observed> observed = resource.decode(*object);
    REQUIRE(observed.ok());
    REQUIRE(observed->warnings.size() == 1);
    CHECK_THAT(observed->warnings[0], Catch::Contains("it is not read"));
    return std::get<engine::Fact>(std::move(observed->news));
  };
  const engine::Fact budget = observe(
      DisruptionBudgetResource(),
      R"({"metadata":{)" + meta + R"(},"spec":{"selector":{"matchLabels":)" + long_map + "}}}");
  const auto& selector = std::get<cluster::DisruptionBudget>(budget).selector;
  REQUIRE(selector);
  CHECK(selector->empty());  // every pod of the namespace
  const engine::Fact ns =
      observe(NamespaceResource(), R"({"metadata":{)" + meta + R"(,"labels":)" + long_map + "}}");
  CHECK(std::get<cluster::Namespace>(ns).labels.empty());
}

TEST_CASE("a selector beyond all measure means every pod", "[kube][fat]") {
  const auto budget = [](int values) {
    const std::string text =
        R"({"metadata":{"name":"b","namespace":"n","uid":"u"},"spec":{"selector":)"
        R"({"matchExpressions":[{"key":"k","operator":"In","values":[)" +
        Times(values, "\"\"") + "]}]}}}";
    const Result<KeptObject> object = KeptObject::Read(text, DisruptionBudgetFields(), "b", {});
    REQUIRE(object.ok());
    return DecodeDisruptionBudget(object->node(), object->With({}));
  };
  CHECK(budget(2'000)->selector->size() == 1);
  CHECK(budget(3'000)->selector->empty());
}

}  // namespace
}  // namespace muster::kube
