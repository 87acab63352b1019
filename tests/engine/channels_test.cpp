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

}  // namespace
}  // namespace muster::testing
