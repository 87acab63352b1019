// Which GPUs, and which node, where the links of nodes are known.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/policy/world.hpp"
#include "tests/support/machines.hpp"
#include "tests/topology/machines.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using testing::Dgx1v;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

std::string PlaceOne(World& world, const testing::PodBuilder& pod) {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.PlaceAndHold(placer, {world.Ask(pod)});
  return answer.placed ? world.Where(answer).front() : "nowhere";
}

TEST_CASE("a pod gets the GPUs with the best ring, not the lowest-numbered ones",
          "[policy][links]") {
  World world;
  world.Add(Dgx1v("n"));
  // Of two the pair with two NVLinks whose rest is best; 0-1 has one.
  CHECK(PlaceOne(world, MakePod("p").Gpus(2)) == "n:0,3");
}

TEST_CASE("four of the free GPUs are a ring of NVLinks where there is one", "[policy][links]") {
  World world;
  world.Add(Dgx1v("n"));
  world.Occupy("n", MakePod("x").Gpus(2), {0, 6});
  // 1-2-3 and 4-5-7 are left: only over 1-5 and 3-7 does a ring of four close.
  CHECK(PlaceOne(world, MakePod("p").Gpus(4)) == "n:1,3,5,7");
}

TEST_CASE("a pod goes to the node whose free GPUs have the faster ring", "[policy][links]") {
  World world;
  world.Add(Dgx1v("a"));
  world.Add(Dgx1v("b"));
  // What is left of a: 0 and 7, with no NVLink between them.
  world.Occupy("a", MakePod("x").Gpus(6), {1, 2, 3, 4, 5, 6});
  CHECK(PlaceOne(world, MakePod("p").Gpus(2)) == "b:0,3");
}

TEST_CASE("where a GPU is dead a socket of four healthy ones stays whole", "[policy][links]") {
  World world;
  cluster::Node node = Dgx1v("n");
  node.gpus[2].healthy = false;
  node.numa_policy = GENERATE(cluster::NumaPolicy::kNone, cluster::NumaPolicy::kSingleNumaNode);
  world.Add(node);
  Placer placer(Options{});
  const auto place = [&](const std::string& pod, int gpus) {
    const PlaceAnswer answer = world.PlaceAndHold(placer, {world.Ask(MakePod(pod).Gpus(gpus))});
    return answer.placed ? world.Where(answer).front() : "nowhere";
  };
  CHECK(place("pair", 2) == "n:0,3");
  CHECK(place("one", 1) == "n:1");
  CHECK(place("four", 4) == "n:4,5,6,7");
}

TEST_CASE("a node is no candidate where the kubelet would turn the GPUs away", "[policy][links]") {
  World world;
  cluster::Node strict = Dgx1v("a");
  strict.numa_policy = cluster::NumaPolicy::kSingleNumaNode;
  world.Add(strict);
  // One GPU is left on the first NUMA node, two on the second.
  world.Occupy("a", MakePod("x").Gpus(5), {0, 1, 2, 4, 5});
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  Placer placer(Options{strategy});
  const auto place = [&](const std::string& pod, int gpus) {
    const PlaceAnswer answer = world.PlaceAndHold(placer, {world.Ask(MakePod(pod).Gpus(gpus))});
    return answer.placed ? world.Where(answer).front()
                         : std::to_string(answer.shortage.numa_single) + " by its NUMA policy";
  };
  SECTION("enough on one NUMA node") { CHECK(place("p", 2) == "a:6,7"); }
  SECTION("enough in all, on no NUMA node") {
    CHECK(place("p", 3) == "1 by its NUMA policy");
    world.Add(Dgx1v("b"));
    CHECK(place("q", 3).substr(0, 2) == "b:");
  }
}

TEST_CASE("an edited policy of the kubelet counts from the next plan on", "[policy][links]") {
  World world;
  world.Add(Dgx1v("a"));
  Placer placer(Options{});
  const auto fits = [&] { return world.Place(placer, {world.Ask(MakePod("p").Gpus(5))}).placed; };
  CHECK(fits());
  cluster::Node strict = Dgx1v("a");
  strict.numa_policy = cluster::NumaPolicy::kSingleNumaNode;
  world.Add(strict);
  CHECK_FALSE(fits());
  world.Add(Dgx1v("a"));
  CHECK(fits());
}

