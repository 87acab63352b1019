// Gangs of one spread group keep out of each other's domains, where they can.
#include <catch2/catch.hpp>

#include "tests/policy/racks.hpp"
#include "tests/policy/random_world.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using cluster::TopologyTerms;
using testing::BlocksAndRacks;
using testing::MakeNode;
using testing::MakePod;

TopologyTerms SpreadOver(const std::string& level, TopologyTerms terms = {}) {
  terms.spread = level;
  terms.spread_group = "chat";
  return terms;
}

// The gangs that `Put` places are one spread group.
struct Group : testing::Racks {
  using Racks::Racks;
  PlaceAnswer Put(const std::vector<Demand>& demands, TopologyTerms terms,
                  const std::vector<std::string>& beside = {}) {
    GangTerms gang;
    gang.wish = std::make_shared<const FabricWish>(std::move(terms));
    gang.others = others;
    for (const std::string& node : beside) gang.beside.push_back(Index(node));
    cluster::Transaction tx(state.TakeSnapshot());
    PlaceAnswer answer = placer.PlaceGang(tx, demands, NodeFilter::kSchedulable, gang);
    if (!answer.placed) return answer;
    REQUIRE(state.Reserve(answer.placements).ok());
    others.emplace_back();
    for (const cluster::Placement& one : answer.placements) others.back().push_back(one.node);
    return answer;
  }
  std::string Next(int pods, int gpus, const TopologyTerms& terms, size_t letters = 2) {
    return In(Put(Ranked(pods, gpus), terms), letters);
  }
  std::vector<std::vector<NodeIndex>> others;
};

TEST_CASE("each gang of a group goes where the fewest of them are", "[policy][spread]") {
  const TopologyTerms terms =
      SpreadOver("rack", GENERATE(values<TopologyTerms>(
                             {{}, {"rack", ""}, {"block", ""}, {"", "rack"}, {"", "block"}})));
  Group world(1, 3, 2);  // eight GPUs a rack
  world.Occupy("a1x", MakePod("other").Gpus(1), {0});
  CHECK(world.Next(2, 1, terms) == "a1 a1");  // the tightest, as long as nobody is anywhere
  CHECK(world.Next(2, 1, terms) == "a0 a0");
  CHECK(world.Next(2, 1, terms) == "a2 a2");
  // One is everywhere. a1 is the tightest, but there a free node would be taken.
  CHECK(world.Next(2, 1, terms) == "a0 a0");
}

