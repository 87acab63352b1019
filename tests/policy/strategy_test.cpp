// Where pods go under binpack and under spread.
#include <catch2/catch.hpp>

#include "policy/placing/placement.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::World;

std::string PlaceOne(World& world, Strategy strategy, const PodBuilder& pod) {
  Placer placer(Options{strategy});
  const std::vector<std::string> where = world.Where(world.Place(placer, {world.Ask(pod)}));
  return where.empty() ? "nowhere" : where.front();
}

TEST_CASE("binpack fills the node with the fewest free GPUs, spread the one with most",
          "[policy][strategy]") {
  World world;
  for (const char* name : {"a", "b", "c"}) world.Add(MakeNode(name).Gpus(8));
  world.Occupy("b", MakePod("x").Gpus(3));
  world.Occupy("c", MakePod("x").Gpus(7));
  const PodBuilder pod = MakePod("p").Gpus(2);
  CHECK(PlaceOne(world, Strategy::kBinpack, pod) == "b:3,4");
  CHECK(PlaceOne(world, Strategy::kSpread, pod) == "a:0,1");
}

TEST_CASE("among nodes with equally many whole GPUs the free milli decide, then the CPU share",
          "[policy][strategy]") {
  World world;
  for (const char* name : {"a", "b", "c"}) {
    world.Add(MakeNode(name).Gpus(4).Cpu(16).Sharing(GpuSharing::Fractional()));
  }
  world.Occupy("a", MakePod("x").GpuShare(300).MilliCpu(100), {0});
  world.Occupy("b", MakePod("x").GpuShare(600).MilliCpu(100), {0});
  world.Occupy("c", MakePod("x").GpuShare(600).MilliCpu(4000), {0});
  const PodBuilder pod = MakePod("p").Gpus(1);
  CHECK(PlaceOne(world, Strategy::kBinpack, pod) == "c:1");
  CHECK(PlaceOne(world, Strategy::kSpread, pod) == "a:1");
}

TEST_CASE("the CPU that is left is compared as a share of the node", "[policy][strategy]") {
  World world;
  world.Add(MakeNode("large").Cpu(100));
  world.Add(MakeNode("small").Cpu(10));
  world.Occupy("large", MakePod("x").MilliCpu(70'000));
  // Afterwards: 29 of 100 cores, 9 of 10.
  CHECK(PlaceOne(world, Strategy::kBinpack, MakePod("p")) == "large");
  CHECK(PlaceOne(world, Strategy::kSpread, MakePod("p")) == "small");
}

TEST_CASE("nodes that are alike are taken in the order of their names", "[policy][strategy]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n10", "n2", "n1"}) world.Add(MakeNode(name).Gpus(8));
  Placer placer(Options{strategy});
  const auto answer = world.Place(placer, world.Ask(3, MakePod("p").Gpus(8)));
  CHECK(world.Where(answer) == std::vector<std::string>{"n1:0,1,2,3,4,5,6,7", "n10:0,1,2,3,4,5,6,7",
                                                        "n2:0,1,2,3,4,5,6,7"});
}

TEST_CASE("a pod without GPUs keeps off GPU nodes while others have room", "[policy][strategy]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("a-gpu").Gpus(8).Cpu(64));
  world.Add(MakeNode("b-cpu").Cpu(4));
  CHECK(PlaceOne(world, strategy, MakePod("p").MilliCpu(4000)) == "b-cpu");
  CHECK(PlaceOne(world, strategy, MakePod("p").MilliCpu(5000)) == "a-gpu");
}

TEST_CASE("on GPU nodes a pod without GPUs goes where GPUs are taken; spread looks for idle CPU",
          "[policy][strategy]") {
  World world;
  world.Add(MakeNode("a-free").Gpus(8));
  world.Add(MakeNode("b-half").Gpus(8));
  world.Add(MakeNode("c-full").Gpus(8));
  world.Occupy("b-half", MakePod("x").Gpus(4).MilliCpu(30'000));
  world.Occupy("c-full", MakePod("x").Gpus(8).MilliCpu(10'000));
  CHECK(PlaceOne(world, Strategy::kBinpack, MakePod("p")) == "c-full");
  CHECK(PlaceOne(world, Strategy::kSpread, MakePod("p")) == "a-free");
}

TEST_CASE("binpack breaks no whole GPU open while a shared one has room, even on an emptier node",
          "[policy][strategy]") {
  World world;
  world.Add(MakeNode("a-small").Gpus(1).Sharing(GpuSharing::Fractional()));
  world.Add(MakeNode("b-large").Gpus(8).Sharing(GpuSharing::Fractional()));
  world.Occupy("b-large", MakePod("x").GpuShare(400), {5});
  CHECK(PlaceOne(world, Strategy::kBinpack, MakePod("p").GpuShare(500)) == "b-large:5");
  CHECK(PlaceOne(world, Strategy::kBinpack, MakePod("p").GpuShare(700)) == "a-small:0");
  CHECK(PlaceOne(world, Strategy::kSpread, MakePod("p").GpuShare(500)) == "b-large:0");
}

TEST_CASE("a gang packs whole nodes under binpack and spreads out under spread",
          "[policy][strategy]") {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.Add(MakeNode(name).Gpus(4));
  const std::vector<Demand> gang = world.Ask(4, MakePod("p").Gpus(2));
  Placer pack(Options{Strategy::kBinpack});
  Placer spread(Options{Strategy::kSpread});
  CHECK(world.Where(world.Place(pack, gang)) ==
        std::vector<std::string>{"a:0,1", "a:2,3", "b:0,1", "b:2,3"});
  CHECK(world.Where(world.Place(spread, gang)) ==
        std::vector<std::string>{"a:0,1", "b:0,1", "c:0,1", "d:0,1"});
}

}  // namespace
}  // namespace muster::policy
