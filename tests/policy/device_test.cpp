// Which devices a pod gets, for every way in which devices are shared.
#include <catch2/catch.hpp>

#include "policy/search/devices.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using cluster::MiB;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

std::vector<std::string> PlaceEach(World& world, Strategy strategy, int count,
                                   const testing::PodBuilder& pod) {
  Placer placer(Options{strategy});
  std::vector<std::string> places;
  for (int i = 0; i < count; ++i) {
    const PlaceAnswer answer = world.PlaceAndHold(placer, {world.Ask(pod)});
    places.push_back(answer.placed ? world.Where(answer).front() : "nowhere");
  }
  return places;
}

using Places = std::vector<std::string>;

TEST_CASE("whole GPUs are the lowest-numbered free and healthy ones", "[policy][devices]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("n").Gpus(6).Unhealthy(1));
  world.Occupy("n", MakePod("x").Gpus(1), {2});
  CHECK(PlaceEach(world, strategy, 3, MakePod("p").Gpus(2)) == Places{"n:0,3", "n:4,5", "nowhere"});
}

TEST_CASE("binpack puts shares on the tightest device, spread on the emptiest",
          "[policy][devices]") {
  for (const Strategy strategy : {Strategy::kBinpack, Strategy::kSpread}) {
    World world;
    world.Add(MakeNode("n").Gpus(3).Sharing(GpuSharing::Fractional()));
    world.Occupy("n", MakePod("x").GpuShare(300), {1});
    world.Occupy("n", MakePod("x").GpuShare(500), {2});
    const Places want = strategy == Strategy::kBinpack
                            ? Places{"n:2", "n:1", "n:0", "n:0", "nowhere"}
                            : Places{"n:0", "n:1", "n:0", "n:2", "nowhere"};
    CHECK(PlaceEach(world, strategy, 5, MakePod("p").GpuShare(500)) == want);
  }
}

TEST_CASE("a pod that wants several shares gets as many devices", "[policy][devices]") {
  World world;
  world.Add(MakeNode("n").Gpus(3).Sharing(GpuSharing::Fractional()));
  CHECK(PlaceEach(world, Strategy::kBinpack, 3, MakePod("p").GpuShare(400, 3)) ==
        Places{"n:0,1,2", "n:0,1,2", "nowhere"});
  CHECK(PlaceEach(world, Strategy::kBinpack, 1, MakePod("p").GpuShare(200, 4)) ==
        Places{"nowhere"});
}

TEST_CASE("time-sliced and MPS devices serve as many pods as they have replicas",
          "[policy][devices]") {
  const auto sharing = GENERATE(GpuSharing::TimeSliced(), GpuSharing::Mps());
  World world;
  world.Add(MakeNode("n").Gpus(2).Sharing(sharing, 3));
  CHECK(PlaceEach(world, Strategy::kBinpack, 4, MakePod("p").Gpus(1)) ==
        Places{"n:0", "n:0", "n:0", "n:1"});
  CHECK(PlaceEach(world, Strategy::kSpread, 3, MakePod("p").Gpus(1)) ==
        Places{"n:1", "n:1", "nowhere"});
}

TEST_CASE("a pod that wants two GPUs gets turns on two devices, not two turns on one",
          "[policy][devices]") {
  World world;
  world.Add(MakeNode("n").Gpus(2).Sharing(GpuSharing::TimeSliced(), 2));
  CHECK(PlaceEach(world, Strategy::kBinpack, 3, MakePod("p").Gpus(2)) ==
        Places{"n:0,1", "n:0,1", "nowhere"});
}

TEST_CASE("shares fit only where devices are given in fractions", "[policy][devices]") {
  const auto sharing = GENERATE(GpuSharing::Exclusive(), GpuSharing::TimeSliced(),
                                GpuSharing::Mps(), GpuSharing::Mig());
  World world;
  world.Add(MakeNode("n").Gpus(8).Sharing(sharing, 2));
  CHECK(PlaceEach(world, Strategy::kBinpack, 1, MakePod("p").GpuShare(500)) == Places{"nowhere"});
}

