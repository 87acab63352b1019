// Gangs in segments: whole ones, each in one domain, neighbours in rank together.
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "policy/domains/layout.hpp"
#include "tests/policy/racks.hpp"
#include "tests/policy/random_world.hpp"

namespace muster::policy {
namespace {

using cluster::TopologyTerms;
using testing::BlocksAndRacks;
using testing::MakeNode;
using testing::MakePod;
using testing::Racks;

TopologyTerms InSegments(std::vector<cluster::TopologySegment> segments) {
  TopologyTerms terms;
  terms.segments = std::move(segments);
  return terms;
}

TEST_CASE("each segment is in one rack, and has neighbours in rank", "[policy][segments]") {
  Racks world(1, 3, 2);  // eight GPUs a rack
  world.Occupy("a1x", MakePod("other").Gpus(2), {0, 1});
  // Six are free in a1: one whole segment. Two racks are enough, and need not be equal.
  CHECK(world.In(world.Put(world.Ranked(12, 1), InSegments({{"rack", 4, true}})), 2) ==
        "a0 a0 a0 a0 a0 a0 a0 a0 a2 a2 a2 a2");
  CHECK(world.In(world.Put(world.Ranked(8, 1), InSegments({{"rack", 4, true}})), 2) ==
        "a1 a1 a1 a1 a2 a2 a2 a2");
}

TEST_CASE("room that holds no whole segment is no room, unless they are only preferred",
          "[policy][segments]") {
  Racks world(1, 3, 1);
  for (const std::string node : {"a0x", "a1x", "a2x"})
    world.Occupy(node, MakePod("other").Gpus(1), {0});
  const PlaceAnswer refused = world.Put(world.Ranked(4, 1), InSegments({{"rack", 4, true}}));
  CHECK_FALSE(refused.placed);
  CHECK(refused.shortage.segments == "it requires segments of 4 in one domain of level rack");
  CHECK(world.In(world.Put(world.Ranked(4, 1), InSegments({{"rack", 4, false}})), 2) ==
        "a0 a0 a1 a1");
}

TEST_CASE("segments within segments, each in a domain of its own level", "[policy][segments]") {
  Racks world(2, 3, 1);
  world.Occupy("a0x", MakePod("other").Gpus(1), {0});
  // Block a holds two racks of four: one segment of eight. So block b holds the other.
  CHECK(
      world.In(world.Put(world.Ranked(16, 1), InSegments({{"block", 8, true}, {"rack", 4, true}})),
               2) == "a1 a1 a1 a1 a2 a2 a2 a2 b0 b0 b0 b0 b1 b1 b1 b1");
  CHECK_FALSE(
      world.Put(world.Ranked(8, 1), InSegments({{"block", 8, true}, {"rack", 4, true}})).placed);
}

TEST_CASE("the innermost preferred segments are given up first", "[policy][segments]") {
  Racks world(2, 2, 1);
  for (const std::string node : {"a0x", "a1x", "b0x", "b1x"})
    world.Occupy(node, MakePod("other").Gpus(1), {0});
  // Three are free in each rack.
  const PlaceAnswer answer =
      world.Put(world.Ranked(8, 1), InSegments({{"block", 4, true}, {"rack", 4, false}}));
  CHECK(world.In(answer, 1) == "a a a a b b b b");
}

TEST_CASE("a gang that is not whole segments is refused, and says what is left over",
          "[policy][segments]") {
  Racks world(1, 2, 2);
  const PlaceAnswer refused = world.Put(world.Ranked(6, 1), InSegments({{"rack", 4, true}}));
  CHECK_FALSE(refused.placed);
  CHECK(refused.shortage.segments == "6 of its pods are not whole segments: 6 = 1 × 4 + 2");
}

TEST_CASE("a lost member is replaced in the rack of its segment, or waits", "[policy][segments]") {
  Racks world(1, 2, 2);
  const TopologyTerms terms = InSegments({{"rack", 2, true}});
  // Of two segments one lost a member; a0 is the tightest.
  world.Occupy("a0x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  CHECK(world.In(world.Put(world.Ranked(1, 1), terms, {"a0y", "a0y", "a1x"}), 2) == "a1");
  world.Occupy("a1y", MakePod("other").Gpus(4), {0, 1, 2, 3});
  CHECK(world.In(world.Put(world.Ranked(1, 3), terms, {"a0y", "a0y", "a1x"}), 2) == "a1");
  CHECK(world.In(world.Put(world.Ranked(1, 1), terms, {"a0y", "a0y", "a1x"}), 2) == "nowhere");
}

TEST_CASE("a lost member is replaced in its segment's domain, not where most members are",
          "[policy][segments]") {
  Racks world(2, 1, 2);
  const std::vector<std::string> beside{"a0x", "a0x", "a0x", "a0x", "b0x", "b0x", "b0x"};
  TopologyTerms terms = InSegments({{"block", 4, true}});
  terms.preferred = GENERATE("", "block", "rack");
  // Without room in b0 it waits: in a0 it would begin a segment.
  const bool full = GENERATE(false, true);
  if (full) {
    for (const char* node : {"b0x", "b0y"})
      world.Occupy(node, MakePod("other").Gpus(4), {0, 1, 2, 3});
  }
  CHECK(world.In(world.Put(world.Ranked(1, 1), terms, beside), 2) == (full ? "nowhere" : "b0"));
}

TEST_CASE("no segment is begun in one block while one of another block lacks a member",
          "[policy][segments]") {
  Racks world(2, 2, 1);
  const TopologyTerms terms = InSegments({{"rack", 2, true}});
  const bool full = GENERATE(false, true);
  if (full) world.Occupy("a0x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  const PlaceAnswer answer = world.Put(world.Ranked(1, 1), terms, {"b0x", "b0x", "a0x"});
  CHECK(world.In(answer, 2) == (full ? "nowhere" : "a0"));
}

TEST_CASE("a whole segment is not begun either while one of another block lacks a member",
          "[policy][segments]") {
  Racks world(2, 2, 1);
  world.Occupy("a0x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  const PlaceAnswer answer =
      world.Put(world.Ranked(2, 1), InSegments({{"rack", 2, true}}), {"b0x", "b0x", "a0x"});
  CHECK_FALSE(answer.placed);
}

TEST_CASE("a late member begins a segment only where all of it has room", "[policy][segments]") {
  Racks world(1, 2, 1);
  world.Occupy("a0x", MakePod("other").Gpus(1), {0});
  const TopologyTerms terms = InSegments({{"rack", 4, true}});
  CHECK(world.In(world.Put(world.Ranked(1, 1), terms, {"a1x", "a1x", "a1x", "a1x"}), 2) == "a1");
  CHECK(world.In(world.Put(world.Ranked(1, 1), terms, {"a1x", "a1x", "a1x", "a1x"}), 2) ==
        "nowhere");
}

TEST_CASE("only the roles whose pods say so are in segments where the PodGroup says nothing",
          "[policy][segments]") {
  Racks world(1, 2, 1);
  cluster::PodSpec spec = *MakePod("worker").Gpus(1).Build().spec;
  spec.topology = InSegments({{"rack", 4, true}});
  std::vector<Demand> demands = world.Ask(4, MakePod("worker").Gpus(1));
  for (Demand& demand : demands) demand.spec = std::make_shared<const cluster::PodSpec>(spec);
  demands.push_back(world.Ask(1, MakePod("launcher").Gpus(2)).front());
  GangTerms gang;
  gang.wish = std::make_shared<const FabricWish>(spec.topology, FabricWish::SaidBy::kPods);
  cluster::Transaction tx(world.state.TakeSnapshot());
  CHECK(world.In(world.placer.PlaceGang(tx, demands, NodeFilter::kSchedulable, gang), 2) ==
        "a1 a1 a1 a1 a0");
}

TEST_CASE("a level that no node has a label of holds no required segment", "[policy][segments]") {
  Racks world(1, 2, 1);
  topology::FabricOptions options = BlocksAndRacks();
  options.trees[0].levels.push_back({"nvl", {"nvl"}, topology::Unlabelled::kOutside});
  world.placer = Placer(Options{Strategy::kBinpack, options});
  CHECK_FALSE(world.Put(world.Ranked(2, 1), InSegments({{"nvl", 2, true}})).placed);
  CHECK(world.Put(world.Ranked(2, 1), InSegments({{"nvl", 2, false}})).placed);
}

TEST_CASE("a node without a label of the segments' level holds none of them",
          "[policy][segments]") {
  Racks world(1, 1, 1);
  world.Add(MakeNode("c").Gpus(8).Label("block", "c"));  // a block without racks
  world.Occupy("a0x", MakePod("other").Gpus(2), {0, 1});
  CHECK_FALSE(world.Put(world.Ranked(4, 1), InSegments({{"rack", 2, true}})).placed);
  CHECK(world.In(world.Put(world.Ranked(2, 1), InSegments({{"rack", 2, true}})), 2) == "a0 a0");
  // The same one level further in: a row without racks beside one that has some.
  topology::FabricOptions options = BlocksAndRacks();
  options.trees[0].levels.insert(options.trees[0].levels.begin() + 1,
                                 {"row", {"row"}, topology::Unlabelled::kOutside});
  Racks rows(0, 0, 0);
  rows.placer = Placer(Options{Strategy::kBinpack, options});
  rows.Add(MakeNode("x").Gpus(2).Label("block", "a").Label("row", "x").Label("rack", "x"));
  rows.Add(MakeNode("y").Gpus(2).Label("block", "a").Label("row", "y"));
  CHECK_FALSE(rows.Put(rows.Ranked(4, 1), InSegments({{"rack", 2, true}})).placed);
}

// Whether so many inner segments can be given to racks so that each block has whole outer ones.
bool FitsByHand(const std::vector<std::vector<int64_t>>& blocks, int64_t count, int64_t outer,
                int64_t inner) {
  // By block: what numbers of inner segments it can have.
  std::vector<std::vector<int64_t>> shares;
  for (const std::vector<int64_t>& racks : blocks) {
    std::vector<int64_t>& of_block = shares.emplace_back();
    std::function<void(size_t, int64_t)> choose = [&](size_t rack, int64_t segments) {
      if (rack == racks.size()) {
        if (segments * inner % outer == 0) of_block.push_back(segments);
        return;
      }
      for (int64_t here = 0; here * inner <= racks[rack]; ++here) choose(rack + 1, segments + here);
    };
    choose(0, 0);
  }
  std::function<bool(size_t, int64_t)> sum = [&](size_t block, int64_t left) {
    if (left == 0) return true;
    if (block == shares.size() || left < 0) return false;
    return std::any_of(shares[block].begin(), shares[block].end(),
                       [&](int64_t share) { return sum(block + 1, left - share); });
  };
  return sum(0, count / inner);
}

TEST_CASE("a gang in two layers of segments is placed exactly where it can be",
          "[policy][segments]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  int placed = 0;
  int refused = 0;
  for (int round = 0; round < testing::Rounds(300); ++round) {
    Racks world(2, static_cast<int>(dice.Roll(1, 3)), 2);
    std::map<std::string, std::map<std::string, int64_t>> room;
    const auto snapshot = world.state.TakeSnapshot();
    std::vector<std::string> names;
    for (cluster::NodeIndex node{0}; node.value < snapshot->size(); ++node.value)
      names.push_back(world.state.node(node)->name);
    for (const std::string& name : names) {
      const auto taken = dice.Roll(0, 4);
      std::vector<int> gpus;
      for (int i = 0; i < taken; ++i) gpus.push_back(i);
      if (taken > 0)
        world.Occupy(name, MakePod("other" + name).Gpus(static_cast<int32_t>(taken)), gpus);
      room[name.substr(0, 1)][name.substr(0, 2)] += 4 - taken;
    }
    std::vector<std::vector<int64_t>> blocks;
    for (const auto& [block, racks] : room) {
      blocks.emplace_back();
      for (const auto& [rack, pods] : racks) blocks.back().push_back(pods);
    }
    const int64_t inner = dice.Roll(1, 3);
    const int64_t outer = inner * dice.Roll(1, 3);
    const int64_t count = outer * dice.Roll(1, 3);
    const PlaceAnswer answer =
        world.Put(world.Ranked(static_cast<int>(count), 1),
                  InSegments({{"block", outer, true}, {"rack", inner, true}}));
    INFO("round " << round << ": " << count << " in " << outer << " and " << inner);
    REQUIRE(answer.placed == FitsByHand(blocks, count, outer, inner));
    ++(answer.placed ? placed : refused);
    for (int64_t i = 0; answer.placed && i < count; ++i) {
      const auto at = [&](int64_t rank) {
        return world.state.node(answer.placements[static_cast<size_t>(rank)].node)->name;
      };
      REQUIRE(at(i).substr(0, 2) == at(i / inner * inner).substr(0, 2));
      REQUIRE(at(i).substr(0, 1) == at(i / outer * outer).substr(0, 1));
    }
  }
  CHECK(placed > 0);
  CHECK(refused > 0);
}

}  // namespace
}  // namespace muster::policy
