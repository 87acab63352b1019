// What every strategy promises (policy/placing/placement.hpp, 1 to 4).
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using cluster::Transaction;
using testing::Dice;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

Placer PlacerWith(Strategy strategy) { return Placer(Options{strategy}); }

TEST_CASE("a placed gang overcommits nothing and breaks no constraint", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  int placed = 0;
  for (int round = 0; round < testing::Rounds(60); ++round) {
    World world;
    Placer placer = PlacerWith(strategy);
    const int nodes = dice.Roll(1, 12);
    for (int i = 0; i < nodes; ++i) world.Add(RandomNode(dice, "n" + std::to_string(i)));
    for (int gang = 0; gang < 8; ++gang) {
      const std::vector<Demand> demands = RandomGang(dice, world, 5);
      const PlaceAnswer answer = world.Place(placer, demands);
      if (!answer.placed) continue;
      ++placed;
      REQUIRE(FaultOf(world, demands, answer) == "");
      REQUIRE(world.state.Reserve(answer.placements).ok());
    }
  }
  CHECK(placed > 0);
}

TEST_CASE("a gang that does not fit leaves the transaction as it was", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.Add(MakeNode(name).Gpus(8));
  std::vector<Demand> demands = world.Ask(2, MakePod("worker").Gpus(8));
  // On its own each role fits, so that members are placed before the gang turns out not to fit.
  for (const Demand& demand : world.Ask(2, MakePod("server").Gpus(5))) demands.push_back(demand);
  demands[0].preferred = world.Index("n1");
  const Demand earlier = world.Ask(MakePod("earlier").MilliCpu(500));
  Placer placer = PlacerWith(strategy);
  Transaction tx(world.state.TakeSnapshot());
  REQUIRE(placer.PlaceGang(tx, {earlier}, NodeFilter::kSchedulable).placed);
  const std::string before = testing::Numbers(tx.free());

  const PlaceAnswer answer = placer.PlaceGang(tx, demands, NodeFilter::kSchedulable);

  CHECK_FALSE(answer.placed);
  CHECK(answer.placements.empty());
  CHECK(tx.deltas().size() == 1);
  CHECK(testing::Numbers(tx.free()) == before);
}

TEST_CASE("a placed gang is in the transaction, and answered in the order of the demands",
          "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.Add(MakeNode(name).Gpus(8));
  std::vector<Demand> demands = world.Ask(2, MakePod("launcher"));
  for (const Demand& demand : world.Ask(2, MakePod("worker").Gpus(8))) demands.push_back(demand);
  Placer placer = PlacerWith(strategy);
  Transaction tx(world.state.TakeSnapshot());

  const PlaceAnswer answer = placer.PlaceGang(tx, demands, NodeFilter::kSchedulable);

  REQUIRE(answer.placed);
  CHECK(FaultOf(world, demands, answer) == "");
  std::vector<cluster::Placement> done;
  for (const cluster::Delta& delta : tx.deltas()) done.push_back(delta.placement);
  CHECK_THAT(done, Catch::UnorderedEquals(answer.placements));
}

TEST_CASE("a gang of nobody is placed", "[policy][contract]") {
  World world;
  Placer placer = PlacerWith(Strategy::kBinpack);
  CHECK(world.Place(placer, {}).placed);
}

TEST_CASE(
    "the outcome does not depend on the order in which nodes were learnt or demands are listed",
    "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  for (int round = 0; round < testing::Rounds(40); ++round) {
    std::vector<cluster::Node> nodes;
    for (int i = 0; i < 70; ++i) nodes.push_back(RandomNode(dice, "n" + std::to_string(i)));
    const std::vector<testing::PodBuilder> roles = {RandomPod(dice), RandomPod(dice)};
    std::vector<std::vector<std::string>> outcomes;
    for (int order = 0; order < 2; ++order) {
      World world;
      for (const cluster::Node& node : nodes) world.Add(node);
      std::vector<Demand> demands;
      for (const testing::PodBuilder& role : roles) {
        for (const Demand& demand : world.Ask(6, role)) demands.push_back(demand);
      }
      if (order == 1) std::reverse(demands.begin(), demands.end());
      Placer placer = PlacerWith(strategy);
      outcomes.push_back(world.Where(world.Place(placer, demands)));
      std::sort(outcomes.back().begin(), outcomes.back().end());
      std::shuffle(nodes.begin(), nodes.end(), dice.engine());
    }
    REQUIRE(outcomes[0] == outcomes[1]);
  }
}

