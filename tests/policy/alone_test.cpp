// Pods by themselves that wish for nothing: small jobs break no whole racks.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "policy/search/score.hpp"
#include "tests/policy/racks.hpp"
#include "tests/policy/random_world.hpp"

namespace muster::policy {
namespace {

using testing::Dice;
using testing::MakeNode;
using testing::MakePod;
using testing::Racks;

TEST_CASE("of nodes that are alike the one in the rack with the least room is taken",
          "[policy][fabric][alone]") {
  Racks world(1, 3, 3);
  for (const char* node : {"a0x", "a1x", "a2x"}) world.Occupy(node, MakePod("x").Gpus(1));
  world.Occupy("a2y", MakePod("x").Gpus(2));
  // Three GPUs are free on an x in each rack; a2 has the least beside that.
  CHECK(world.In(world.Put(world.Ranked(1, 3)), 3) == "a2x");
}

TEST_CASE("a pod that was nominated a node keeps it among nodes that are alike",
          "[policy][fabric][alone]") {
  Racks world(1, 2, 2);
  for (const char* node : {"a0x", "a1x"}) world.Occupy(node, MakePod("x").Gpus(1));
  world.Occupy("a1y", MakePod("x").Gpus(4), {0, 1, 2, 3});
  std::vector<Demand> demand = world.Ranked(1, 1);
  demand.front().preferred = world.Index("a0x");
  CHECK(world.In(world.Put(demand), 3) == "a0x");
  CHECK(world.In(world.Put(world.Ranked(1, 3)), 3) == "a1x");
}

TEST_CASE("a pod that needs a free node takes the only one of a rack, or one in a rack in use",
          "[policy][fabric][alone]") {
  Racks world(1, 1, 5);
  world.Add(MakeNode("b0x").Gpus(4).Label("block", "b").Label("rack", "b0"));
  world.Occupy("a0x", MakePod("x").Gpus(4), {0, 1, 2, 3});
  CHECK(world.In(world.Put(world.Ranked(1, 1)), 2) == "b0");
  CHECK(world.In(world.Put(world.Ranked(1, 4)), 2) == "a0");
}

TEST_CASE("a block whose racks in use are full is in use all the same", "[policy][fabric][alone]") {
  Racks world(1, 5, 1);
  for (const std::string rack : {"b0", "b1"})
    world.Add(MakeNode(rack + "x").Gpus(4).Label("block", "b").Label("rack", rack));
  world.Occupy("a0x", MakePod("x").Gpus(4), {0, 1, 2, 3});
  CHECK(world.In(world.Put(world.Ranked(1, 4)), 1) == "a");
}

TEST_CASE("nodes whose device plugin does otherwise are not alike", "[policy][alone]") {
  Score a;
  Score b;
  b.cpu_left = 7;
  CHECK(SameGpus(a, b));
  b.astray = 2;
  CHECK_FALSE(SameGpus(a, b));
}

TEST_CASE("single pods open no free rack while one in use has room", "[policy][fabric][alone]") {
  Dice dice(7);
  for (int round = 0; round < 50; ++round) {
    Racks world(2, 0, 0);
    std::map<std::string, int> size;  // GPUs by rack
    for (int rack = 0; rack < 5; ++rack) {
      const std::string block(1, static_cast<char>('a' + rack % 2));
      const std::string name = block + std::to_string(rack);
      const int nodes = dice.Roll(1, 5);
      for (int node = 0; node < nodes; ++node)
        world.Add(MakeNode(name + std::to_string(node))
                      .Gpus(4)
                      .Label("block", block)
                      .Label("rack", name));
      size[name] = 4 * nodes;
    }
    std::map<std::string, int> taken;
    while (true) {
      const PlaceAnswer answer = world.Put(world.Ranked(1, 1));
      if (!answer.placed) break;
      const std::string rack = world.In(answer, 2);
      const bool opens = taken[rack] == 0;
      for (const auto& [other, gpus] : size)
        CHECK_FALSE((opens && taken[other] > 0 && taken[other] < gpus));
      ++taken[rack];
    }
    CHECK(taken == size);
  }
}

}  // namespace
}  // namespace muster::policy
