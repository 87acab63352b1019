// Kinds that a ClusterFeed reads where they are served: NodeResourceTopologies, ComputeDomains.
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

const char* const kDomains = "/apis/resource.nvidia.com/v1beta1/computedomains";
const char* const kDomainsList = "/apis/resource.nvidia.com/v1beta1/computedomains?limit=500";
const char* const kPods = "/api/v1/pods";
const char* const kDomain =
    R"({"metadata":{"name":"d","namespace":"team","uid":"d-uid","resourceVersion":"7"},)"
    R"("spec":{"numNodes":0,"channel":{"resourceClaimTemplate":{"name":"channel"}}}})";

std::string Claiming(const std::string& version, const std::string& name = "c") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":")" + name +
         R"(-uid","resourceVersion":")" + version +
         R"("},"spec":{"containers":[{"name":"main"}],)" +
         R"("resourceClaims":[{"name":"x","resourceClaimTemplateName":"channel"}]}})";
}

TEST_CASE("a pod with a claim of a ComputeDomain's template has a channel",
          "[kube][feed][channel]") {
  FeedWorld world;
  world.Serve("resource.nvidia.com/v1beta1", "computedomains", kDomain);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  world.Send(kPods, "ADDED", Claiming("12"));
  // A Filter call may have told the engine of this version, without the channel.
  REQUIRE(Eventually([&] { return world.Told("pod team/c with a channel, corrected"); }));
  CHECK(world.Told("pod team/c with a channel"));
  CHECK_FALSE(world.Told("pod team/c"));
  CHECK(world.versions.Find(cluster::PodUid("c-uid")) == 12);
  world.Send(kDomains, "DELETED", kDomain);
  world.Send(kPods, "MODIFIED", Claiming("13"));
  REQUIRE(Eventually([&] { return world.versions.Find(cluster::PodUid("c-uid")) == 13; }));
  REQUIRE(Eventually([&] { return world.LastTold("pod team/c") == "pod team/c with a channel"; }));
}

TEST_CASE("a pod that is there before its ComputeDomain is corrected when that comes",
          "[kube][feed][channel]") {
  FeedWorld world;
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  world.Send(kPods, "ADDED", Claiming("12"));
  REQUIRE(Eventually([&] { return world.Told("pod team/c"); }));
  SECTION("the CRD comes, too") {
    world.Serve("resource.nvidia.com/v1beta1", "computedomains", kDomain);
    REQUIRE(Eventually([&] { return world.Told("pod team/c with a channel, corrected"); }));
    CHECK_FALSE(world.Told("pod team/c, corrected"));
  }
  SECTION("a write of Muster's is under way: the next event tells it") {
    world.versions.Renew(cluster::PodUid("c-uid"), 13);
    world.Serve("resource.nvidia.com/v1beta1", "computedomains", "");
    REQUIRE(Eventually([&] {
      const auto health = world.feed->Health();
      return std::any_of(health.begin(), health.end(), [](const FeedHealth& one) {
        return one.resource == "computedomains.resource.nvidia.com" && one.synced;
      });
    }));
    world.Send(kPods, "ADDED", Claiming("12", "later"));
    REQUIRE(Eventually([&] { return world.Told("pod team/later"); }));
    world.Send(kDomains, "ADDED", kDomain);
    REQUIRE(Eventually([&] { return world.Told("pod team/later with a channel, corrected"); }));
    CHECK(world.LastTold("pod team/c") == "pod team/c");
    world.Send(kPods, "MODIFIED", Claiming("13"));
    CHECK(Eventually([&] { return world.Told("pod team/c with a channel"); }));
  }
}

TEST_CASE("ComputeDomains that may not be read hold up nothing, and that is said once",
          "[kube][feed][channel]") {
  FeedWorld world;
  world.Serve("resource.nvidia.com/v1beta1", "computedomains", "");
  world.api.On(Method::kGet, kDomainsList, Refusal(403, "computedomains is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  world.Send(kPods, "ADDED", Claiming("12"));
  REQUIRE(Eventually([&] { return world.Told("pod team/c"); }));
  CHECK(Warned(world, "computedomains.resource.nvidia.com: list failed") == 1);
  // The right is given later.
  world.api.On(Method::kGet, kDomainsList, Reply(200, ListOf("List", kDomain)));
  CHECK(Eventually([&] { return world.Told("pod team/c with a channel, corrected"); }));
}

}  // namespace
}  // namespace muster::kube
