// Gangs that require or prefer a level of the fabric.
#include "policy/domains/fabric_wish.hpp"

#include <catch2/catch.hpp>

#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using testing::BlocksAndRacks;
using testing::MakeNode;
using testing::MakePod;

// Blocks "a" and "b" of two racks of two nodes of four GPUs each: "a0x" is a node of rack "a0".
struct FabricWishRacks : testing::World {
  Placer placer{Options{Strategy::kBinpack, BlocksAndRacks()}};
  FabricWishRacks() {
    for (const std::string block : {"a", "b"}) {
      for (const std::string rack : {"0", "1"}) {
        for (const std::string node : {"x", "y"})
          Add(MakeNode(block + rack + node)
                  .Gpus(4)
                  .Label("block", block)
                  .Label("rack", block + rack));
      }
    }
  }
  // So many pods of so many GPUs; held afterwards.
  PlaceAnswer Put(cluster::TopologyTerms terms, int pods, int gpus,
                  const std::vector<std::string>& beside = {}) {
    GangTerms gang;
    gang.wish = std::make_shared<const FabricWish>(std::move(terms));
    for (const std::string& node : beside) gang.beside.push_back(Index(node));
    std::sort(gang.beside.begin(), gang.beside.end());
    cluster::Transaction tx(state.TakeSnapshot());
    PlaceAnswer answer =
        placer.PlaceGang(tx, Ask(pods, MakePod("p").Gpus(gpus)), NodeFilter::kSchedulable, gang);
    if (answer.placed) REQUIRE(state.Reserve(answer.placements).ok());
    return answer;
  }
  // The racks of the members, in order.
  std::string In(const PlaceAnswer& answer) {
    if (!answer.placed) return "nowhere";
    std::string text;
    for (const cluster::Placement& one : answer.placements) {
      const std::string rack = state.node(one.node)->name.substr(0, 2);
      if (text.find(rack) == std::string::npos) text += (text.empty() ? "" : " ") + rack;
    }
    return text;
  }
};

TEST_CASE("a required level holds the whole gang, in the tightest domain", "[policy][fabric]") {
  FabricWishRacks world;
  world.Occupy("b1x", MakePod("other").Gpus(2), {0, 1});
  CHECK(world.In(world.Put({"rack", ""}, 6, 1)) == "b1");  // six are free there, eight elsewhere
  CHECK(world.In(world.Put({"rack", ""}, 8, 1)) == "b0");  // block "a" is emptier
  CHECK(world.In(world.Put({"rack", ""}, 9, 1)) == "nowhere");
  CHECK(world.In(world.Put({"block", ""}, 8, 1)) == "a0");  // none is free in the other
}

TEST_CASE("a domain that cannot hold the gang is named with what is missing", "[policy][fabric]") {
  FabricWishRacks world;
  world.Occupy("b1x", MakePod("other").Gpus(2), {0, 1});
  const PlaceAnswer answer = world.Put({"rack", ""}, 10, 1);
  REQUIRE_FALSE(answer.placed);
  CHECK(answer.shortage.limit == "rack");
  CHECK(answer.shortage.domains == 4);
  CHECK(answer.shortage.domain == "a/a0");
  CHECK(answer.shortage.nodes == 2);
  CHECK(answer.shortage.free_gpu_milli == 8000);
  CHECK(answer.shortage.need_gpu_milli == 10000);
}

TEST_CASE("a preferred level is left upwards, in the end for all nodes", "[policy][fabric]") {
  FabricWishRacks world;
  CHECK(world.In(world.Put({"", "rack"}, 8, 1)) == "a0");
  world.Occupy("a1x", MakePod("other").Gpus(1), {0});
  CHECK(world.In(world.Put({"", "rack"}, 8, 1)) == "b0");
  world.Occupy("b1x", MakePod("other").Gpus(1), {0});
  // No rack has eight, and neither block: one GPU in each is taken.
  const PlaceAnswer all = world.Put({"", "rack"}, 8, 1);
  CHECK(world.In(all).size() == 5);
}

