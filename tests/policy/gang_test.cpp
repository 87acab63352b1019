// Gangs of several roles, and gangs too large to be placed one way only.
#include <catch2/catch.hpp>

#include "policy/placing/placement.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

std::vector<Demand> Join(std::vector<Demand> first, const std::vector<Demand>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_CASE("a launcher does not take the CPU that the workers need", "[policy][gang]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.Add(MakeNode(name).Gpus(8).Cpu(32));
  std::vector<Demand> gang = world.Ask(1, MakePod("launcher").MilliCpu(8'000));
  gang = Join(gang, world.Ask(2, MakePod("worker").Gpus(8).MilliCpu(32'000)));
  gang = Join(gang, world.Ask(2, MakePod("server").Gpus(4).MilliCpu(12'000)));
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.Place(placer, gang);
  CHECK(FaultOf(world, gang, answer) == "");
}

TEST_CASE("a role that fits on few nodes is not crowded out by a larger one", "[policy][gang]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("n0").Gpus(4).Label("disk", "fast"));
  world.Add(MakeNode("n1").Gpus(8));
  world.Occupy("n1", MakePod("x").Gpus(4));
  // Hardest first takes n0 for the worker; only the loader cannot go anywhere else.
  std::vector<Demand> gang = world.Ask(1, MakePod("worker").Gpus(4));
  gang = Join(gang, world.Ask(1, MakePod("loader").Gpus(1).Select("disk", "fast")));
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.Place(placer, gang);
  CHECK(FaultOf(world, gang, answer) == "");
}

TEST_CASE("a role that is greedy for CPU is placed before those that want GPUs when need be",
          "[policy][gang]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("n0").Gpus(2).Cpu(40));
  world.Add(MakeNode("n1").Gpus(2).Cpu(40));
  world.Add(MakeNode("n2").Gpus(2).Cpu(40));
  std::vector<Demand> gang = world.Ask(2, MakePod("indexer").MilliCpu(40'000));
  gang = Join(gang, world.Ask(2, MakePod("worker").Gpus(1).MilliCpu(10'000)));
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.Place(placer, gang);
  CHECK(FaultOf(world, gang, answer) == "");
}

TEST_CASE("equal pods that want several shares each are placed whenever they fit",
          "[policy][gang]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("n").Gpus(3).Sharing(GpuSharing::Fractional()));
  world.Occupy("n", MakePod("x").GpuShare(500), {0});
  world.Occupy("n", MakePod("x").GpuShare(500), {1});
  // Devices 0 and 1 have one turn each, device 2 has two: the tightest pair would strand one.
  const std::vector<Demand> gang = world.Ask(2, MakePod("p").GpuShare(500, 2));
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.Place(placer, gang);
  CHECK(FaultOf(world, gang, answer) == "");
}

TEST_CASE("members with exclusions choose before those without", "[policy][gang]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.Add(MakeNode(name).Gpus(8));
  std::vector<Demand> gang = world.Ask(3, MakePod("p").Gpus(8));
  gang[2].excluded = {world.Index("n1"), world.Index("n2")};
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.Place(placer, gang);
  CHECK(FaultOf(world, gang, answer) == "");
  CHECK(world.Where(answer.placements[2]) == "n0:0,1,2,3,4,5,6,7");
}

TEST_CASE("a gang of 1,024 eight-GPU members fills as many nodes exactly", "[policy][gang]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (int i = 0; i < 1024; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  Placer placer(Options{strategy});
  const std::vector<Demand> gang = world.Ask(1024, MakePod("p").Gpus(8));
  const PlaceAnswer answer = world.Place(placer, gang);
  CHECK(FaultOf(world, gang, answer) == "");
  const PlaceAnswer refused = world.Place(placer, Join(gang, world.Ask(1, MakePod("p").Gpus(8))));
  CHECK_FALSE(refused.placed);
  CHECK(refused.shortage.placed_before == 1024);
  CHECK(refused.shortage.gpus == 1024);
}

}  // namespace
}  // namespace muster::policy
