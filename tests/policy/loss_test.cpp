// Of several domains with room: where rings are fast, and what others lose least by.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "policy/domains/fragmentation.hpp"
#include "tests/policy/racks.hpp"
#include "tests/topology/machines.hpp"

namespace muster::policy {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::Racks;

// Four GPUs, each pair linked like that.
std::string Mesh(const std::string& link) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\n";
  for (int row = 0; row < 4; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < 4; ++column) text += "\t" + (row == column ? "X" : link);
    text += "\n";
  }
  return text;
}

// Racks whose nodes have the links that their letter stands for.
struct LinkedRacks : Racks {
  LinkedRacks() : Racks(0, 0, 0) {}
  void AddRack(const std::string& rack, int nodes, const std::string& link) {
    for (int i = 0; i < nodes; ++i) {
      cluster::Node node = MakeNode(rack + static_cast<char>('x' + i))
                               .Gpus(4)
                               .Label("block", rack.substr(0, 1))
                               .Label("rack", rack);
      node.topology = Mesh(link);
      node.topology_source = cluster::TopologySource::kAnnotation;
      Add(node);
    }
  }
};

TEST_CASE(
    "of racks with room a gang takes the one with the faster rings, though another is tighter",
    "[policy][fabric][links]") {
  const auto terms = GENERATE(cluster::TopologyTerms{}, cluster::TopologyTerms{"rack", ""},
                              cluster::TopologyTerms{"", "rack"});
  const int gpus = GENERATE(2, 4);
  LinkedRacks world;
  world.AddRack("a0", 2, "SYS");
  world.AddRack("b0", 3, "NV4");
  CHECK(world.In(world.Put(world.Ranked(2, gpus), terms), 2) == "b0 b0");
}

TEST_CASE("a domain's ring is that of the slowest member it would have",
          "[policy][fabric][links]") {
  LinkedRacks world;
  world.AddRack("a0", 3, "NV4");
  cluster::Node slow = *world.state.node(world.Index("a0z"));
  slow.topology = Mesh("SYS");
  world.Add(slow);
  world.AddRack("b0", 4, "NV1");
  const int members = GENERATE(2, 3);
  const std::string in = world.In(world.Put(world.Ranked(members, 4), {"rack", ""}), 2);
  CHECK(in == (members == 2 ? "a0 a0" : "b0 b0 b0"));
}

TEST_CASE("a node that has gone has no ring", "[policy][fabric][links]") {
  LinkedRacks world;
  world.AddRack("a0", 3, "NV4");
  world.AddRack("b0", 2, "SYS");
  world.state.Remove(cluster::NodeUid(world.state.node(world.Index("a0y"))->uid));
  CHECK(world.In(world.Put(world.Ranked(2, 4), {"rack", ""}), 3) == "a0x a0z");
}

TEST_CASE("a pod by itself takes the domain with the faster ring", "[policy][fabric][links]") {
  LinkedRacks world;
  world.AddRack("a0", 2, "SYS");
  world.AddRack("b0", 3, "NV4");
  world.Occupy("a0x", MakePod("x").Gpus(4), {0, 1, 2, 3});
  CHECK(world.In(world.Put(world.Ranked(1, 4)), 2) == "b0");
  // A single GPU has no ring: two free nodes of b0 stay together.
  CHECK(world.In(world.Put(world.Ranked(1, 1)), 2) == "a0");
}

TEST_CASE("two free nodes stay together where a third can be taken", "[policy][fabric][loss]") {
  Racks world(2, 1, 3);
  world.Occupy("a0x", MakePod("x").Gpus(4), {0, 1, 2, 3});
  world.Add(MakeNode("b0w").Gpus(4).Label("block", "b").Label("rack", "b0"));
  world.Occupy("b0x", MakePod("x").Gpus(4), {0, 1, 2, 3});
  // Two nodes are free in a0, three in b0.
  SECTION("by a pod by itself") { CHECK(world.In(world.Put(world.Ranked(1, 4)), 2) == "b0"); }
  SECTION("by a gang on one node") { CHECK(world.In(world.Put(world.Ranked(2, 2)), 2) == "b0 b0"); }
}

TEST_CASE("a gang leaves a rack that is free as a whole", "[policy][fabric][loss]") {
  Racks world(1, 1, 2);
  for (const std::string node : {"b0u", "b0v", "b0w", "b0x", "b0y"})
    world.Add(MakeNode(node).Gpus(4).Label("block", "b").Label("rack", "b0"));
  world.Occupy("b0u", MakePod("x").Gpus(4), {0, 1, 2, 3});
  // Two nodes of two are free in a0, four of five in b0.
  CHECK(world.In(world.Put(world.Ranked(2, 4), {"rack", ""}), 2) == "b0 b0");
}

