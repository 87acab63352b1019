// Beside which NICs the members of a gang get their GPUs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/gpu_links/gang_rails.hpp"
#include "tests/policy/world.hpp"
#include "tests/support/machines.hpp"
#include "tests/topology/machines.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::policy {
namespace {

using cluster::NodeIndex;
using testing::Dgx1v;
using testing::MakeNode;
using testing::MakePod;
using testing::World;
using topology::GpuMask;

std::vector<std::string> PlaceGang(World& world, int pods, int gpus, const GangTerms& terms = {}) {
  Placer placer(Options{});
  cluster::Transaction tx(world.state.TakeSnapshot());
  const PlaceAnswer answer = placer.PlaceGang(tx, world.Ask(pods, MakePod("p").Gpus(gpus)),
                                              NodeFilter::kSchedulable, terms);
  std::vector<std::string> where = world.Where(answer);
  std::sort(where.begin(), where.end());
  return where;
}

GangTerms Beside(World& world, const std::string& node, std::vector<uint16_t> gpus) {
  GangTerms terms;
  terms.beside.push_back(world.Index(node));
  PlacedMember member{world.Index(node), world.Ask(1, MakePod("m").Gpus(2)).front().spec};
  for (const uint16_t gpu : gpus) member.gpus.push_back({gpu});
  terms.placed.push_back(std::move(member));
  return terms;
}

using Where = std::vector<std::string>;

}  // namespace

TEST_CASE("members on different nodes lie beside the same NICs", "[policy][rails]") {
  World world;
  world.Add(Dgx1v("a"));
  world.Add(Dgx1v("b"));
  // What is left of a is beside NICs 2 and 3.
  world.Occupy("a", MakePod("x").Gpus(6), {0, 1, 2, 3, 5, 6});
  CHECK(PlaceGang(world, 2, 2) == Where{"a:4,7", "b:4,7"});
  // Another gang has no reason to follow.
  world.Occupy("a", MakePod("y").Gpus(2), {4, 7});
  CHECK(PlaceGang(world, 1, 2) == Where{"b:0,3"});
}

TEST_CASE("the node that has least to choose from says which NICs the gang uses",
          "[policy][rails]") {
  World world;
  const std::vector<std::string> names = {"a", "b", "c"};
  for (const std::string& name : names) world.Add(Dgx1v(name));
  // One member on each node: on the first ones there is a choice.
  std::vector<Demand> demands = world.Ask(3, MakePod("p").Gpus(2));
  for (size_t i = 0; i < names.size(); ++i) {
    for (const std::string& name : names) {
      if (name != names[i]) demands[i].excluded.push_back(world.Index(name));
    }
  }
  const auto where = [&] {
    Placer placer(Options{});
    return world.Where(world.Place(placer, demands));
  };
  CHECK(where() == Where{"a:0,3", "b:0,3", "c:0,3"});
  world.Occupy("c", MakePod("x").Gpus(4), {0, 1, 2, 3});
  CHECK(where() == Where{"a:4,7", "b:4,7", "c:4,7"});
  // Where two nodes have nothing in common the third one follows one of them.
  world.Occupy("b", MakePod("y").Gpus(4), {4, 5, 6, 7});
  CHECK(where() == Where{"a:0,3", "b:0,3", "c:4,7"});
}

TEST_CASE("members follow those that have their GPUs already", "[policy][rails]") {
  World world;
  world.Add(Dgx1v("a"));
  world.Add(Dgx1v("b"));
  world.Occupy("a", MakePod("x").Gpus(8), {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {5, 6})) == Where{"b:4,7"});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {0, 3})) == Where{"b:0,3"});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {})) == Where{"b:0,3"});
  // Of a whole machine nothing is learnt.
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {0, 1, 2, 3, 4, 5, 6, 7})) == Where{"b:0,3"});
}

TEST_CASE("members on one node have NICs of their own", "[policy][rails]") {
  World world;
  world.Add(Dgx1v("a"));
  std::set<int> nics;
  for (const std::string& where : PlaceGang(world, 4, 1)) nics.insert((where.at(2) - '0') / 2);
  CHECK(nics == std::set<int>{0, 1, 2, 3});
  // Also beside one that is there already: it has NICs 0 and 1.
  world.Occupy("a", MakePod("x").Gpus(2), {0, 2});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {0, 2})) == Where{"a:4,7"});
}

