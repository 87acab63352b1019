// Kinds that a ClusterFeed reads where they are served: NodeResourceTopologies, ResourceSlices,
// ComputeDomains.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "kube/watch/cluster_feed.hpp"
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

const char* const kSlices = "/apis/resource.k8s.io/v1/resourceslices";
const char* const kOfGpus = "&fieldSelector=spec.driver%3Dgpu.nvidia.com";

// Node n with two GPUs.
std::string GpuNode(const std::string& version) {
  return R"({"metadata":{"name":"n","uid":"n-uid","resourceVersion":")" + version +
         R"("},"status":{"allocatable":{"nvidia.com/gpu":"2"}}})";
}

std::string SliceGpuAt(const std::string& bus, const std::string& root, bool basic) {
  const std::string attributes =
      R"("attributes":{"type":{"string":"gpu"},"pciBusID":{"string":"0000:)" + bus +
      R"(:00.0"},"resource.kubernetes.io/pcieRoot":{"string":")" + root + R"("}})";
  const std::string head = R"({"name":"gpu-)" + bus + R"(",)";
  return head + (basic ? R"("basic":{)" + attributes + "}" : attributes) + "}";
}

// Of node n; both GPUs under one root, or each under its own.
std::string SliceObject(int generation, bool one_root, bool basic = false) {
  return R"({"metadata":{"name":"s","uid":"s-uid","resourceVersion":"7"},"spec":{)"
         R"("driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"n","generation":)" +
         std::to_string(generation) + R"(,"resourceSliceCount":1},"devices":[)" +
         SliceGpuAt("17", "pci0000:16", basic) + "," +
         SliceGpuAt("2a", one_root ? "pci0000:16" : "pci0000:29", basic) + "]}}";
}

void ServeGpuNode(FeedWorld& world) {
  world.api.On(Method::kGet, "/api/v1/nodes?limit=500",
               Reply(200, ListOf("NodeList", GpuNode("3"))));
}

TEST_CASE("a node has the links of its ResourceSlices before anything starts, and follows them",
          "[kube][feed][slices]") {
  FeedWorld world;
  ServeGpuNode(world);
  world.Serve("resource.k8s.io/v1", "resourceslices", SliceObject(1, true), kOfGpus);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.LastTold("node n") == "node n with PHB");
  world.Send(kSlices, "MODIFIED", SliceObject(2, false));
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n with SYS"; }));
  world.Send(kNodes, "MODIFIED",
             R"({"metadata":{"name":"n","uid":"n-uid","resourceVersion":"8"},)"
             R"("status":{"allocatable":{"nvidia.com/gpu":"3"}}})");
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n"; }));
  CHECK(Eventually([&] {
    return Warned(world,
                  "the ResourceSlices of node n say nothing of its links: they have 2 GPUs, the "
                  "node has 3") == 1;
  }));
  world.Send(kNodes, "MODIFIED", GpuNode("9"));
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n with SYS"; }));
  world.Send(kSlices, "DELETED", SliceObject(2, false));
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n"; }));
}

TEST_CASE("ResourceSlices of GPUs that come later are joined to the nodes that are there",
          "[kube][feed][slices]") {
  FeedWorld world;
  ServeGpuNode(world);
  const std::string path = GENERATE(as<std::string>(), "v1beta1", "v1beta2");
  world.Serve("resource.k8s.io/" + path, "resourceslices", "", kOfGpus);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  world.Send("/apis/resource.k8s.io/" + path + "/resourceslices", "ADDED",
             SliceObject(1, true, path == "v1beta1"));
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n with PHB"; }));
  // The cluster is brought up to date.
  world.Serve("resource.k8s.io/v1", "resourceslices", SliceObject(2, false), kOfGpus);
  REQUIRE(Eventually([&] { return world.LastTold("node n") == "node n with SYS"; }));
}

TEST_CASE("ResourceSlices that may not be read hold up nothing, and that is said once",
          "[kube][feed][slices]") {
  FeedWorld world;
  ServeGpuNode(world);
  const std::string list = std::string(kSlices) + "?limit=500" + kOfGpus;
  world.Serve("resource.k8s.io/v1", "resourceslices", "", kOfGpus);
  world.api.On(Method::kGet, list, Refusal(403, "resourceslices is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.LastTold("node n") == "node n");
  REQUIRE(Eventually([&] {
    const auto health = world.feed->Health();
    return std::any_of(health.begin(), health.end(), [](const FeedHealth& one) {
      return one.resource == "resourceslices.resource.k8s.io" && !one.needed && !one.synced;
    });
  }));
  // The right is given later.
  world.api.On(Method::kGet, list, Reply(200, ListOf("List", SliceObject(1, true))));
  CHECK(Eventually([&] { return world.LastTold("node n") == "node n with PHB"; }));
  CHECK(Warned(world, "resourceslices.resource.k8s.io: list failed") == 1);
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

const char* const kAskedRequests = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests";
const char* const kOfMuster = "&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dmuster";

std::string AskedRequest(const std::string& version, const std::string& conditions) {
  return R"({"metadata":{"name":"r","namespace":"team","uid":"r-uid","resourceVersion":")" +
         version + R"("},"spec":{},"status":{"conditions":[)" + conditions + "]}}";
}

TEST_CASE("ProvisioningRequests of Muster's are followed", "[kube][feed][provisioning]") {
  FeedWorld world;
  world.Serve("autoscaling.x-k8s.io/v1", "provisioningrequests", AskedRequest("7", ""), kOfMuster);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.Told("request team/r new"));
  world.Send(kAskedRequests, "MODIFIED",
             AskedRequest("8", R"({"type":"Accepted","status":"True"})"));
  REQUIRE(
      Eventually([&] { return world.LastTold("request team/r") == "request team/r accepted"; }));
  world.Send(kAskedRequests, "DELETED", AskedRequest("9", ""));
  CHECK(Eventually([&] { return world.Told("request removed"); }));
}

TEST_CASE("ProvisioningRequests that may not be read hold up nothing, and that is said once",
          "[kube][feed][provisioning]") {
  FeedWorld world;
  const std::string list = std::string(kAskedRequests) + "?limit=500" + kOfMuster;
  world.Serve("autoscaling.x-k8s.io/v1", "provisioningrequests", "", kOfMuster);
  world.api.On(Method::kGet, list, Refusal(403, "provisioningrequests is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  // The right is given later.
  world.api.On(Method::kGet, list, Reply(200, ListOf("List", AskedRequest("7", ""))));
  CHECK(Eventually([&] { return world.Told("request team/r new"); }));
  CHECK(Warned(world, "provisioningrequests.autoscaling.x-k8s.io: list failed") == 1);
}

}  // namespace
}  // namespace muster::kube