TEST_CASE("the one node that a rack has left is taken before two that are together",
          "[policy][fabric][loss]") {
  // Two nodes are free in c0, which has others in use.
  Racks world(0, 0, 0);
  const auto add = [&](const std::string& node) {
    world.Add(
        MakeNode(node).Gpus(4).Label("block", node.substr(0, 1)).Label("rack", node.substr(0, 2)));
  };
  for (const std::string node : {"c0v", "c0w", "c0x", "c0y"}) add(node);
  const bool pair_is_whole = GENERATE(false, true);
  const int pods = GENERATE(1, 2);
  CAPTURE(pair_is_whole, pods);
  for (const std::string node : {"c0v", "c0w"}) {
    if (pair_is_whole)
      world.state.Remove(cluster::NodeUid(world.state.node(world.Index(node))->uid));
    else
      world.Occupy(node, MakePod("x").Gpus(4), {0, 1, 2, 3});
  }
  SECTION("where it never had more") { add("d0x"); }
  SECTION("where the others are down") {
    add("d0x");
    world.Add(MakeNode("d0y").Gpus(4).Label("block", "d").Label("rack", "d0").NotReady());
    world.Add(MakeNode("d0z").Gpus(4).Label("block", "d").Label("rack", "d0").Cordoned());
  }
  SECTION("where the others went down later") {
    for (const std::string node : {"d0x", "d0y", "d0z"}) add(node);
    cluster::Transaction tx(world.state.TakeSnapshot());
    CHECK(world.placer.PlaceGang(tx, world.Ranked(2, 2), NodeFilter::kSchedulable, GangTerms{})
              .placed);
    world.Add(MakeNode("d0y").Gpus(4).Label("block", "d").Label("rack", "d0").NotReady());
    world.Add(MakeNode("d0z").Gpus(4).Label("block", "d").Label("rack", "d0").Cordoned());
  }
  SECTION("where its block is free as a whole") {
    for (const std::string node : {"d0x", "d1x", "d1y"}) add(node);
  }
  CHECK(world.In(world.Put(world.Ranked(pods, 4 / pods)), 2) == (pods == 1 ? "d0" : "d0 d0"));
}

TEST_CASE("losses are compared by the largest whole domain, then by slots", "[policy][loss]") {
  Racks world(2, 2, 3);  // a0, a1, b0, b1
  world.Occupy("a0x", MakePod("x").Gpus(1));
  const auto snapshot = world.state.TakeSnapshot();
  const auto& fabric = world.placer.FabricOf(snapshot->nodes());
  DomainUse use;
  use.Follow(snapshot->free(), snapshot->nodes(), fabric);
  const auto rack = [&](const char* node) { return fabric->Of({0, 1}, world.Index(node)); };
  CHECK(use.FreeIn(rack("a0x")) == 2);
  CHECK(use.TakenIn(rack("a0x")) == 1);
  const Losses losses(*fabric, use);
  // a0 is in use; a1 is free in a block in use; all of b is free.
  CHECK(losses.Compare({rack("a0x"), 1}, {rack("a1x"), 1}) < 0);
  CHECK(losses.Compare({rack("a1x"), 1}, {rack("b0x"), 1}) < 0);
  CHECK(losses.Compare({rack("b0x"), 1}, {rack("b1x"), 1}) == 0);
  CHECK(losses.Compare({rack("b0x"), 0}, {rack("a0x"), 1}) < 0);
}

TEST_CASE("what loses less is one order, whatever opens nodes where", "[policy][loss]") {
  Racks world(2, 2, 3);
  world.Occupy("a0x", MakePod("x").Gpus(1));
  world.Occupy("b1x", MakePod("x").Gpus(4));
  world.Occupy("b1y", MakePod("x").Gpus(4));
  // Racks outside of blocks: the chain of domains around them is shorter.
  for (const std::string node : {"c0x", "c0y", "c1x"})
    world.Add(MakeNode(node).Gpus(4).Label("rack", node.substr(0, 2)));
  world.Occupy("c0x", MakePod("x").Gpus(1));
  const auto snapshot = world.state.TakeSnapshot();
  const auto& fabric = world.placer.FabricOf(snapshot->nodes());
  DomainUse use;
  use.Follow(snapshot->free(), snapshot->nodes(), fabric);
  const Losses losses(*fabric, use);
  std::vector<Opening> openings;
  for (int64_t nodes = 0; nodes < 3; ++nodes) {
    openings.push_back({topology::kNoDomain, nodes});
    for (topology::DomainId id = 0; id < fabric->domains().size(); ++id)
      openings.push_back({id, nodes});
  }
  const auto text = [&](const Opening& one) {
    return std::to_string(one.nodes) + " in " +
           (one.domain == topology::kNoDomain ? "none" : fabric->domains()[one.domain].name);
  };
  const auto order = [&](const Opening& a, const Opening& b) { return losses.Compare(a, b); };
  for (const Opening& a : openings) {
    for (const Opening& b : openings) {
      INFO(text(a) << ", " << text(b));
      REQUIRE(order(a, b) == -order(b, a));
      for (const Opening& c : openings) {
        INFO(text(c));
        if (order(a, b) <= 0 && order(b, c) <= 0)
          REQUIRE(order(a, c) == std::min(order(a, b), order(b, c)));
      }
    }
  }
}

TEST_CASE("what opens no node loses less than what opens one", "[policy][loss]") {
  Racks world(1, 2, 2);
  world.Occupy("a0x", MakePod("x").Gpus(1));
  const auto snapshot = world.state.TakeSnapshot();
  const auto& fabric = world.placer.FabricOf(snapshot->nodes());
  DomainUse use;
  use.Follow(snapshot->free(), snapshot->nodes(), fabric);
  const topology::DomainId rack = fabric->Of({0, 1}, world.Index("a0x"));
  const Losses losses(*fabric, use);
  CHECK(losses.Compare({rack, 0}, {rack, 1}) < 0);
  CHECK(losses.Compare({topology::kNoDomain, 0}, {rack, 1}) < 0);
}

}  // namespace
}  // namespace muster::policy