TEST_CASE("a preferred level below a required one is left up to that", "[policy][fabric]") {
  FabricWishRacks world;
  world.Occupy("a0x", MakePod("other").Gpus(1), {0});
  world.Occupy("a1x", MakePod("other").Gpus(1), {0});
  world.Occupy("b0x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  CHECK(world.In(world.Put({"block", "rack"}, 8, 1)) == "b1");
  const PlaceAnswer wide = world.Put({"block", "rack"}, 8, 1);
  CHECK((world.In(wide) == "a0 a1" || world.In(wide) == "a1 a0"));
  CHECK(world.In(world.Put({"block", "rack"}, 8, 1)) == "nowhere");
}

TEST_CASE("a gang is in one domain of a level inside of the wished one where it can be",
          "[policy][fabric]") {
  const auto terms =
      GENERATE(cluster::TopologyTerms{"block", ""}, cluster::TopologyTerms{"", "block"},
               cluster::TopologyTerms{"", "", {{"block", 2, true}}});
  FabricWishRacks world;
  // Three are free in each rack of block a, which is the tightest.
  for (const char* node : {"a0x", "a1x"})
    world.Occupy(node, MakePod("other").Gpus(4), {0, 1, 2, 3});
  for (const char* node : {"a0y", "a1y"}) world.Occupy(node, MakePod("other").Gpus(1), {0});
  CHECK(world.In(world.Put(terms, 4, 1)) == "b0");
}

TEST_CASE("members are placed in the domain of those that are there", "[policy][fabric]") {
  FabricWishRacks world;
  CHECK(world.In(world.Put({"rack", ""}, 1, 4, {"b1x"})) == "b1");
  CHECK(world.In(world.Put({"rack", ""}, 2, 4, {"b1x"})) == "nowhere");
  CHECK(world.In(world.Put({"", "rack"}, 2, 4, {"b1x"})) == "b0 b1");
  // Where they are in two domains: in the one that has more of them.
  CHECK(world.In(world.Put({"rack", ""}, 1, 4, {"b1x", "a1x", "a1y"})) == "a1");
}

// An ordinary day: a node is relabelled, cordoned, back under its name with other GPUs, or gone.
void Disturb(testing::World& world, testing::Dice& dice) {
  const std::string name = "n" + std::to_string(dice.Roll(0, 149));
  const cluster::Node* known = world.state.node(world.Index(name));
  if (known == nullptr || dice.OneIn(3)) {
    cluster::Node node = testing::RandomNode(dice, name);
    if (!dice.OneIn(8)) node.labels["block"] = "b" + std::to_string(dice.Roll(0, 2));
    if (!dice.OneIn(8)) node.labels["rack"] = "r" + std::to_string(dice.Roll(0, 9));
    return world.Add(node);
  }
  cluster::Node node = *known;
  if (dice.OneIn(3)) {
    world.state.Remove(node.uid);
    return;
  }
  if (dice.OneIn(2)) node.unschedulable = !node.unschedulable;
  if (dice.OneIn(2))
    node.labels["rack"] = dice.OneIn(4) ? "" : "r" + std::to_string(dice.Roll(0, 9));
  world.Add(node);
}

TEST_CASE("what is remembered of room never changes an answer", "[policy][fabric]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  testing::World world;
  for (int i = 0; i < 150; ++i) {
    cluster::Node node = testing::RandomNode(dice, "n" + std::to_string(i));
    node.labels["block"] = "b" + std::to_string(dice.Roll(0, 2));
    node.labels["rack"] = "r" + std::to_string(dice.Roll(0, 9));
    world.Add(node);
  }
  Placer old(Options{Strategy::kBinpack, BlocksAndRacks()});
  int placed = 0;
  for (int round = 0; round < testing::Rounds(200); ++round) {
    for (int i = dice.Roll(0, 3); i > 0; --i) Disturb(world, dice);
    std::vector<Demand> demands = world.Ask(dice.Roll(1, 6), RandomPod(dice));
    if (dice.OneIn(3)) demands.push_back(world.Ask(RandomPod(dice)));
    for (Demand& demand : demands) demand.rank = static_cast<uint32_t>(dice.Roll(0, 9));
    GangTerms terms;
    if (!dice.OneIn(3)) {
      terms.wish = std::make_shared<const FabricWish>(
          cluster::TopologyTerms{dice.OneIn(2) ? "block" : "", dice.OneIn(2) ? "rack" : "block"});
    }
    Placer fresh(Options{Strategy::kBinpack, BlocksAndRacks()});
    const auto filter = dice.OneIn(3) ? NodeFilter::kAll : NodeFilter::kSchedulable;
    const auto snapshot = world.state.TakeSnapshot();
    cluster::Transaction one(snapshot);
    cluster::Transaction other(snapshot);
    const PlaceAnswer answer = old.PlaceGang(one, demands, filter, terms);
    const PlaceAnswer again = fresh.PlaceGang(other, demands, filter, terms);
    REQUIRE(answer.placed == again.placed);
    REQUIRE(world.Where(answer) == world.Where(again));
    REQUIRE(answer.shortage.domain == again.shortage.domain);
    placed += answer.placed ? 1 : 0;
    if (answer.placed && filter == NodeFilter::kSchedulable)
      REQUIRE(world.state.Reserve(answer.placements).ok());
  }
  CHECK(placed > 0);
}

}  // namespace
}  // namespace muster::policy