TEST_CASE("as many pods find room as the kubelet admits", "[policy][links]") {
  World world;
  cluster::Node strict = Dgx1v("a");
  const bool single = GENERATE(true, false);
  if (single) strict.numa_policy = cluster::NumaPolicy::kSingleNumaNode;
  world.Add(strict);
  Placer placer(Options{});
  // Two of three each fit the node, but on two NUMA nodes of four only one fits each.
  const PlaceAnswer two =
      world.Place(placer, {world.Ask(MakePod("p").Gpus(3)), world.Ask(MakePod("q").Gpus(3))});
  CHECK(two.placed);
  const PlaceAnswer five = world.Place(placer, {world.Ask(MakePod("r").Gpus(5))});
  CHECK(five.placed == !single);
}

TEST_CASE("a single GPU is the one that the others miss least", "[policy][links]") {
  World world;
  world.Add(Dgx1v("n"));
  world.Occupy("n", MakePod("x").Gpus(3), {0, 6, 7});
  // 1, 2, 3 and 4, 5 are left. Without 4 the rest still has the pairs 1-2, 2-3 and 1-5.
  CHECK(PlaceOne(world, MakePod("p").Gpus(1)) == "n:4");
}

TEST_CASE("a share opens the GPU that the others miss least, and then fills it",
          "[policy][links]") {
  World world;
  cluster::Node node = Dgx1v("n");
  for (cluster::Gpu& gpu : node.gpus) gpu.sharing = GpuSharing::Fractional();
  world.Add(node);
  world.Occupy("n", MakePod("x").Gpus(3), {0, 6, 7});
  Placer placer(Options{Strategy::kBinpack});
  for (const char* name : {"p", "q"}) {
    const PlaceAnswer answer = world.PlaceAndHold(placer, {world.Ask(MakePod(name).GpuShare(500))});
    CHECK(world.Where(answer).front() == "n:4");
  }
}

Demand Naming(Demand demand, std::vector<std::string> uuids) {
  auto spec = std::make_shared<cluster::PodSpec>(*demand.spec);
  cluster::GpuWords words;
  words.uuids = std::move(uuids);
  spec->gpus.choice = cluster::GpuChoice(words);
  demand.spec = spec;
  return demand;
}

TEST_CASE("a single GPU is one of those that are named, whichever the others miss least",
          "[policy][links]") {
  World world;
  cluster::Node node = Dgx1v("n");
  const bool shared = GENERATE(false, true);
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
    if (shared) gpu.sharing = GpuSharing::Fractional();
  }
  world.Add(node);
  Placer placer(Options{});
  const auto place = [&](std::vector<std::string> uuids) {
    const Demand demand = world.Ask(shared ? MakePod("p").GpuShare(500) : MakePod("p").Gpus(1));
    return world.Where(world.Place(placer, {Naming(demand, std::move(uuids))})).front();
  };
  CHECK(place({"GPU-0"}) == "n:0");
  CHECK(place({"GPU-3"}) == "n:3");
  CHECK(place({"GPU-7"}) == "n:7");
  world.Occupy("n", MakePod("x").Gpus(3), {0, 6, 7});
  // 1, 2, 3 and 4, 5 are left; 4 would be the one. Without 2 the rest has 1-3, 1-5 and 4-5.
  CHECK(place({"GPU-1", "GPU-2"}) == "n:2");
}

TEST_CASE("links of another machine than the node count for nothing", "[policy][links]") {
  World world;
  cluster::Node node = MakeNode("n").Gpus(4);
  node.topology = topology::testing::kDgx1v;
  world.Add(node);
  CHECK(PlaceOne(world, MakePod("p").Gpus(2)) == "n:0,1");
}

TEST_CASE("links that come while the node is there count from then on", "[policy][links]") {
  World world;
  cluster::Node node = Dgx1v("n");
  const std::string links = std::exchange(node.topology, "");
  world.Add(node);
  Placer placer(Options{});
  CHECK(world.Where(world.Place(placer, {world.Ask(MakePod("p").Gpus(2))})).front() == "n:0,1");
  node.topology = links;
  world.Add(node);
  CHECK(world.Where(world.Place(placer, {world.Ask(MakePod("q").Gpus(2))})).front() == "n:0,3");
}

}  // namespace
}  // namespace muster::policy