TEST_CASE("the NICs that follow are among the sets with the best ring", "[policy][rails]") {
  World world;
  world.Add(Dgx1v("a"));
  world.Add(Dgx1v("b"));
  world.Occupy("a", MakePod("x").Gpus(8), {0, 1, 2, 3, 4, 5, 6, 7});
  // 2 and 3 have two links between them, 3 and 7 one.
  world.Occupy("b", MakePod("y").Gpus(5), {0, 1, 4, 5, 6});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {5, 6})) == Where{"b:2,3"});
}

TEST_CASE("what the kubelet would turn away is no candidate, whatever NICs it is beside",
          "[policy][rails]") {
  World world;
  world.Add(Dgx1v("a"));
  cluster::Node strict = Dgx1v("b");
  strict.numa_policy = cluster::NumaPolicy::kSingleNumaNode;
  world.Add(strict);
  world.Occupy("a", MakePod("x").Gpus(8), {0, 1, 2, 3, 4, 5, 6, 7});
  // NICs 0 and 2 are on two NUMA nodes: one of them is what a set can have.
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {0, 4})) == Where{"b:0,3"});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {4, 7})) == Where{"b:4,7"});
  world.Occupy("b", MakePod("y").Gpus(2), {6, 7});
  CHECK(PlaceGang(world, 1, 2, Beside(world, "a", {6, 4})) == Where{"b:0,3"});
}

TEST_CASE("rails do not depend on the order of members, and few strays draw nobody",
          "[policy][rails]") {
  const auto topology =
      topology::TopologyCache().Of({topology::TopologySource::kAnnotation,
                                    *topology::ParseMachine(topology::testing::kDgx1v, "dgx1v")});
  const cluster::Node node = Dgx1v("n");
  const DeviceLinks links(topology, {0, 1, 2, 3, 4, 5, 6, 7}, node);
  // Four nodes use NICs 2 and 3, one uses 0 and 1, another one all.
  std::vector<std::pair<uint32_t, GpuMask>> members;
  for (const uint32_t n : {1U, 2U, 3U, 4U}) {
    members.emplace_back(n, 0b00110000);
    members.emplace_back(n, 0b11000000);
  }
  members.emplace_back(5, 0b00001001);
  members.emplace_back(6, 0b11111111);
  std::mt19937 dice(7);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(members.begin(), members.end(), dice);
    GangRails rails;
    for (const auto& [n, gpus] : members) rails.Add(NodeIndex{n}, links, gpus);
    const std::vector<cluster::DeviceAmount> free(8, cluster::DeviceAmount::All());
    CHECK(rails.Take(NodeIndex{9}, links, free, 2) == std::vector<size_t>{4, 7});
    // Now these NICs are taken there, and none is wanted that is not.
    std::vector<cluster::DeviceAmount> rest = free;
    rest[4] = rest[7] = {};
    CHECK(rails.Take(NodeIndex{9}, links, rest, 2) == std::vector<size_t>{0, 3});
  }
}

TEST_CASE("a gang gets the same GPUs whatever the order of its pods is", "[policy][rails]") {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.Add(Dgx1v(name));
  world.Occupy("a", MakePod("x").Gpus(5), {0, 1, 2, 5, 6});
  world.Occupy("c", MakePod("y").Gpus(4), {4, 5, 6, 7});
  Placer placer(Options{});
  std::vector<Demand> demands = world.Ask(9, MakePod("p").Gpus(2));
  const auto where = [&] {
    std::vector<std::string> all = world.Where(world.Place(placer, demands));
    std::sort(all.begin(), all.end());
    return all;
  };
  const std::vector<std::string> want = where();
  REQUIRE(want.size() == 9);
  std::mt19937 dice(3);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(demands.begin(), demands.end(), dice);
    CHECK(where() == want);
  }
}

TEST_CASE("machines without NICs are chosen from as ever", "[policy][rails]") {
  World world;
  for (const char* name : {"a", "b"}) {
    cluster::Node node = MakeNode(name).Gpus(4);
    node.topology =
        "GPU0 GPU1 GPU2 GPU3\nGPU0 X NV1 NV2 NV1\nGPU1 NV1 X NV1 NV2\n"
        "GPU2 NV2 NV1 X NV1\nGPU3 NV1 NV2 NV1 X\n";
    node.topology_source = cluster::TopologySource::kAnnotation;
    world.Add(node);
  }
  world.Occupy("a", MakePod("x").Gpus(2), {0, 2});
  CHECK(PlaceGang(world, 2, 2) == Where{"a:1,3", "b:0,2"});
}

}  // namespace muster::policy