TEST_CASE("a gang that finds no room where the fewest are goes elsewhere", "[policy][spread]") {
  Group world(1, 2, 2);
  world.Occupy("a1x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  const TopologyTerms terms = SpreadOver("rack", {"rack", ""});
  CHECK(world.Next(2, 2, terms) == "a1 a1");
  CHECK(world.Next(2, 2, terms) == "a0 a0");
  CHECK(world.Next(2, 2, terms) == "a0 a0");
  CHECK(world.Next(2, 2, terms) == "nowhere");
}

TEST_CASE("a level outside the gang's own chooses among its domains", "[policy][spread]") {
  Group world(2, 2, 2);
  const TopologyTerms terms = SpreadOver("block", {"rack", ""});
  CHECK(world.Next(1, 4, terms) == "a0");
  CHECK(world.Next(1, 4, terms) == "b0");
  CHECK(world.Next(1, 4, terms) == "a0");  // one each: then the tightest
  CHECK(world.Next(1, 4, terms) == "b0");
}

TEST_CASE("gangs wider than a domain of their level go where the fewest are around it",
          "[policy][spread]") {
  Group world(2, 4, 1);  // four GPUs a rack, sixteen a block
  const TopologyTerms terms = SpreadOver("rack", {"block", ""});
  CHECK(world.Next(2, 4, terms, 1) == "a a");
  CHECK(world.Next(2, 4, terms, 1) == "b b");
  CHECK(world.Next(2, 4, terms, 1) == "a a");
}

TEST_CASE("where a gang has members or nominations comes before where others are",
          "[policy][spread]") {
  Group world(1, 2, 2);
  const TopologyTerms terms = SpreadOver("rack", {"rack", ""});
  REQUIRE(world.Next(1, 1, terms) == "a0");
  CHECK(world.In(world.Put(world.Ranked(1, 1), terms, {"a0y"}), 2) == "a0");
  std::vector<Demand> nominated = world.Ranked(1, 1);
  nominated[0].preferred = world.Index("a0x");
  CHECK(world.In(world.Put(nominated, terms), 2) == "a0");
  CHECK(world.Next(1, 1, terms) == "a1");
}

TEST_CASE("a gang counts once in a domain, with however many members", "[policy][spread]") {
  Group world(1, 2, 3);
  const TopologyTerms terms = SpreadOver("rack", {"rack", ""});
  world.others = {{world.Index("a0x"), world.Index("a0y"), world.Index("a0z")},
                  {world.Index("a1x")},
                  {world.Index("a1y")}};
  CHECK(world.Next(1, 1, terms) == "a0");
}

TEST_CASE("only those that say so are spread", "[policy][spread]") {
  Group world(1, 2, 2);
  TopologyTerms terms{"rack", ""};
  terms.spread_group = "chat";
  CHECK(world.Next(1, 1, terms) == "a0");
  CHECK(world.Next(1, 1, terms) == "a0");
  terms.required.clear();
  cluster::PodGroup group = testing::MakePodGroup("g").Build();
  group.topology = terms;
  CHECK(FabricWishes().Of(&group, MakePod("p").Build()) == nullptr);
}

TEST_CASE("the key of a wish names the level, not the group", "[policy][spread]") {
  TopologyTerms terms = SpreadOver("rack", {"rack", ""});
  const std::string key = FabricWish(terms).Key();
  CHECK(key != FabricWish({"rack", ""}).Key());
  CHECK(key != FabricWish(SpreadOver("block", {"rack", ""})).Key());
  terms.spread_group = "mail";
  CHECK(FabricWish(terms).Key() == key);
}

TEST_CASE("where others are never decides whether equal pods are placed", "[policy][spread]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  int placed = 0;
  for (int round = 0; round < testing::Rounds(100); ++round) {
    testing::World world;
    for (int i = 0; i < 60; ++i) {
      cluster::Node node = testing::RandomNode(dice, "n" + std::to_string(i));
      node.labels["block"] = "b" + std::to_string(dice.Roll(0, 2));
      if (!dice.OneIn(8)) node.labels["rack"] = "r" + std::to_string(dice.Roll(0, 9));
      world.Add(node);
    }
    Placer placer(Options{Strategy::kBinpack, BlocksAndRacks()});
    const std::vector<Demand> demands = world.Ask(dice.Roll(1, 40), RandomPod(dice));
    GangTerms terms;
    terms.wish = std::make_shared<const FabricWish>(
        SpreadOver(dice.OneIn(2) ? "rack" : "block",
                   {dice.OneIn(2) ? "block" : "", dice.OneIn(2) ? "rack" : ""}));
    cluster::Transaction alone(world.state.TakeSnapshot());
    const bool fits = placer.PlaceGang(alone, demands, NodeFilter::kSchedulable, terms).placed;
    for (int i = dice.Roll(1, 9); i > 0; --i) {
      std::vector<NodeIndex>& nodes = terms.others.emplace_back();
      for (int j = dice.Roll(1, 5); j > 0; --j)
        nodes.push_back({static_cast<uint32_t>(dice.Roll(0, 59))});
    }
    cluster::Transaction among(world.state.TakeSnapshot());
    REQUIRE(placer.PlaceGang(among, demands, NodeFilter::kSchedulable, terms).placed == fits);
    placed += fits ? 1 : 0;
  }
  CHECK(placed > 0);
}

}  // namespace
}  // namespace muster::policy
