// Which of a gang's surplus goes (policy/victims/by_place.hpp): those whose devices are of use, and
// no more.
#include "policy/victims/by_place.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/victims/preemption.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"
#include "tests/support/machines.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using cluster::NumaPolicy;
using cluster::Placement;
using cluster::PodUid;
using testing::Dice;
using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::World;

// Eight GPUs, 0 to 3 on one NUMA node, 4 to 7 on the other.
cluster::Node TwoSockets(NumaPolicy policy) {
  cluster::Node node = testing::Dgx1v("n");
  for (cluster::Gpu& gpu : node.gpus) gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
  node.numa_policy = policy;
  return node;
}

// An elastic gang whose pods hold the same, the oldest first.
struct Elastic {
  World world;
  std::vector<Placement> pods;

  explicit Elastic(const cluster::Node& node) { world.Add(node); }
  void Hold(const PodBuilder& kind, int gpu) {
    const std::string name = "e" + std::to_string(pods.size());
    PodBuilder pod = kind;
    cluster::Pod built = pod.BoundTo("n", {gpu}).Build();
    built.uid = PodUid(name);
    built.key.name = name;
    world.state.Upsert(built);
    pods.push_back(world.state.AllocationOf(PodUid(name))->placement);
  }
  void HoldWhole(const std::vector<int>& gpus) {
    for (const int gpu : gpus) Hold(MakePod("e").Gpus(1), gpu);
  }
  void Others(int gpu) { world.Occupy("n", MakePod("o").Gpus(1), {gpu}); }

  // The surplus, the newest first, then the others together.
  std::vector<Candidate> Candidates(size_t surplus) const {
    const auto alike = std::make_shared<const std::vector<Placement>>(pods);
    std::vector<Candidate> all;
    for (size_t i = 0; i < surplus; ++i) {
      all.push_back({7, "", {pods[pods.size() - 1 - i]}});
      all.back().alike = alike;
    }
    const auto end = pods.end() - static_cast<std::ptrdiff_t>(surplus);
    if (end != pods.begin()) all.push_back({7, "", {pods.begin(), end}});
    return all;
  }
  // How many pods leave; 0: it finds no room.
  size_t Leave(const std::vector<Demand>& demands, size_t surplus) {
    const std::vector<Candidate> candidates = Candidates(surplus);
    Placer placer(Options{});
    const PreemptionInput input{world.state.TakeSnapshot(), nullptr, candidates, nullptr, true};
    const PreemptionAnswer answer = PlaceByPreemption(placer, input, demands);
    if (!answer.placed) return 0;
    return answer.pods.size();
  }
  // The size of the smallest set, at most `surplus`, that makes room, by trying all sets.
  std::optional<size_t> Fewest(const std::vector<Demand>& demands, size_t surplus) {
    std::optional<size_t> fewest;
    Placer placer(Options{});
    const auto snapshot = world.state.TakeSnapshot();
    for (uint32_t set = 1; set < 1U << pods.size(); ++set) {
      const auto size = static_cast<size_t>(std::popcount(set));
      if (size >= fewest.value_or(surplus + 1)) continue;
      cluster::Transaction tx(snapshot);
      for (size_t i = 0; i < pods.size(); ++i)
        if ((set >> i & 1U) != 0) tx.Evict(pods[i]);
      if (placer.PlaceGang(tx, demands, NodeFilter::kSchedulable).placed) fewest = size;
    }
    return fewest;
  }
};

std::vector<Demand> AllNaming(std::vector<Demand> demands, std::vector<std::string> uuids) {
  cluster::GpuWords words;
  words.uuids = std::move(uuids);
  for (Demand& demand : demands) {
    auto spec = std::make_shared<cluster::PodSpec>(*demand.spec);
    spec->gpus.choice = cluster::GpuChoice(words);
    demand.spec = spec;
  }
  return demands;
}

TEST_CASE("of surplus those pods go that are on the right NUMA node", "[policy][by-place]") {
  cluster::Node node = TwoSockets(NumaPolicy::kSingleNumaNode);
  SECTION("a GPU of the other one is dead") {
    node.gpus[2].healthy = false;
    Elastic gang(node);
    gang.HoldWhole({7, 6, 5, 4, 3, 1, 0});
    CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(4)), 6) == 4);
    CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(4)), 4) == 4);
    CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(4)), 3) == 7);  // it is not enough
  }
  SECTION("a GPU of the other one is others'") {
    Elastic gang(node);
    gang.Others(0);
    gang.HoldWhole({7, 6, 5, 4, 3, 2, 1});
    CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(4)), 6) == 4);
  }
  SECTION("it has free GPUs, though the newest are on the other one") {
    Elastic gang(node);
    gang.HoldWhole({0, 1, 4, 5, 6, 7});
    CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(4)), 5) == 2);
  }
  SECTION("two pods want two of each") {
    Elastic gang(node);
    gang.Others(0);
    gang.Others(4);
    gang.HoldWhole({1, 2, 3, 5, 6, 7});
    CHECK(gang.Leave(gang.world.Ask(2, MakePod("p").Gpus(2)), 5) == 4);
    CHECK(gang.Leave(gang.world.Ask(2, MakePod("p").Gpus(2)), 4) == 4);
  }
}