TEST_CASE("a share that names memory takes what that is of the device", "[policy][devices]") {
  World world;
  cluster::Node node =
      MakeNode("n").Gpus(2, "model", 16'000).Sharing(GpuSharing::Fractional()).Build();
  node.gpus[1].memory = MiB(40'000);
  world.Add(node);
  // 12,000 MiB are 750 of device 0 and 300 of device 1.
  CHECK(PlaceEach(world, Strategy::kBinpack, 5, MakePod("p").GpuShare(100, 1, 12'000)) ==
        Places{"n:0", "n:1", "n:1", "n:1", "nowhere"});
  CHECK(PlaceEach(world, Strategy::kBinpack, 1, MakePod("p").GpuShare(100, 1, 50'000)) ==
        Places{"nowhere"});
}

TEST_CASE("a pod with much memory shares a card with one with many cores", "[policy][devices]") {
  World world;
  world.Add(MakeNode("n").Gpus(1).Sharing(GpuSharing::Fractional()));
  Placer placer(Options{Strategy::kBinpack});
  const auto where = [&](int64_t compute, int64_t memory) {
    const PlaceAnswer answer =
        world.PlaceAndHold(placer, {world.Ask(MakePod("p").GpuParts(compute, memory))});
    return answer.placed ? world.Where(answer).front() : "nowhere";
  };
  CHECK(where(100, 800) == "n:0");
  CHECK(where(100, 250) == "nowhere");  // of the memory there is less
  CHECK(where(800, 100) == "n:0");
  CHECK(where(150, 10) == "nowhere");  // of the compute
  CHECK(where(99, 99) == "n:0");
  CHECK(where(0, 2) == "nowhere");  // the last thousandth
  CHECK(where(0, 1) == "n:0");
  CHECK(where(0, 1) == "nowhere");  // full
}

TEST_CASE(
    "a pod that has all compute or all memory of a card is alone on it, in any order of arrival",
    "[policy][devices]") {
  struct Case {
    testing::PodBuilder first;
    testing::PodBuilder second;
  };
  const auto all_compute = MakePod("p").GpuParts(1000, 100);
  const auto all_memory = MakePod("p").GpuParts(100, 1000);
  const auto memory_only = MakePod("p").GpuParts(0, 500);
  const auto c = GENERATE_COPY(Case{all_compute, memory_only}, Case{memory_only, all_compute},
                               Case{all_memory, memory_only}, Case{memory_only, all_memory});
  World world;
  world.Add(MakeNode("n").Gpus(1).Sharing(GpuSharing::Fractional()));
  CHECK(PlaceEach(world, Strategy::kBinpack, 1, c.first) == Places{"n:0"});
  CHECK(PlaceEach(world, Strategy::kBinpack, 1, c.second) == Places{"nowhere"});
}

TEST_CASE("a share without cores takes none of them, whoever comes first", "[policy][devices]") {
  const testing::PodBuilder half = MakePod("half").GpuParts(500, 300);
  const testing::PodBuilder rest = MakePod("rest").GpuParts(0, 400);
  for (const bool first : {true, false}) {
    World world;
    world.Add(MakeNode("n").Gpus(1).Sharing(GpuSharing::Fractional()));
    if (first) CHECK(PlaceEach(world, Strategy::kBinpack, 1, rest) == Places{"n:0"});
    CHECK(PlaceEach(world, Strategy::kBinpack, 2, half) == Places{"n:0", "n:0"});
    if (!first) CHECK(PlaceEach(world, Strategy::kBinpack, 1, rest) == Places{"n:0"});
    CHECK(PlaceEach(world, Strategy::kBinpack, 1, rest) == Places{"nowhere"});
  }
}

TEST_CASE("devices are numbered as the node says, not by position", "[policy][devices]") {
  World world;
  cluster::Node node = MakeNode("n").Gpus(3).Build();
  node.gpus.erase(node.gpus.begin());  // device 0 has vanished
  world.Add(node);
  CHECK(PlaceEach(world, Strategy::kBinpack, 1, MakePod("p").Gpus(2)) == Places{"n:1,2"});
}

TEST_CASE("how many pods fit on devices is what most-turns-first attains", "[policy][devices]") {
  struct Case {
    const char* name;
    std::vector<int> free;
    int32_t count;
    int64_t each;
    int64_t want;
  };
  const auto c = GENERATE(Case{"nothing free", {0, 0}, 1, 500, 0},
                          Case{"one device each", {1000, 500, 400}, 1, 500, 3},
                          Case{"two of unequal ones", {500, 500, 1000}, 2, 500, 2},
                          Case{"one device holds all", {1000, 0, 0}, 2, 100, 0},
                          Case{"three of four", {1000, 1000, 1000, 1000}, 3, 500, 2},
                          Case{"whole ones", {1000, 999, 1000, 1000}, 2, 1000, 1});
  DYNAMIC_SECTION(c.name) {
    const auto size = static_cast<int>(c.free.size());
    const cluster::Node node = MakeNode("n").Gpus(size).Sharing(GpuSharing::Fractional()).Build();
    const cluster::GpuRequest request{c.count, cluster::GpuMilli(c.each), MiB()};
    std::vector<cluster::DeviceAmount> free = testing::Amounts(c.free);
    const DeviceView view{node, free, request, cluster::GpuMilli(c.each)};
    CHECK(PodsOnDevices(view, 100) == c.want);
    CHECK(PodsOnDevices(view, 1) == std::min<int64_t>(c.want, 1));
    int64_t placed = 0;
    while (const auto chosen = ChooseDevices(view, DeviceOrder::kMostTurns)) {
      for (const cluster::GpuShare& share : *chosen) {
        free[share.index.value] -= share.taken;
      }
      ++placed;
    }
    CHECK(placed == c.want);
  }
}

}  // namespace
}  // namespace muster::policy
