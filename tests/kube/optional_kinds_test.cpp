// Kinds that a ClusterFeed reads where they are served: NodeResourceTopologies.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "kube/cluster_feed.hpp"
#include "tests/kube/feed_world.hpp"

namespace muster::kube {
namespace {

using std::chrono::milliseconds;

const char* const kTopologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
const char* const kTopologiesList =
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies?limit=500";
const char* const kNodes = "/api/v1/nodes";

std::string Topology(const std::string& policy) {
  return R"({"metadata":{"name":"n","uid":"t-uid","resourceVersion":"7"},)"
         R"("attributes":[{"name":"topologyManagerPolicy","value":")" +
         policy + R"("}]})";
}

std::string Node(const std::string& annotations) {
  return R"({"metadata":{"name":"n","uid":"n-uid","resourceVersion":"8","annotations":{)" +
         annotations + "}}}";
}

std::ptrdiff_t Warned(const FeedWorld& world, const std::string& begin) {
  const FeedWorld::Texts warned = world.warned();
  return std::count_if(warned.begin(), warned.end(),
                       [&](const std::string& line) { return line.starts_with(begin); });
}

TEST_CASE("a node has the NUMA policy of its NodeResourceTopology before anything starts",
          "[kube][feed][numa]") {
  FeedWorld world;
  world.Serve("topology.node.k8s.io/v1alpha2", "noderesourcetopologies",
              Topology("single-numa-node"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.LastTold("node n") == "node n single-numa-node");
  SECTION("it follows the object") {
    world.Send(kTopologies, "MODIFIED", Topology("restricted"));
    REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n restricted"; }));
    world.Send(kTopologies, "DELETED", Topology("restricted"));
    REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n"; }));
  }
  SECTION("the annotation takes precedence, and leaves") {
    world.Send(kNodes, "MODIFIED", Node(R"("muster.dev/topology-manager-policy":"best-effort")"));
    REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n best-effort"; }));
    world.Send(kTopologies, "MODIFIED", Topology("restricted"));
    world.Send(kNodes, "MODIFIED", Node(R"("muster.dev/topology-manager-policy":"none")"));
    REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n"; }));
    CHECK_FALSE(world.Told("node n restricted"));
    world.Send(kNodes, "MODIFIED", Node(""));
    REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n restricted"; }));
  }
  SECTION("a policy that is not known is none, and said with its object and place") {
    world.Send(kTopologies, "MODIFIED", Topology("strict"));
    REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n"; }));
    CHECK(Warned(world,
                 "noderesourcetopologies.topology.node.k8s.io: n: the NUMA policy is not known and "
                 "counts as none: NodeResourceTopology.attributes[0].value: expected none") == 1);
  }
}

TEST_CASE("NodeResourceTopologies whose CRD appears later are joined to the nodes that are there",
          "[kube][feed][numa]") {
  FeedWorld world;
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.LastTold("node n") == "node n");
  world.Serve("topology.node.k8s.io/v1alpha1", "noderesourcetopologies",
              R"({"metadata":{"name":"n","uid":"t-uid"},"topologyPolicies":["Restricted"]})");
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n restricted"; }));
  // The CRD is brought up to date: the same objects, and the policy of this one is another now.
  world.Serve("topology.node.k8s.io/v1alpha2", "noderesourcetopologies", Topology("best-effort"));
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n best-effort"; }));
  const auto health = world.feed->Health();
  CHECK(std::count_if(health.begin(), health.end(), [](const FeedHealth& one) {
          return one.resource == "noderesourcetopologies.topology.node.k8s.io" && !one.needed;
        }) == 1);
}

TEST_CASE("a CRD of NodeResourceTopologies that is deleted takes its policies with it",
          "[kube][feed][numa]") {
  FeedWorld world(std::chrono::hours(1), std::chrono::minutes(1), milliseconds(20));
  world.Serve("topology.node.k8s.io/v1alpha2", "noderesourcetopologies", Topology("restricted"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n restricted"; }));
  world.api.On(Method::kGet, kTopologiesList, Refusal(404, "page not found"));
  world.api.On(Method::kGet, "/apis", Reply(200, Groups("", "")));
  world.Send(kTopologies, "ERROR", R"({"kind":"Status","code":410,"message":"gone"})");
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n"; }));
  // And brings them back.
  world.Serve("topology.node.k8s.io/v1alpha2", "noderesourcetopologies", Topology("best-effort"));
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n best-effort"; }));
}

TEST_CASE("NodeResourceTopologies that may not be read hold up nothing, and that is said once",
          "[kube][feed][numa]") {
  FeedWorld world(milliseconds(500));
  world.Serve("topology.node.k8s.io/v1alpha2", "noderesourcetopologies", "");
  world.api.On(Method::kGet, kTopologiesList,
               Refusal(403, "noderesourcetopologies.topology.node.k8s.io is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.LastTold("node n") == "node n");
  CHECK(world.feed->Refresh([] { return true; }));
  // Of all that is silent, no word of them.
  REQUIRE(Eventually([&] {
    return world.Told("silence [namespaces, nodes, pods, poddisruptionbudgets, priorityclasses]");
  }));
  CHECK(Warned(world, "noderesourcetopologies.topology.node.k8s.io: list failed") == 1);
  // The right is given later.
  world.api.On(Method::kGet, kTopologiesList, Reply(200, ListOf("List", Topology("restricted"))));
  CHECK(Eventually([&] { return world.LastTold("node n") == "node n restricted"; }));
}

}  // namespace
}  // namespace muster::kube
