#include "sim/schedulers/hami_scheduler.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/cluster.hpp"

namespace muster::sim {
namespace {

using cluster::GpuMilli;

// A cluster whose shares are HAMi's, one pod after the other.
class World {
 public:
  explicit World(SharedBy shared_by) : cluster_(OptionsOf(shared_by)) {}

  void AddNode(const std::string& name, int gpus, cluster::GpuSharing sharing) {
    cluster::Node node = GpuNode(gpus);
    node.name = name;
    for (cluster::Gpu& gpu : node.gpus) gpu.sharing = sharing;
    REQUIRE(cluster_.api().CreateNode(Actor::kUser, std::move(node)).ok());
  }
  // "a:0,1" where it runs on GPUs 0 and 1 of node a; "" where it runs nowhere.
  std::string Submit(const std::string& name, int32_t count, int64_t each,
                     cluster::MiB memory = {}) {
    cluster::PodSpec spec;
    spec.requests = {cluster::MilliCpu(1000), cluster::MiB(1024), 1};
    spec.gpus = {count, GpuMilli(each), memory};
    spec.scheduler_name = "muster";
    PodRecord record;
    record.pod.key = {"default", name};
    record.pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
    record.pod.grace = cluster::Duration(0);
    REQUIRE(cluster_.api().CreatePod(Actor::kUser, std::move(record)).ok());
    Settle();
    return Where(name);
  }
  void Delete(const std::string& name) {
    const PodPtr pod = cluster_.api().FindPod(cluster::ObjectKey{"default", name});
    REQUIRE(cluster_.api().DeletePod(Actor::kUser, {pod->pod.key, pod->pod.uid}).ok());
    Settle();
  }
  std::string Where(const std::string& name) {
    const PodPtr pod = cluster_.api().FindPod(cluster::ObjectKey{"default", name});
    if (!pod->pod.bound()) return "";
    std::string where = pod->pod.node_name;
    for (const cluster::GpuIndex gpu : pod->pod.bound_gpus)
      where += (where == pod->pod.node_name ? ":" : ",") + std::to_string(gpu.value);
    return where;
  }

 private:
  static Options OptionsOf(SharedBy shared_by) {
    Options options;
    options.with_muster = false;
    options.shared_by = shared_by;
    return options;
  }
  void Settle() { cluster_.loop().RunUntil(cluster_.loop().now() + cluster::Seconds(20)); }

  Cluster cluster_;
};

const auto kShared = cluster::GpuSharing::Fractional();
const auto kWhole = cluster::GpuSharing::Exclusive();

TEST_CASE("with the stock device plugin a share is a whole GPU", "[sim][hami]") {
  World world(SharedBy::kStock);
  world.AddNode("a", 2, kShared);
  CHECK(world.Submit("p0", 1, 100) == "a");
  CHECK(world.Submit("p1", 1, 100) == "a");
  CHECK(world.Submit("p2", 1, 100).empty());
  world.Delete("p0");
  CHECK(world.Where("p2") == "a");
}

TEST_CASE("HAMi spreads shares over the GPUs of the fullest node that has room", "[sim][hami]") {
  World world(SharedBy::kHami);
  world.AddNode("a", 2, kShared);
  world.AddNode("b", 2, kShared);
  const std::string first = world.Submit("p0", 1, 400);
  const std::string node = first.substr(0, 1);
  const std::string other = node == "a" ? "b" : "a";
  CHECK(first == node + ":0");
  CHECK(world.Submit("p1", 1, 400) == node + ":1");
  CHECK(world.Submit("p2", 1, 700) == other + ":0");
  CHECK(world.Submit("p3", 1, 600) == node + ":0");
  CHECK(world.Submit("p4", 2, 600).empty());
  world.Delete("p0");
  world.Delete("p1");
  world.Delete("p3");
  CHECK(world.Where("p4") == node + ":0,1");
}

TEST_CASE("HAMi keeps whole GPUs and shares apart", "[sim][hami]") {
  World world(SharedBy::kHami);
  world.AddNode("a", 2, kShared);
  CHECK(world.Submit("whole", 1, 1000) == "a:0");
  CHECK(world.Submit("share", 1, 10) == "a:1");
  CHECK(world.Submit("late", 1, 1000).empty());
  // A whole GPU asks for all memory and no cores; a share of a thousandth is one percent of both.
  CHECK(world.Submit("most", 1, 985) == "a:1");
  CHECK(world.Submit("over", 1, 1).empty());
}

TEST_CASE("HAMi gives a device to ten at most", "[sim][hami]") {
  World world(SharedBy::kHami);
  world.AddNode("a", 1, kShared);
  for (int i = 0; i < 10; ++i) CHECK(world.Submit("p" + std::to_string(i), 1, 10) == "a:0");
  CHECK(world.Submit("p10", 1, 10).empty());
}

TEST_CASE("HAMi counts memory where a pod asks for memory", "[sim][hami]") {
  World world(SharedBy::kHami);
  world.AddNode("a", 1, kShared);  // of 81,559 MiB
  CHECK(world.Submit("p0", 1, 100, cluster::MiB(60'000)) == "a:0");
  CHECK(world.Submit("p1", 1, 100, cluster::MiB(30'000)).empty());
  CHECK(world.Submit("p2", 1, 100, cluster::MiB(20'000)) == "a:0");
}

TEST_CASE("HAMi shares no GPU that is not to be shared", "[sim][hami]") {
  World world(SharedBy::kHami);
  world.AddNode("a", 1, kWhole);
  CHECK(world.Submit("share", 1, 500).empty());
  CHECK(world.Submit("whole", 1, 1000) == "a:0");
  CHECK(world.Submit("next", 1, 1000).empty());
}

TEST_CASE("a pod without GPUs is none of HAMi's", "[sim][hami]") {
  World world(SharedBy::kHami);
  world.AddNode("a", 0, kShared);
  CHECK(world.Submit("cpu", 0, 1000) == "a");
}

}  // namespace
}  // namespace muster::sim
