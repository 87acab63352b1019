// What is said when a gang does not fit.
#include <catch2/catch.hpp>

#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"
#include "tests/topology/machines.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using cluster::TaintEffect;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

std::string Refusal(World& world, const std::vector<Demand>& demands,
                    NodeFilter filter = NodeFilter::kSchedulable) {
  Placer placer(Options{});
  const PlaceAnswer answer = world.Place(placer, demands, filter);
  return answer.placed ? "placed" : testing::Text(answer.shortage);
}

TEST_CASE("each node counts once, under the first check that fails", "[policy][shortage]") {
  World world;
  const auto node = [](const char* name) { return MakeNode(name).Gpus(8).Label("zone", "a"); };
  // Each of them also fails the checks that come later.
  const auto full = [&](const char* name) { world.Occupy(name, MakePod("x").Gpus(8)); };
  world.Add(node("cordoned").Cordoned().Taint("t", "", TaintEffect::kNoSchedule));
  world.Add(node("not-ready").NotReady());
  world.Add(MakeNode("tainted").Gpus(8).Taint("t", "", TaintEffect::kNoExecute));
  world.Add(MakeNode("elsewhere").Gpus(8).Label("zone", "b").PodSlots(0));
  world.Add(node("excluded").PodSlots(0));
  world.Add(node("no-slots").PodSlots(0).Cpu(1));
  world.Add(node("no-cpu").Cpu(1).MemoryGiB(1));
  world.Add(node("no-memory").MemoryGiB(1));
  full("no-memory");
  world.Add(node("no-gpus").Taint("soft", "", TaintEffect::kPreferNoSchedule));
  full("no-gpus");
  world.Add(MakeNode("never-had-gpus").Label("zone", "a"));
  world.Add(node("fragmented").Sharing(GpuSharing::Fractional()));
  for (int gpu = 0; gpu < 7; ++gpu) {
    world.Occupy("fragmented", MakePod("x").GpuShare(500).MilliCpu(0), {gpu});
  }
  Demand demand =
      world.Ask(MakePod("p").Gpus(2).MilliCpu(2000).MemoryMiB(2048).Select("zone", "a"));
  demand.excluded = {world.Index("excluded")};
  CHECK(Refusal(world, {demand}) ==
        demand.pod.text() +
            " after 0 of 11 nodes: 2 unschedulable 1 taints 1 constraints 1 excluded 1 pod_slots "
            "1 cpu 1 memory 2 gpus 1 gpu_devices; GPU-milli 20500 of 2000");
}

TEST_CASE("a gang too large for the cluster says how many would fit", "[policy][shortage]") {
  World world;
  for (const char* name : {"a", "b", "c"}) world.Add(MakeNode(name).Gpus(8));
  world.Occupy("a", MakePod("x").Gpus(2));
  const std::vector<Demand> gang = world.Ask(9, MakePod("p").Gpus(3));
  CHECK(Refusal(world, gang) ==
        gang[6].pod.text() + " after 6 of 3 nodes: 3 gpus; GPU-milli 22000 of 27000");
}

TEST_CASE("CPU is named when it ends before the GPUs do", "[policy][shortage]") {
  World world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8).Cpu(10));
  const std::vector<Demand> gang = world.Ask(8, MakePod("p").Gpus(1).MilliCpu(3000));
  CHECK(Refusal(world, gang) ==
        gang[6].pod.text() + " after 6 of 2 nodes: 2 cpu; GPU-milli 16000 of 8000");
}

TEST_CASE("what is left between pods is called fragmented", "[policy][shortage]") {
  World world;
  for (const char* name : {"a", "b"}) {
    world.Add(MakeNode(name).Gpus(2).Sharing(GpuSharing::Fractional()));
  }
  const std::vector<Demand> gang = world.Ask(5, MakePod("p").GpuShare(600));
  CHECK(Refusal(world, gang) ==
        gang[4].pod.text() + " after 4 of 2 nodes: 2 gpu_devices; GPU-milli 4000 of 3000");
}

TEST_CASE("devices of the wrong kind do not serve, however many there are", "[policy][shortage]") {
  World world;
  world.Add(MakeNode("exclusive").Gpus(8));
  const std::vector<Demand> gang = world.Ask(2, MakePod("p").GpuShare(600));
  CHECK(Refusal(world, gang) ==
        gang[0].pod.text() + " after 0 of 1 nodes: 1 gpu_devices; GPU-milli 8000 of 1200");
}

TEST_CASE("of a mixed gang the first in the order of placing is named", "[policy][shortage]") {
  World world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  std::vector<Demand> gang = world.Ask(2, MakePod("small").Gpus(4));
  for (const Demand& demand : world.Ask(2, MakePod("large").Gpus(8))) gang.push_back(demand);
  // Both large ones are placed; then nothing is left for the small ones.
  CHECK(Refusal(world, gang) ==
        gang[0].pod.text() + " after 2 of 2 nodes: 2 gpus; GPU-milli 16000 of 24000");
}

