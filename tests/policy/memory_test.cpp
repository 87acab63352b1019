// What a Placer remembers never shows in its answers.
#include <catch2/catch.hpp>

#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using testing::Dice;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

std::string Answer(const World& world, const PlaceAnswer& answer) {
  if (!answer.placed) return testing::Text(answer.shortage);
  std::string text;
  for (const std::string& where : world.Where(answer)) text += where + ' ';
  return text;
}

// One thing that happens to the cluster; `held` are the pods that hold a reservation.
void Happen(Dice& dice, World& world, std::vector<Demand>& held) {
  const int nodes = static_cast<int>(world.state.node_count());
  const std::string name = "n" + std::to_string(dice.Roll(0, nodes + 2));
  switch (dice.Roll(0, 9)) {
    case 0:
      world.Add(RandomNode(dice, name));  // comes, or changes its record
      break;
    case 1:
      if (const cluster::Node* node = world.state.FindNode(name); node != nullptr && nodes > 70) {
        world.state.Remove(cluster::NodeUid(node->uid));
      }
      break;
    case 2:
      if (const cluster::Node* node = world.state.FindNode(name); node != nullptr) {
        cluster::Node again = *node;
        again.uid = cluster::NodeUid(again.uid.text() + "'");  // recreated under its name
        again.unschedulable = !again.unschedulable;
        world.Add(again);
      }
      break;
    case 3:
      if (const cluster::Node* node = world.state.FindNode(name); node != nullptr) {
        cluster::Node other = *node;  // nothing becomes free or taken by this
        other.unschedulable = !other.unschedulable;
        other.labels["zone"] = dice.OneIn(2) ? "a" : "b";
        world.Add(other);
      }
      break;
    default:
      for (int i = 0; i < 3 && !held.empty(); ++i) {
        const auto at = held.begin() + dice.Roll(0, static_cast<int>(held.size()) - 1);
        world.state.Release(at->pod);
        held.erase(at);
      }
  }
}

TEST_CASE("a Placer with a long memory answers like a new one", "[policy][memory]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  World world;
  for (int i = 0; i < 150; ++i) world.Add(RandomNode(dice, "n" + std::to_string(i)));
  std::vector<testing::PodBuilder> kinds;
  for (int i = 0; i < 12; ++i) kinds.push_back(RandomPod(dice));
  Placer old(Options{strategy});
  std::vector<Demand> held;
  for (int round = 0; round < testing::Rounds(400); ++round) {
    Happen(dice, world, held);
    std::vector<Demand> demands =
        dice.OneIn(4) ? RandomGang(dice, world, 6) : world.Ask(dice.Roll(1, 3), dice.Pick(kinds));
    const NodeFilter filter = dice.OneIn(5) ? NodeFilter::kAll : NodeFilter::kSchedulable;
    Placer fresh(Options{strategy});
    const PlaceAnswer remembered = world.Place(old, demands, filter);
    REQUIRE(Answer(world, remembered) == Answer(world, world.Place(fresh, demands, filter)));
    if (!remembered.placed || filter == NodeFilter::kAll || dice.OneIn(3)) continue;
    REQUIRE(world.state.Reserve(remembered.placements).ok());
    held.insert(held.end(), demands.begin(), demands.end());
  }
}

// The same nodes with nobody on them.
std::shared_ptr<const cluster::Snapshot> Emptied(const cluster::Snapshot& now) {
  cluster::FreeTable all;
  all.Resize(now.size());
  for (cluster::NodeIndex node{0}; node.value < now.size(); ++node.value) {
    const std::vector<cluster::DeviceAmount> gpus(now.node(node)->gpus.size(),
                                                  cluster::DeviceAmount::All());
    all.Set(node, now.node(node)->allocatable, gpus);
  }
  return std::make_shared<const cluster::Snapshot>(now.nodes(), std::move(all), now.generation(),
                                                   now.layout());
}

TEST_CASE("a Placer asked about the emptied cluster in between answers the same",
          "[policy][memory]") {
  World world;
  for (int i = 0; i < 100; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  Placer placer(Options{});
  const std::vector<Demand> gang = world.Ask(60, MakePod("p").Gpus(8));
  const PlaceAnswer first = world.PlaceAndHold(placer, gang);
  REQUIRE(first.placed);
  const std::vector<Demand> more = world.Ask(50, MakePod("p").Gpus(8));
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(world.Place(placer, more).placed);
    cluster::Transaction tx(Emptied(*world.state.TakeSnapshot()));
    CHECK(placer.PlaceGang(tx, more, NodeFilter::kAll).placed);
  }
}

TEST_CASE("a node that is cordoned, and then not, is noticed", "[policy][memory]") {
  World world;
  const testing::NodeBuilder node = MakeNode("a").Gpus(8);
  world.Add(node);
  Placer placer(Options{});
  const Demand demand = world.Ask(MakePod("p").Gpus(8));
  for (int i = 0; i < 2; ++i) {
    CHECK(world.Place(placer, {demand}).placed);
    world.Add(testing::NodeBuilder(node).Cordoned());
    CHECK_FALSE(world.Place(placer, {demand}).placed);
    world.Add(node);
  }
}

TEST_CASE("a Placer may be asked about another cluster", "[policy][memory]") {
  Placer placer(Options{});
  World one;
  World two;
  one.Add(MakeNode("a").Gpus(8));
  two.Add(MakeNode("b").Cordoned());
  const Demand demand = one.Ask(MakePod("p").Gpus(8));
  for (int i = 0; i < 2; ++i) {
    CHECK(one.Place(placer, {demand}).placed);
    CHECK_FALSE(two.Place(placer, {demand}).placed);
  }
}

TEST_CASE("more kinds of pods than are remembered are all answered", "[policy][memory]") {
  World world;
  world.Add(MakeNode("a").Gpus(8));
  Placer placer(Options{});
  for (int i = 1; i <= 2500; ++i) {
    const Demand demand = world.Ask(MakePod("p").MilliCpu(i));
    REQUIRE(world.Place(placer, {demand}).placed);
  }
}

TEST_CASE("more kinds of pods without room than are remembered are all told why",
          "[policy][memory]") {
  World world;
  for (int i = 0; i < 130; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  Placer old(Options{});
  for (int round = 0; round < 2; ++round) {
    for (int gpus = 9; gpus < 209; ++gpus) {
      const std::vector<Demand> demands = world.Ask(1, MakePod("p").Gpus(gpus));
      Placer fresh(Options{});
      REQUIRE(Answer(world, world.Place(old, demands)) ==
              Answer(world, world.Place(fresh, demands)));
    }
    world.Add(MakeNode("n3").Gpus(8).NotReady());
  }
}

TEST_CASE("a failed attempt is not remembered", "[policy][memory]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  Placer placer(Options{strategy});
  const Demand large = world.Ask(MakePod("large").Gpus(8));
  const Demand small = world.Ask(MakePod("small").Gpus(5));
  cluster::Transaction tx(world.state.TakeSnapshot());
  CHECK_FALSE(placer.PlaceGang(tx, {large, large, small}, NodeFilter::kSchedulable).placed);
  CHECK(placer.PlaceGang(tx, {large, small}, NodeFilter::kSchedulable).placed);
}

}  // namespace
}  // namespace muster::policy
