// A gang is on one node where one holds it, and on few nodes of a domain.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/policy/racks.hpp"

namespace muster::policy {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::Racks;

TEST_CASE("the fullest node that holds a gang is taken, though a rack is tighter",
          "[policy][fabric][single-node]") {
  Racks world(1, 3, 2);
  world.Occupy("a0x", MakePod("x").Gpus(3), {0, 1, 2});
  world.Occupy("a0y", MakePod("x").Gpus(2), {0, 1});  // a0 has three left, on two nodes
  world.Occupy("a1x", MakePod("x").Gpus(1), {0});
  CHECK(world.In(world.Put(world.Ranked(3, 1)), 3) == "a1x a1x a1x");
}

TEST_CASE("in a rack the fullest nodes are filled, and last the one with the least that is enough",
          "[policy][fabric][single-node]") {
  Racks world(1, 1, 4);
  world.Occupy("a0x", MakePod("x").Gpus(3), {0, 1, 2});
  world.Occupy("a0y", MakePod("x").Gpus(2), {0, 1});
  // 1, 2, 4 and 4 are free: 4 and 2 hold six.
  cluster::TopologyTerms terms;
  terms.required = "rack";
  const PlaceAnswer answer = world.Put(world.Ranked(6, 1), terms);
  CHECK(world.In(answer, 3) == "a0y a0y a0z a0z a0z a0z");
}

TEST_CASE("a gang is on one node that has no label of its rack", "[policy][fabric][single-node]") {
  Racks world(1, 2, 1);
  for (const std::string node : {"a0x", "a1x"}) world.Occupy(node, MakePod("x").Gpus(2), {0, 1});
  world.Add(MakeNode("lone").Gpus(8).Label("block", "a"));
  world.Add(MakeNode("bare").Gpus(8));
  CHECK(world.In(world.Put(world.Ranked(4, 1)), 4) == "lone lone lone lone");
  CHECK(world.In(world.Put(world.Ranked(8, 1)), 4) == "bare bare bare bare bare bare bare bare");
}

TEST_CASE("the order of equal nodes is one, also where some lack labels of the inner levels",
          "[policy][fabric][single-node]") {
  // Each of a, b and c holds both pods; around a there is room for two more, around c for one.
  std::vector<cluster::Node> nodes = {
      MakeNode("a").Gpus(4).Label("block", "a").Label("rack", "a0").Build(),
      MakeNode("b").Gpus(4).Label("block", "b").Build(),
      MakeNode("c").Gpus(4).Label("block", "c").Label("rack", "c0").Build(),
  };
  do {
    Racks world(0, 0, 0);
    for (const cluster::Node& node : nodes) world.Add(node);
    for (const std::string small : {"a1", "a2", "c1"})
      world.Add(MakeNode(small).Gpus(1).Label("block", small.substr(0, 1)).Label("rack", small));
    CHECK(world.In(world.Put(world.Ranked(2, 1)), 1) == "c c");
    std::rotate(nodes.begin(), nodes.begin() + 1, nodes.end());
  } while (nodes.front().name != "a");
}

TEST_CASE("gangs without GPUs stay off nodes with GPUs", "[policy][fabric][single-node]") {
  Racks world(0, 0, 0);
  for (const std::string node : {"c1", "c2"})
    world.Add(MakeNode(node).MilliCpu(4000).Label("block", "a").Label("rack", "r"));
  world.Add(MakeNode("g1").Gpus(8).MilliCpu(64'000).Label("block", "a").Label("rack", "r"));
  const auto gang = [&](int pods) { return world.Ask(pods, MakePod("p").MilliCpu(1000)); };
  CHECK(world.In(world.Put(gang(6)), 2).find('g') == std::string::npos);
  // Two fit on c1 or c2 and leave nothing; g1 has more room, but GPUs.
  CHECK(world.In(world.Put(gang(2)), 2).find('g') == std::string::npos);
  CHECK(world.In(world.Put(gang(2)), 2) == "g1 g1");
}

}  // namespace
}  // namespace muster::policy