TEST_CASE("what the pod that missed asks for is reported beside what the gang does",
          "[policy][shortage]") {
  World world;
  world.Add(MakeNode("a").Gpus(8));
  std::vector<Demand> gang = world.Ask(2, MakePod("large").Gpus(8));
  gang.push_back(world.Ask(MakePod("small").Gpus(2)));
  Placer placer(Options{});
  const Shortage shortage = world.Place(placer, gang).shortage;
  CHECK(shortage.pod == gang[1].pod);
  CHECK(shortage.pod_gpu_milli == 8000);
  CHECK(shortage.need_gpu_milli == 18'000);
}

TEST_CASE("nodes that were cordoned are not counted when all nodes are asked about",
          "[policy][shortage]") {
  World world;
  world.Add(MakeNode("a").Gpus(8).Cordoned());
  const std::vector<Demand> gang = world.Ask(2, MakePod("p").Gpus(8));
  CHECK(Refusal(world, gang) ==
        gang[0].pod.text() + " after 0 of 1 nodes: 1 unschedulable; GPU-milli 0 of 16000");
  CHECK(Refusal(world, gang, NodeFilter::kAll) ==
        gang[1].pod.text() + " after 1 of 1 nodes: 1 gpus; GPU-milli 8000 of 16000");
}

TEST_CASE("nodes whose free GPUs the kubelet would turn away count apart", "[policy][shortage]") {
  World world;
  using cluster::NumaPolicy;
  // GPUs 0 to 3 are on one NUMA node, 4 to 7 on the other.
  const auto node = [&](const char* name, NumaPolicy policy) {
    cluster::Node one = MakeNode(name).Gpus(8, "Tesla-V100-SXM2-32GB", 32'768);
    one.topology = topology::testing::kDgx1v;
    one.numa_policy = policy;
    world.Add(one);
  };
  node("single", NumaPolicy::kSingleNumaNode);
  node("restricted", NumaPolicy::kRestricted);
  node("full", NumaPolicy::kSingleNumaNode);
  world.Occupy("full", MakePod("x").Gpus(6), {0, 1, 2, 4, 5, 6});
  world.Occupy("restricted", MakePod("x").Gpus(4), {0, 1, 4, 5});
  const std::vector<Demand> three = world.Ask(3, MakePod("p").Gpus(3));
  // Two find a place on "single"; two GPUs are left there and two on "full".
  CHECK(Refusal(world, three) ==
        three[2].pod.text() + " after 2 of 3 nodes: 2 gpus 1 numa; GPU-milli 14000 of 9000");
  const std::vector<Demand> five = world.Ask(1, MakePod("p").Gpus(5));
  CHECK(Refusal(world, five) ==
        five[0].pod.text() + " after 0 of 3 nodes: 2 gpus 1 numa; GPU-milli 14000 of 5000");
  Placer placer(Options{});
  CHECK(world.Place(placer, three).shortage.numa_single == 0);
  CHECK(world.Place(placer, five).shortage.numa_single == 1);
}

TEST_CASE("there may be no node at all", "[policy][shortage]") {
  World world;
  const std::vector<Demand> gang = world.Ask(2, MakePod("p"));
  CHECK(Refusal(world, gang) == gang[0].pod.text() + " after 0 of 0 nodes:; GPU-milli 0 of 0");
}

TEST_CASE("the counts add up to the number of nodes", "[policy][shortage]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  int refused = 0;
  for (int round = 0; round < testing::Rounds(100); ++round) {
    World world;
    const int nodes = dice.Roll(1, 8);
    for (int i = 0; i < nodes; ++i) world.Add(RandomNode(dice, "n" + std::to_string(i)));
    Placer placer(Options{strategy});
    for (int gang = 0; gang < 5; ++gang) {
      const PlaceAnswer answer = world.PlaceAndHold(placer, RandomGang(dice, world, 6));
      if (answer.placed) continue;
      ++refused;
      const Shortage& s = answer.shortage;
      REQUIRE(s.nodes == nodes);
      REQUIRE(s.unschedulable + s.taints + s.constraints + s.left_out + s.excluded + s.pod_slots +
                  s.cpu + s.memory + s.gpus + s.gpu_devices + s.numa ==
              nodes);
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("a node takes one pod with a channel, and any number without", "[policy][shortage]") {
  World world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  Placer placer(Options{strategy});
  const testing::PodBuilder channel = MakePod("p").Gpus(1).Channel();
  CHECK(Refusal(world, world.Ask(3, channel)) != "placed");
  const PlaceAnswer two = world.PlaceAndHold(placer, world.Ask(2, channel));
  REQUIRE(two.placed);
  CHECK(two.placements[0].node != two.placements[1].node);
  CHECK_THAT(Refusal(world, world.Ask(1, channel)), Catch::Contains("2 channels"));
  CHECK(world.Place(placer, world.Ask(14, MakePod("q").Gpus(1))).placed);
}

TEST_CASE("a channel is free again when its pod has gone, whoever had placed it",
          "[policy][shortage]") {
  World world;
  world.Add(MakeNode("a").Gpus(8));
  cluster::Pod held = MakePod("x").Gpus(1).Channel().BoundTo("a", {0}).Build();
  world.state.Upsert(held);
  CHECK(Refusal(world, world.Ask(1, MakePod("p").Gpus(1).Channel())) != "placed");
  held.phase = cluster::PodPhase::kSucceeded;
  world.state.Upsert(held);
  CHECK(Refusal(world, world.Ask(1, MakePod("p").Gpus(1).Channel())) == "placed");
}

}  // namespace
}  // namespace muster::policy