TEST_CASE("a preferred node is taken where the pod fits", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2", "n3"}) world.Add(MakeNode(name).Gpus(8));
  world.Occupy("n3", MakePod("other").Gpus(8));
  std::vector<Demand> demands = world.Ask(3, MakePod("worker").Gpus(8));
  demands[0].preferred = world.Index("n2");
  demands[1].preferred = world.Index("n3");
  demands[2].preferred = NodeIndex{4711};
  Placer placer = PlacerWith(strategy);

  const PlaceAnswer answer = world.Place(placer, demands);

  REQUIRE(answer.placed);
  CHECK(FaultOf(world, demands, answer) == "");
  CHECK(answer.placements[0].node == world.Index("n2"));
}

TEST_CASE("preferences come before everybody's free choice", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.Add(MakeNode(name).Gpus(8));
  // The workers are harder to place and would take n0 and n1 first.
  std::vector<Demand> demands = world.Ask(2, MakePod("worker").Gpus(8));
  demands.push_back(world.Ask(MakePod("server").Gpus(4)));
  demands[2].preferred = world.Index(strategy == Strategy::kBinpack ? "n0" : "n1");
  Placer placer = PlacerWith(strategy);

  const PlaceAnswer answer = world.Place(placer, demands);

  REQUIRE(answer.placed);
  CHECK(answer.placements[2].node == demands[2].preferred);
}

TEST_CASE("preferences are given up where the gang would not fit with them", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("big").Gpus(8));
  world.Add(MakeNode("small").Gpus(4));
  std::vector<Demand> demands = world.Ask(1, MakePod("worker").Gpus(8));
  demands.push_back(world.Ask(MakePod("server").Gpus(2)));
  demands[1].preferred = world.Index("big");
  Placer placer = PlacerWith(strategy);

  const PlaceAnswer answer = world.Place(placer, demands);

  REQUIRE(answer.placed);
  CHECK(answer.placements[1].node == world.Index("small"));
}

TEST_CASE("an excluded node is never used, not even when it is preferred", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.Add(MakeNode(name).Gpus(8));
  std::vector<Demand> demands = world.Ask(2, MakePod("worker").Gpus(8));
  demands[1].excluded = {world.Index("n0"), world.Index("n0"), world.Index("n1")};
  demands[1].preferred = world.Index("n0");
  Placer placer = PlacerWith(strategy);

  const PlaceAnswer answer = world.Place(placer, demands);
  REQUIRE(answer.placed);
  CHECK(answer.placements[1].node == world.Index("n2"));

  demands[0].excluded = {world.Index("n0"), world.Index("n1")};
  CHECK_FALSE(world.Place(placer, demands).placed);
}

TEST_CASE("cordoned and not-ready nodes count only when asked for", "[policy][contract]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  world.Add(MakeNode("cordoned")
                .Gpus(8)
                .Cordoned()
                .Taint("node.kubernetes.io/unschedulable", "", cluster::TaintEffect::kNoSchedule));
  world.Add(MakeNode("lost").Gpus(8).NotReady().Taint("node.kubernetes.io/unreachable", "",
                                                      cluster::TaintEffect::kNoExecute));
  world.Add(MakeNode("tainted").Gpus(8).Taint("dedicated", "x", cluster::TaintEffect::kNoSchedule));
  Placer placer = PlacerWith(strategy);
  const std::vector<Demand> two = world.Ask(2, MakePod("worker").Gpus(8));
  const std::vector<Demand> three = world.Ask(3, MakePod("worker").Gpus(8));

  CHECK_FALSE(world.Place(placer, two).placed);
  CHECK(world.Place(placer, two, NodeFilter::kAll).placed);
  CHECK_FALSE(world.Place(placer, three, NodeFilter::kAll).placed);
}

}  // namespace
}  // namespace muster::policy
