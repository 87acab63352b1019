// A pod that turns out to hold a channel of a ComputeDomain after it was told: kube/ tells it again
// without a version.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

TEST_CASE("a record without a version corrects a pod, and takes nothing back that was learnt",
          "[engine][channel]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  cluster::Pod pod = MakePod("a").Gpus(1);
  pod.resource_version = 5;
  cluster::Pod bound = pod;
  bound.node_name = "n0";
  bound.bound_gpus = {cluster::GpuIndex{0}};
  bound.resource_version = 6;
  auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
  spec->requests.channels = 1;
  for (const cluster::Pod& one : {pod, bound}) world.engine().Apply(one, world.now());
  const std::string before = world.engine().Dump();
  const int64_t free = world.engine().Count().gpu_free_milli;
  CHECK(free == 7000);
  cluster::Pod same = bound;
  same.spec = spec;
  world.engine().Apply(same, world.now());
  CHECK(world.engine().Dump() == before);
  // The copy is from before it was bound.
  cluster::Pod corrected = pod;
  corrected.spec = spec;
  corrected.resource_version = 0;
  world.engine().Apply(corrected, world.now());
  CHECK(world.engine().Dump() != before);
  CHECK(world.engine().Count().gpu_free_milli == free);
  // The node's channel is taken.
  world.Add(MakePod("b").Gpus(1).Channel().Gated());
  world.Settle();
  CHECK(world.Pod("b").nominated_node.empty());
}

TEST_CASE("pods that turn out to need a channel each are planned on different nodes",
          "[engine][channel]") {
  Harness world;
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  for (const char* name : {"a", "b"}) world.Add(MakePod(name).Gpus(1).Gated());
  world.Settle();
  REQUIRE(world.Pod("a").nominated_node == world.Pod("b").nominated_node);
  for (const char* name : {"a", "b"}) {
    world.Change(name, [](cluster::Pod& pod) {
      auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
      spec->requests.channels = 1;
      pod.spec = spec;
    });
  }
  world.Pass(cluster::Seconds(30));
  CHECK(world.Pod("a").nominated_node != world.Pod("b").nominated_node);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("pods with a channel stay on nodes of their own when Muster restarts",
          "[engine][channel]") {
  Harness world;
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.Add(MakePod("a").Gpus(1).Channel().BoundTo("n0", {0}));
  world.Add(MakePod("b").Gpus(1).Channel().Gated());
  world.Settle();
  REQUIRE(world.Pod("b").nominated_node == "n1");
  world.Restart();
  world.Settle();
  CHECK(world.Pod("b").nominated_node == "n1");
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a pod that was planned and then asks for another node is planned again",
          "[engine][replan]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8).Label("zone", "a"));
  world.Add(MakeNode("n1").Gpus(8).Label("zone", "b"));
  world.AddGang("train", 2, 1, 2);
  world.Settle();
  const bool first = world.Gang("train").members[0].planned_node == "n0";
  world.Change("train-1", [&](cluster::Pod& pod) {
    const cluster::Pod narrowed =
        MakePod("train-1").Gpus(1).InGroup("train").Select("zone", first ? "b" : "a");
    pod.spec = narrowed.spec;
  });
  world.Pass(cluster::Seconds(30));
  CHECK(world.Gang("train").members[1].planned_node == (first ? "n1" : "n0"));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == engine::GangState::kRunning);
}

}  // namespace
}  // namespace muster::testing
