// Placement within domains.
#include <catch2/catch.hpp>

#include "cluster/holdings/node_set.hpp"
#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using cluster::NodeSet;
using testing::Dice;
using testing::World;

// Those domains, in that order.
class These final : public Wish {
 public:
  explicit These(std::vector<NodeSet> domains) : domains_(std::move(domains)) {}
  std::string Key() const override { return "these"; }
  WishedDomains Domains(const Surroundings& /*around*/) const override {
    WishedDomains wished;
    for (const NodeSet& one : domains_)
      wished.domains.push_back({std::make_shared<const NodeSet>(one), ""});
    return wished;
  }

 private:
  std::vector<NodeSet> domains_;
};

GangTerms Within(std::vector<NodeSet> domains) {
  GangTerms terms;
  terms.wish = std::make_shared<const These>(std::move(domains));
  return terms;
}

std::string Where(const World& world, const PlaceAnswer& answer) {
  if (!answer.placed) return "nowhere";
  std::string text;
  for (const std::string& where : world.Where(answer)) text += where + ' ';
  return text;
}

TEST_CASE("within a domain a gang is placed as if all other nodes were excluded",
          "[policy][domain]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  World world;
  constexpr int kNodes = 200;
  for (int i = 0; i < kNodes; ++i) world.Add(RandomNode(dice, "n" + std::to_string(i)));
  Placer placer(Options{strategy});
  int placed = 0;
  for (int round = 0; round < testing::Rounds(300); ++round) {
    // Whole chunks of 64 nodes, and parts of them.
    NodeSet domain;
    const int first = dice.Roll(0, kNodes - 1);
    const int last = dice.OneIn(3) ? kNodes - 1 : dice.Roll(first, kNodes - 1);
    for (int i = dice.OneIn(2) ? 0 : first; i <= last; ++i)
      domain.Add(NodeIndex{static_cast<uint32_t>(i)});
    const std::vector<Demand> demands = world.Ask(dice.Roll(1, 4), RandomPod(dice));
    std::vector<Demand> excluding = demands;
    for (Demand& demand : excluding) {
      for (NodeIndex node{0}; node.value < kNodes; ++node.value) {
        if (!domain.Contains(node)) demand.excluded.push_back(node);
      }
    }
    const auto snapshot = world.state.TakeSnapshot();
    cluster::Transaction one(snapshot);
    cluster::Transaction other(snapshot);
    const PlaceAnswer within =
        placer.PlaceGang(one, demands, NodeFilter::kSchedulable, Within({domain}));
    const PlaceAnswer without = placer.PlaceGang(other, excluding, NodeFilter::kSchedulable);
    REQUIRE(Where(world, within) == Where(world, without));
    for (const cluster::Placement& placement : within.placements)
      REQUIRE(domain.Contains(placement.node));
    if (!within.placed) CHECK(within.shortage.nodes <= domain.count());
    placed += within.placed ? 1 : 0;
    if (within.placed && dice.OneIn(2)) REQUIRE(world.state.Reserve(within.placements).ok());
  }
  CHECK(placed > 0);
}

TEST_CASE("of several domains the first is taken in which the whole gang fits",
          "[policy][domain]") {
  World world;
  for (const char* name : {"a0", "a1", "b0", "b1"})
    world.Add(testing::MakeNode(name).Gpus(2).Build());
  NodeSet a;
  NodeSet b;
  for (uint32_t i = 0; i < 4; ++i) (i < 2 ? a : b).Add(NodeIndex{i});
  Placer placer(Options{});
  const auto place = [&](int pods, std::vector<NodeSet> domains) {
    cluster::Transaction tx(world.state.TakeSnapshot());
    return placer.PlaceGang(tx, world.Ask(pods, testing::MakePod("p").Gpus(1)),
                            NodeFilter::kSchedulable, Within(std::move(domains)));
  };
  CHECK(Where(world, place(2, {b, a})).substr(0, 1) == "b");
  CHECK(Where(world, place(4, {a, b})).find('b') == std::string::npos);
  const PlaceAnswer refused = place(5, {a, b});  // eight GPUs are free, but four in each
  CHECK_FALSE(refused.placed);
  CHECK(refused.shortage.nodes == 2);
  CHECK_FALSE(place(1, {}).placed);
}

}  // namespace
}  // namespace muster::policy
