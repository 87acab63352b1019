#include "kube/watch/cluster_feed.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/kube/feed_world.hpp"

namespace muster::kube {
namespace {

using std::chrono::milliseconds;

using Texts = std::vector<std::string>;

TEST_CASE("a cluster is synced when everything that is served was listed once", "[kube][feed]") {
  FeedWorld world;
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  REQUIRE(Eventually([&] { return world.Told("job team/j"); }));  // not waited for
  const Texts told = world.told();
  CHECK(std::set<std::string>(told.begin(), told.end()) ==
        std::set<std::string>{"declared gang team/g of 2", "node n", "pod team/a", "pod team/b",
                              "namespace team", "priority 9", "budget team/b", "job team/j"});
  CHECK(world.versions.Find(cluster::PodUid("a-uid")) == 4);
}

TEST_CASE("PodGroups whose CRD appears later are found, and take the place of declared gangs",
          "[kube][feed]") {
  FeedWorld world;
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(!world.feed->FindServed(cluster::PodGroupUid("g-uid")));
  world.ServePodGroups();
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  CHECK(world.Told("declared gang removed"));
  const auto served = world.feed->FindServed(cluster::PodGroupUid("g-uid"));
  REQUIRE(served);
  CHECK(served->api_version() == "scheduling.x-k8s.io/v1alpha1");
  CHECK(world.synced() == 1);
}

TEST_CASE("a CRD that is installed again with a status subresource, or without, is written so",
          "[kube][feed]") {
  FeedWorld world;
  world.ServePodGroups();
  world.feed->Start();
  const auto has_status = [&] {
    const auto served = world.feed->FindServed(cluster::PodGroupUid("g-uid"));
    return served && served->has_status;
  };
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  CHECK_FALSE(has_status());
  world.ServePodGroups(true);
  CHECK(Eventually(has_status));
  world.ServePodGroups(false);
  CHECK(Eventually([&] { return !has_status(); }));
}

const char* const kAllSilent =
    "silence [namespaces, nodes, pods, poddisruptionbudgets, priorityclasses]";

TEST_CASE("the version of PodGroups that is served is read, back and forth", "[kube][feed]") {
  FeedWorld world;
  world.feed->Start();
  for (const char* version : {"v1alpha3", "v1beta1", "v1alpha3"}) {
    CAPTURE(version);
    const std::string list = "list /apis/scheduling.k8s.io/" + std::string(version) + "/podgroups";
    const auto lists = [&] {
      const Texts told = world.told();
      return std::count(told.begin(), told.end(), list);
    };
    const auto before = lists();
    world.ServeNative(version, "");
    REQUIRE(Eventually([&] { return lists() > before; }));
    REQUIRE(Eventually([&] {
      const std::vector<FeedHealth> health = world.feed->Health();
      return std::count_if(health.begin(), health.end(), [](const FeedHealth& one) {
               return one.resource == "podgroups.scheduling.k8s.io";
             }) == 1;
    }));
  }
}

TEST_CASE("a PodGroup that goes while another version takes over is known to be gone",
          "[kube][feed]") {
  FeedWorld world;
  world.ServeNative(
      "v1alpha3", R"({"metadata":{"name":"g","namespace":"team","uid":"g-uid",)"
                  R"("resourceVersion":"5"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})");
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  world.ServeNative("v1beta1", "");
  REQUIRE(Eventually([&] { return world.Told("podgroup forgotten"); }));
}

TEST_CASE("silence of the API server is reported once, with the resources, and so is its end",
          "[kube][feed]") {
  FeedWorld world(milliseconds(30));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  REQUIRE(Eventually([&] { return world.Told(kAllSilent); }));
  REQUIRE(Eventually([&] {
    world.Bookmark();
    return world.Told("silence []");
  }));
}

TEST_CASE("a kind of PodGroups that cannot be listed holds up no new leader, nodes do",
          "[kube][feed]") {
  FeedWorld world(std::chrono::hours(1), milliseconds(100));
  world.ServePodGroups();
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.Told("podgroup team/g of 2"); }));
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  const auto go_on = [] { return true; };
  CHECK(world.feed->Refresh(go_on));
  world.api.On(Method::kGet, "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=500",
               Refusal(500, "conversion webhook failed"));
  CHECK(world.feed->Refresh(go_on));
  CHECK_FALSE(world.Told("podgroup removed"));
  CHECK_FALSE(world.Told("podgroup forgotten"));
  world.api.On(Method::kGet, "/api/v1/nodes?limit=500", Refusal(500, "etcd is away"));
  CHECK_FALSE(world.feed->Refresh(go_on));
}

TEST_CASE("what is not nodes or pods holds up no new leader, who plans nothing until it is listed",
          "[kube][feed]") {
  FeedWorld world(std::chrono::hours(1), milliseconds(100));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  const std::string path = "/apis/policy/v1/poddisruptionbudgets?limit=500";
  world.api.On(Method::kGet, path, Refusal(403, "poddisruptionbudgets is forbidden"));
  CHECK(world.feed->Refresh([] { return true; }));
  CHECK(world.Told("silence [poddisruptionbudgets]"));  // before it leads
  CHECK_FALSE(world.Told("silence []"));
  world.api.On(Method::kGet, path, Reply(200, ListOf("PodDisruptionBudgetList", "")));
  CHECK(Eventually([&] { return world.Told("silence []"); }));
}

TEST_CASE("Jobs that may not be read hold up nothing, and that is said once", "[kube][feed]") {
  FeedWorld world(milliseconds(500));
  const auto forbid = Refusal(403, "jobs.batch is forbidden");
  world.api.On(Method::kGet, "/apis/batch/v1/jobs?limit=500", forbid);
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.feed->Refresh([] { return true; }));
  REQUIRE(Eventually([&] { return world.Told(kAllSilent); }));  // and no word of Jobs
  const auto health = world.feed->Health();
  const auto jobs = std::find_if(health.begin(), health.end(),
                                 [](const FeedHealth& one) { return one.resource == "jobs"; });
  REQUIRE(jobs != health.end());
  CHECK_FALSE(jobs->needed);
  CHECK_FALSE(jobs->synced);
  const Texts warned = world.warned();
  CHECK(std::count_if(warned.begin(), warned.end(), [](const std::string& line) {
          return line.starts_with("jobs: list failed");
        }) == 1);
  // The right is given later.
  world.api.On(Method::kGet, "/apis/batch/v1/jobs?limit=500",
               Reply(200, ListOf("JobList",
                                 R"({"metadata":{"name":"j","namespace":"team","uid":"j-uid"}})")));
  CHECK(Eventually([&] { return world.Told("job team/j"); }));
}

TEST_CASE("a list of which a page is missing is no news", "[kube][feed]") {
  FeedWorld world(milliseconds(200));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  world.api.On(
      Method::kGet, "/api/v1/nodes?limit=500",
      Reply(200, R"({"kind":"NodeList","metadata":{"resourceVersion":"30","continue":"x"},)"
                 R"("items":[]})"));
  world.api.On(Method::kGet, "/api/v1/nodes?limit=500&continue=x", Refusal(500, "etcd is slow"));
  // Everything else is heard of; only a whole list would end this.
  CHECK_FALSE(world.feed->Refresh([&] {
    world.Bookmark();
    return !world.Told("silence [nodes]");
  }));
  CHECK(world.Told("silence [nodes]"));
}

}  // namespace
}  // namespace muster::kube
