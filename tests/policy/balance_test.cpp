// How a gang is divided below its domain: in equal shares, or packed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "policy/domains/layout.hpp"
#include "tests/policy/racks.hpp"
#include "tests/policy/random_world.hpp"

namespace muster::policy {
namespace {

using cluster::Balance;
using cluster::NodeIndex;
using cluster::TopologyTerms;
using testing::BlocksAndRacks;
using testing::MakeNode;
using testing::MakePod;
using testing::Racks;
using topology::DomainId;

TopologyTerms Balanced(Balance balance, const std::string& required = "") {
  TopologyTerms terms{required, ""};
  terms.balance = balance;
  return terms;
}

TEST_CASE("a packed gang leaves the largest whole room", "[policy][balance]") {
  const Balance balance = GENERATE(Balance::kUnsaid, Balance::kEven, Balance::kPack);
  const bool packed = balance == Balance::kPack;
  Racks world(1, 2, 2);  // eight GPUs a rack
  CHECK(world.In(world.Put(world.Ranked(6, 2), Balanced(balance, "block")), 2) ==
        (packed ? "a0 a0 a0 a0 a1 a1" : "a0 a0 a0 a1 a1 a1"));
  CHECK(world.Put(world.Ranked(2, 2), {"rack", ""}).placed == packed);
}

TEST_CASE("the last rack of a packed gang is the tightest that holds the rest",
          "[policy][balance]") {
  Racks world(1, 3, 2);
  world.Occupy("a1x", MakePod("other").Gpus(3), {0, 1, 2});
  world.Occupy("a2x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  // Eight, five and four GPUs are free. In shares as equal as can be it would be seven and five.
  CHECK(world.In(world.Put(world.Ranked(12, 1), Balanced(Balance::kPack, "block")), 2) ==
        "a0 a0 a0 a0 a0 a0 a0 a0 a2 a2 a2 a2");
}

TEST_CASE("a gang that says only how it is divided is placed where others are",
          "[policy][balance]") {
  Racks world(2, 2, 2);
  world.Occupy("b1x", MakePod("other").Gpus(1), {0});
  CHECK(world.In(world.Put(world.Ranked(3, 2), Balanced(Balance::kPack)), 2) == "b1 b1 b1");
  CHECK(world.In(world.Put(world.Ranked(6, 2), Balanced(Balance::kPack)), 2) ==
        "a0 a0 a0 a0 a1 a1");
}

TEST_CASE("packed segments stay whole", "[policy][balance]") {
  Racks world(1, 3, 3);  // twelve GPUs a rack
  TopologyTerms terms = Balanced(GENERATE(Balance::kEven, Balance::kPack), "block");
  terms.segments = {{"rack", 4, true}};
  CHECK(world.In(world.Put(world.Ranked(16, 1), terms), 2) ==
        (terms.balance == Balance::kPack ? "a0 a0 a0 a0 a0 a0 a0 a0 a0 a0 a0 a0 a1 a1 a1 a1"
                                         : "a0 a0 a0 a0 a0 a0 a0 a0 a1 a1 a1 a1 a1 a1 a1 a1"));
}

TEST_CASE("members that come later are packed beside the others", "[policy][balance]") {
  Racks world(1, 3, 2);
  const std::vector<std::string> there = {"a1x"};
  CHECK(world.In(world.Put(world.Ranked(10, 1), Balanced(Balance::kPack, "block"), there), 2) ==
        "a0 a0 a1 a1 a1 a1 a1 a1 a1 a1");
}

TEST_CASE("wishes that differ in their balance have other keys", "[policy][balance]") {
  const std::string unsaid = FabricWish({"rack", ""}).Key();
  CHECK(FabricWish(Balanced(Balance::kEven, "rack")).Key() == unsaid);
  CHECK(FabricWish(Balanced(Balance::kPack, "rack")).Key() != unsaid);
}

// Of all ways to divide `count` over the rooms, each share a multiple of `unit`: one that uses the
// fewest; of these the one whose shares, the largest first, are the first in order, packed the
// last. Empty: there is none.
std::vector<int64_t> BestByHand(const std::vector<int64_t>& rooms, int64_t unit, int64_t count,
                                bool packed) {
  std::vector<int64_t> best;
  std::vector<int64_t> shares;
  const std::function<void(size_t, int64_t)> try_from = [&](size_t i, int64_t left) {
    if (left == 0) {
      std::vector<int64_t> sorted = shares;
      std::sort(sorted.rbegin(), sorted.rend());
      const bool fewer = best.empty() || sorted.size() < best.size();
      const bool better = sorted.size() == best.size() && (packed ? sorted > best : sorted < best);
      if (fewer || better) best = sorted;
      return;
    }
    if (i == rooms.size() || (!best.empty() && shares.size() == best.size())) return;
    try_from(i + 1, left);
    for (int64_t share = unit; share <= std::min(rooms[i], left); share += unit) {
      shares.push_back(share);
      try_from(i + 1, left - share);
      shares.pop_back();
    }
  };
  try_from(0, count);
  return best;
}

// A cluster of blocks and racks, and how many pods fit in each of their nodes.
struct RandomRooms {
  explicit RandomRooms(testing::Dice& dice) {
    testing::World world;
    for (int i = 0; i < dice.Roll(4, 16); ++i) {
      world.Add(MakeNode("n" + std::to_string(i))
                    .Label("block", std::to_string(dice.Roll(0, 3)))
                    .Label("rack", std::to_string(dice.Roll(0, 3))));
    }
    const auto snapshot = world.state.TakeSnapshot();
    topology::FabricMaker maker(BlocksAndRacks());
    fabric = maker.Follow(snapshot->nodes());
    topology::DomainSums sums(fabric);
    for (NodeIndex node{0}; node.value < snapshot->size(); ++node.value)
      sums.Set(node, dice.Roll(0, 4));
    room = sums.sums();
  }
  // Of the racks of a block, or of the blocks, in whole units.
  std::vector<int64_t> Whole(const std::vector<DomainId>& domains, int64_t unit) const {
    std::vector<int64_t> rooms;
    rooms.reserve(domains.size());
    for (const DomainId id : domains) {
      const std::vector<DomainId>& below = fabric->domains()[id].children;
      int64_t sum = below.empty() ? room[id] / unit * unit : 0;
      for (const int64_t one : Whole(below, unit)) sum += one;
      rooms.push_back(sum);
    }
    return rooms;
  }

  std::shared_ptr<const topology::Fabric> fabric;
  std::vector<int64_t> room;
};

std::vector<int64_t> Sorted(const std::map<DomainId, int64_t>& shares) {
  std::vector<int64_t> sorted;
  sorted.reserve(shares.size());
  for (const auto& [id, share] : shares) sorted.push_back(share);
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted;
}

TEST_CASE("shares are the fewest, and as equal or as unequal as can be, at every level",
          "[policy][balance]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  int divided = 0;
  for (int round = 0; round < testing::Rounds(400); ++round) {
    const RandomRooms world(dice);
    const int64_t unit = dice.Roll(1, 3);
    const int64_t count = unit * dice.Roll(1, 30 / static_cast<int>(unit));
    LayoutScope scope{world.fabric, 0};
    if (unit > 1) scope.multiples = {unit, unit};
    scope.packed = dice.OneIn(2);
    CAPTURE(round, unit, count, scope.packed);
    const std::vector<int64_t> best =
        BestByHand(world.Whole(world.fabric->Outermost(0), unit), unit, count, scope.packed);
    const std::vector<Part> parts = Divide(scope, world.room, count);
    REQUIRE(parts.empty() == best.empty());
    if (parts.empty()) continue;
    ++divided;
    std::map<DomainId, int64_t> of_block;
    std::map<DomainId, std::map<DomainId, int64_t>> of_rack;
    for (const Part& part : parts) {
      const DomainId block = world.fabric->domains()[part.domain].parent;
      REQUIRE(part.count <= world.room[part.domain]);
      of_block[block] += part.count;
      of_rack[block][part.domain] += part.count;
    }
    REQUIRE(Sorted(of_block) == best);
    for (const auto& [block, racks] : of_rack) {
      const std::vector<int64_t> rooms = world.Whole(world.fabric->domains()[block].children, unit);
      REQUIRE(Sorted(racks) == BestByHand(rooms, unit, of_block.at(block), scope.packed));
    }
  }
  CHECK(divided > 0);
}

}  // namespace
}  // namespace muster::policy
