// How a gang is divided over the domains below the one that holds it.
#include "policy/domains/layout.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "tests/policy/racks.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using testing::BlocksAndRacks;
using testing::MakeNode;
using testing::MakePod;
using testing::Racks;
using topology::DomainId;
using topology::Fabric;

TEST_CASE("a gang wider than a rack uses as few racks as can be, in equal shares",
          "[policy][fabric]") {
  Racks world(1, 4, 2);  // eight GPUs a rack
  CHECK(world.In(world.Put(world.Ranked(6, 2), {"block", ""}), 2) == "a0 a0 a0 a1 a1 a1");
  // Of a0 and a1 two GPUs are left in each.
  CHECK(world.In(world.Put(world.Ranked(8, 2), {"block", ""}), 2) == "a2 a2 a2 a2 a3 a3 a3 a3");
  CHECK(world.In(world.Put(world.Ranked(2, 2), {"block", ""}), 2) == "a0 a1");
}

TEST_CASE("where shares cannot be equal the full racks get what they can hold",
          "[policy][fabric]") {
  Racks world(1, 3, 2);
  world.Occupy("a1x", MakePod("other").Gpus(3), {0, 1, 2});
  world.Occupy("a2x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  // Eight, five and four GPUs are free: two racks are needed, the two largest.
  CHECK(world.In(world.Put(world.Ranked(12, 1), {"block", ""}), 2) ==
        "a0 a0 a0 a0 a0 a0 a0 a1 a1 a1 a1 a1");
}

TEST_CASE("a rack that takes a gang in one node is preferred to one that takes two",
          "[policy][fabric]") {
  topology::FabricOptions options = BlocksAndRacks();
  options.trees[0].levels.push_back({"nvl", {"nvl"}, topology::Unlabelled::kAlone});
  Racks world(1, 2, 2);
  world.placer = Placer(Options{Strategy::kBinpack, options});
  world.Occupy("a0x", MakePod("other").Gpus(2), {0, 1});
  world.Occupy("a0y", MakePod("other").Gpus(1), {0});
  // Rack a0 has five GPUs free, a1 eight; four fit into one NVLink domain, a node, in a1 only.
  CHECK(world.In(world.Put(world.Ranked(4, 1), {"block", ""}), 3) == "a1x a1x a1x a1x");
}

TEST_CASE("the other roles of a gang go where the hardest one is", "[policy][fabric]") {
  Racks world(1, 3, 2);
  world.Occupy("a2x", MakePod("other").Gpus(3), {0, 1, 2});  // the fullest rack
  std::vector<Demand> demands = world.Ask(6, MakePod("worker").Gpus(2));
  for (const Demand& launcher : world.Ask(2, MakePod("launcher").Gpus(1)))
    demands.push_back(launcher);
  CHECK(world.In(world.Put(demands, {"block", ""}), 2) == "a0 a0 a0 a1 a1 a1 a0 a0");
}

TEST_CASE("roles that get in each other's way are laid out again over fewer racks",
          "[policy][fabric]") {
  Racks world(1, 3, 1);
  world.Occupy("a0x", MakePod("other").Gpus(2), {0, 1});
  world.Occupy("a1x", MakePod("other").Gpus(1), {0});
  // Two, three and four are free. By itself each role goes to the tightest rack that holds it.
  std::vector<Demand> demands = world.Ask(1, MakePod("large").Gpus(3));
  demands.push_back(world.Ask(1, MakePod("middle").Gpus(2)).front());
  demands.push_back(world.Ask(1, MakePod("small").Gpus(1)).front());
  CHECK(world.In(world.Put(demands, {"block", ""}), 2) == "a1 a2 a2");
}

TEST_CASE("equal shares of blocks give way to fewer racks", "[policy][fabric]") {
  Racks world(2, 2, 2);
  for (const char* node : {"a1x", "a1y", "b0x", "b1x"})
    world.Occupy(node, MakePod("other").Gpus(4), {0, 1, 2, 3});
  // Eight are free in a0, four each in b0 and b1.
  CHECK(world.In(world.Put(world.Ranked(12, 1)), 2) == "a0 a0 a0 a0 a0 a0 a0 a0 b0 b0 b0 b0");
}

TEST_CASE("a gang that needs nodes without labels is on few of them all the same",
          "[policy][fabric]") {
  Racks world(1, 1, 1);
  world.Occupy("a0x", MakePod("other").Gpus(3), {0, 1, 2});
  for (const char* node : {"y", "z"}) world.Add(MakeNode(node).Gpus(4));
  world.Occupy("y", MakePod("other").Gpus(2), {0, 1});
  CHECK(world.In(world.Put(world.Ranked(4, 1)), 2) == "z z z z");
}

TEST_CASE("neighbours in rank are neighbours in the fabric", "[policy][fabric]") {
  Racks world(2, 2, 2);
  std::vector<Demand> demands = world.Ranked(8, 4);
  std::reverse(demands.begin(), demands.end());
  CHECK(world.In(world.Put(demands, {"", "block"}), 3) == "b1y b1x b0y b0x a1y a1x a0y a0x");
}

TEST_CASE("a member that may not be on a node keeps its own place in spite of its rank",
          "[policy][fabric]") {
  Racks world(1, 1, 2);
  std::vector<Demand> demands = world.Ranked(2, 4);
  demands[0].excluded = {world.Index("a0x")};
  CHECK(world.In(world.Put(demands, {"rack", ""}), 3) == "a0y a0x");
}

TEST_CASE("gangs that say nothing are kept together too", "[policy][fabric]") {
  Racks world(2, 2, 2);
  world.Occupy("b1x", MakePod("other").Gpus(1), {0});
  CHECK(world.In(world.Put(world.Ranked(3, 2)), 2) == "b1 b1 b1");  // the fullest that holds it
  CHECK(world.In(world.Put(world.Ranked(4, 4)), 1) == "a a a a");
  CHECK(world.In(world.Put(world.Ranked(4, 2)), 2) == "b0 b0 b0 b0");
  CHECK(world.In(world.Put(world.Ranked(1, 4)), 2) == "nowhere");
}

TEST_CASE("a single pod breaks a whole node only where it must, and then in the fullest rack",
          "[policy][fabric]") {
  Racks world(2, 2, 2);
  world.Occupy("b0x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  world.Occupy("a1x", MakePod("other").Gpus(2), {0, 1});
  CHECK(world.In(world.Put(world.Ranked(1, 1)), 3) == "a1x");  // in use, though b0 has less room
  CHECK(world.In(world.Put(world.Ranked(1, 2)), 3) == "a1y");  // of the two fullest the first
  CHECK(world.In(world.Put(world.Ranked(1, 4)), 3) == "b0y");
}

TEST_CASE("spread has no usual wish", "[policy][fabric]") {
  Racks world(2, 1, 2);
  world.placer = Placer(Options{Strategy::kSpread, BlocksAndRacks()});
  CHECK(world.In(world.Put(world.Ranked(4, 1)), 3) == "a0x a0y b0x b0y");
}

// Every way to divide `count` over `rooms`: the fewest that hold it.
int FewestByHand(const std::vector<int64_t>& rooms, int64_t count) {
  int fewest = 0;
  for (unsigned mask = 1; mask < (1U << rooms.size()); ++mask) {
    int64_t sum = 0;
    int used = 0;
    for (size_t i = 0; i < rooms.size(); ++i) {
      if ((mask >> i & 1U) == 0) continue;
      sum += rooms[i];
      ++used;
    }
    if (sum >= count && (fewest == 0 || used < fewest)) fewest = used;
  }
  return fewest;
}

TEST_CASE("divisions hold everybody, within the room, in the fewest domains", "[policy][fabric]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  int divided = 0;
  for (int round = 0; round < testing::Rounds(500); ++round) {
    testing::World world;
    for (int i = 0; i < dice.Roll(4, 24); ++i) {
      world.Add(MakeNode("n" + std::to_string(i))
                    .Label("block", std::to_string(dice.Roll(0, 3)))
                    .Label("rack", std::to_string(dice.Roll(0, 9))));
    }
    topology::FabricMaker maker(BlocksAndRacks());
    const auto fabric = maker.Follow(world.state.TakeSnapshot()->nodes());
    topology::DomainSums sums(fabric);
    const uint32_t nodes = world.state.TakeSnapshot()->size();
    for (NodeIndex node{0}; node.value < nodes; ++node.value) sums.Set(node, dice.Roll(0, 4));
    const int64_t count = dice.Roll(1, 40);
    std::vector<int64_t> blocks;
    for (const DomainId block : fabric->Outermost(0)) blocks.push_back(sums.Of(block));
    const std::vector<Part> parts = Divide({fabric, 0}, sums.sums(), count);
    const int64_t all = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
    REQUIRE(parts.empty() == (all < count));
    if (parts.empty()) continue;
    ++divided;
    int64_t sum = 0;
    std::map<DomainId, int64_t> by_block;
    for (const Part& part : parts) {
      sum += part.count;
      by_block[fabric->domains()[part.domain].parent] += part.count;
      REQUIRE(part.count > 0);
      REQUIRE(part.count <= sums.Of(part.domain));
    }
    REQUIRE(sum == count);
    REQUIRE(static_cast<int>(by_block.size()) == FewestByHand(blocks, count));
  }
  CHECK(divided > 0);
}

}  // namespace
}  // namespace muster::policy