TEST_CASE("of surplus those pods go that hold the GPUs that are named", "[policy][by-place]") {
  Elastic gang(TwoSockets(NumaPolicy::kNone));
  gang.HoldWhole({0, 1, 2, 3, 4, 5, 6, 7});
  const auto asks = AllNaming(gang.world.Ask(1, MakePod("p").Gpus(2)), {"GPU-1", "GPU-0"});
  CHECK(gang.Leave(asks, 2) == 2);
  CHECK(gang.Leave(asks, 1) == 8);
}

TEST_CASE("of surplus those pods go that share the device with the fewest others",
          "[policy][by-place]") {
  cluster::Node node = MakeNode("n").Gpus(3).Sharing(GpuSharing::Fractional());
  Elastic gang(node);
  const PodBuilder share = MakePod("e").GpuShare(200);
  for (const int gpu : {1, 1, 1, 0, 0, 0, 0, 2}) gang.Hold(share, gpu);
  gang.world.Occupy("n", MakePod("o").GpuShare(800), {2});
  CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(1)), 6) == 3);
  CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(1)), 3) == 3);
  CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").GpuShare(500)), 5) == 1);
}

TEST_CASE("surplus on GPUs that are dead stays", "[policy][by-place]") {
  cluster::Node node = TwoSockets(NumaPolicy::kNone);
  for (const size_t gpu : {5U, 6U, 7U}) node.gpus[gpu].healthy = false;
  Elastic gang(node);
  gang.HoldWhole({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(gang.Leave(gang.world.Ask(1, MakePod("p").Gpus(2)), 2) == 2);
}

TEST_CASE("no smaller set of surplus would do, on nodes of any kind", "[policy][by-place]") {
  const uint64_t seed = testing::SeedOfRun();
  CAPTURE(seed);
  Dice dice(seed);
  for (int round = 0; round < testing::Rounds(300); ++round) {
    const bool shares = dice.OneIn(3);
    cluster::Node node = TwoSockets(dice.Pick<NumaPolicy>(
        {NumaPolicy::kNone, NumaPolicy::kRestricted, NumaPolicy::kSingleNumaNode}));
    for (cluster::Gpu& gpu : node.gpus) {
      gpu.healthy = !dice.OneIn(8);
      if (shares) gpu.sharing = GpuSharing::Fractional();
    }
    Elastic gang(node);
    std::vector<int> milli(8, 1000);
    for (int gpu = 0; gpu < 8; ++gpu) {
      if (!dice.OneIn(5)) continue;
      gang.Others(gpu);
      milli[static_cast<size_t>(gpu)] = 0;
    }
    const int each = shares ? dice.Pick<int>({250, 500}) : 1000;
    const PodBuilder kind = shares ? MakePod("e").GpuShare(each) : MakePod("e").Gpus(1);
    for (int tries = 0; tries < 20 && gang.pods.size() < 9; ++tries) {
      const int gpu = dice.Roll(0, 7);
      int& left = milli[static_cast<size_t>(gpu)];
      if (left < each) continue;
      left -= each;
      gang.Hold(kind, gpu);
    }
    PodBuilder asks = MakePod("p");
    const bool part = shares && dice.OneIn(2);
    asks = part ? asks.GpuShare(dice.Pick<int>({300, 600, 800})) : asks.Gpus(dice.Roll(1, 5));
    std::vector<Demand> demands = gang.world.Ask(1, asks);
    if (dice.OneIn(4)) {
      std::vector<std::string> uuids;
      for (int gpu = 0; gpu < 8; ++gpu)
        if (dice.OneIn(2)) uuids.push_back("GPU-" + std::to_string(gpu));
      if (!uuids.empty()) demands = AllNaming(std::move(demands), std::move(uuids));
    }
    Placer placer(Options{});
    if (gang.pods.size() < 2 || gang.world.Place(placer, demands).placed) continue;
    const auto surplus = static_cast<size_t>(dice.Roll(1, static_cast<int>(gang.pods.size()) - 1));
    const std::optional<size_t> fewest = gang.Fewest(demands, surplus);
    const size_t leave = gang.Leave(demands, surplus);
    CAPTURE(round, surplus);
    if (fewest) {
      CHECK(leave == *fewest);
    } else {
      CHECK((leave == 0 || leave == gang.pods.size()));
    }
  }
}

}  // namespace
}  // namespace muster::policy
