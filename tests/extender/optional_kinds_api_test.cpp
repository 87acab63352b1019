// Objects of optional kinds on a running service.
#include <catch2/catch.hpp>
#include <string>

#include "service_test_support.hpp"

namespace muster::extender::testing {
namespace {

std::string ClaimingGang(const std::string& name, int members) {
  std::string yaml =
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
      "}\nspec: {minMember: " + std::to_string(members) + "}\n";
  for (int i = 0; i < members; ++i) {
    yaml += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "-" + std::to_string(i) +
            ", labels: {scheduling.x-k8s.io/pod-group: " + name +
            "}}\nspec:\n  schedulerName: muster\n"
            "  resourceClaims: [{name: c, resourceClaimTemplateName: channel}]\n"
            "  containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]\n";
  }
  return yaml;
}

}  // namespace

TEST_CASE("pods of a ComputeDomain that is submitted take a node each", "[api]") {
  TestService test;  // 16 nodes of 8 GPUs
  test.Submit(ClaimingGang("wide", 17));
  REQUIRE(test.Reaches("wide", "Running"));  // nothing says yet what the claims are for
  for (int i = 0; i < 17; ++i)
    CHECK(test.Delete("/v1/objects/pods/default/wide-" + std::to_string(i)).status == 200);
  test.Submit(
      "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d}\n"
      "spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: channel}}}\n");
  test.Submit(ClaimingGang("next", 17));
  CHECK(test.Reaches("next", "Unsatisfiable"));
  test.Submit(ClaimingGang("whole", 16));
  CHECK(test.Reaches("whole", "Running"));
}

}  // namespace muster::extender::testing
