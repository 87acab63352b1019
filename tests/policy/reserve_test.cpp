// Nodes that are kept for members that a gang lost (fabric.reserve).
#include "policy/domains/reserve.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/victims/preemption.hpp"
#include "tests/policy/racks.hpp"

namespace muster::policy {
namespace {

using testing::BlocksAndRacks;
using testing::MakeNode;
using testing::MakePod;
using testing::Racks;

// Block a, racks a0 and a1, nodes x, y, z of four GPUs each.
struct Kept : Racks {
  topology::FabricOptions fabric = BlocksAndRacks();
  explicit Kept(std::vector<topology::FabricReserve> reserve) : Racks(1, 2, 3) {
    fabric.reserve = std::move(reserve);
    placer = Placer({Strategy::kBinpack, fabric});
  }
  std::string Nodes(NodeFilter filter = NodeFilter::kSchedulable) {
    const auto snapshot = state.TakeSnapshot();
    const auto kept = placer.KeptOf(*snapshot, filter);
    if (kept == nullptr) return "nothing";
    std::vector<std::string> names;
    for (cluster::NodeIndex node{0}; node.value < snapshot->size(); ++node.value) {
      if (kept->Contains(node)) names.push_back(snapshot->node(node)->name);
    }
    std::sort(names.begin(), names.end());
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  }
  PlaceAnswer Ask(int count, int gpus, bool replaces = false) {
    cluster::Transaction tx(state.TakeSnapshot());
    GangTerms terms;
    if (!replaces) terms.kept = placer.KeptOf(tx.base(), NodeFilter::kSchedulable);
    return placer.PlaceGang(tx, Racks::Ask(count, MakePod("p").Gpus(gpus)),
                            NodeFilter::kSchedulable, terms);
  }
};

TEST_CASE("of each domain the last free nodes by name are kept", "[policy][fabric][reserve]") {
  Kept world({{"rack", 1}});
  CHECK(world.Nodes() == "a0z a1z");
  world.Occupy("a0z", MakePod("x").Gpus(1));
  CHECK(world.Nodes() == "a0y a1z");
  world.Occupy("a0y", MakePod("x").Gpus(1));
  world.Occupy("a0x", MakePod("x").Gpus(1));
  CHECK(world.Nodes() == "a1z");
}

TEST_CASE("without a reserve nothing is kept", "[policy][fabric][reserve]") {
  CHECK(Kept({}).Nodes() == "nothing");
}

TEST_CASE("a node that is kept for a rack counts for its block", "[policy][fabric][reserve]") {
  CHECK(Kept({{"block", 1}, {"rack", 1}}).Nodes() == "a0z a1z");
  CHECK(Kept({{"block", 3}, {"rack", 1}}).Nodes() == "a0z a1y a1z");
  CHECK(Kept({{"block", 2}}).Nodes() == "a1y a1z");
  CHECK(Kept({{"block", 100}}).Nodes() == "a0x a0y a0z a1x a1y a1z");
}

TEST_CASE("a node that may get no pods, or has no GPUs, is no spare", "[policy][fabric][reserve]") {
  Kept world({{"rack", 1}});
  world.Add(MakeNode("a0zz").Label("block", "a").Label("rack", "a0"));
  cluster::Node cordoned = MakeNode("a1zz").Gpus(4).Label("block", "a").Label("rack", "a1");
  cordoned.unschedulable = true;
  world.Add(cordoned);
  CHECK(world.Nodes() == "a0z a1z");
  CHECK(world.Nodes(NodeFilter::kAll) == "a0z a1zz");
}

TEST_CASE("new pods get none of what is kept, members that come back do",
          "[policy][fabric][reserve]") {
  Kept world({{"rack", 1}});
  CHECK(world.Ask(4, 4).placed);
  const PlaceAnswer too_many = world.Ask(5, 4);
  CHECK_FALSE(too_many.placed);
  CHECK(too_many.shortage.kept == 2);
  CHECK(too_many.shortage.reserve == "1 node of each rack is kept for lost members");
  CHECK(world.Ask(6, 4, true).placed);
  for (const char* node : {"a0x", "a0y", "a1x", "a1y"})
    world.Occupy(node, MakePod("x").Gpus(4), {0, 1, 2, 3});
  CHECK_FALSE(world.Ask(1, 1).placed);
  CHECK(world.Ask(1, 1, true).placed);
}

TEST_CASE("what is remembered of searches does not outlive what is kept",
          "[policy][fabric][reserve]") {
  Racks world(1, 0, 0);
  topology::FabricOptions fabric = BlocksAndRacks();
  fabric.reserve = {{"rack", 1}};
  Placer placer({Strategy::kBinpack, fabric});
  const auto add = [&](const std::string& name, int gpus) {
    world.Add(MakeNode(name).Gpus(gpus).Label("block", "a").Label("rack", "a0"));
  };
  // "y" and "z" lie in different chunks of the table.
  add("y", 4);
  for (int i = 0; i < 63; ++i) add("filler-" + std::to_string(i), 0);
  add("z", 4);
  const auto where = [&] {
    cluster::Transaction tx(world.state.TakeSnapshot());
    GangTerms terms;
    terms.kept = placer.KeptOf(tx.base(), NodeFilter::kSchedulable);
    const PlaceAnswer answer =
        placer.PlaceGang(tx, world.Ranked(1, 4), NodeFilter::kSchedulable, terms);
    return world.In(answer, 1);
  };
  CHECK(where() == "y");
  world.Occupy("z", MakePod("x").Gpus(1));
  CHECK(where() == "nowhere");  // "y" is the spare now, though nothing changed in its chunk
  add("z2", 4);
  CHECK(where() == "y");
}

TEST_CASE("the nodes that are kept now are not given to a gang that evicts others",
          "[policy][fabric][reserve]") {
  Kept world({{"rack", 1}});
  // a0x is all that is free in its rack: it is the spare, however many others leave.
  std::vector<Candidate> candidates;
  for (const std::string node : {"a0y", "a0z", "a1x", "a1y", "a1z"}) {
    const testing::PodBuilder pod = MakePod("on-" + node).Gpus(4);
    world.state.Upsert(testing::PodBuilder(pod).BoundTo(node, {0, 1, 2, 3}));
    candidates.push_back(
        {candidates.size(),
         "",
         {world.state.AllocationOf(cluster::PodUid("pod-on-" + node))->placement}});
  }
  REQUIRE(world.Nodes() == "a0x");
  GangTerms terms;
  const auto snapshot = world.state.TakeSnapshot();
  terms.kept = world.placer.KeptOf(*snapshot, NodeFilter::kSchedulable);
  const PreemptionAnswer answer =
      PlaceByPreemption(world.placer, {snapshot, nullptr, candidates},
                        world.Racks::Ask(2, MakePod("p").Gpus(4)), terms);
  REQUIRE(answer.placed);
  CHECK(answer.victims == std::vector<size_t>{0, 1});
  for (const cluster::Placement& one : answer.placements)
    CHECK(world.state.node(one.node)->name != "a0x");
}

TEST_CASE("a reserve reads well", "[policy][fabric][reserve]") {
  topology::FabricOptions fabric = BlocksAndRacks();
  CHECK(TextOfReserve(fabric).empty());
  fabric.reserve = {{"rack", 1}, {"dc/block", 2}};
  CHECK(TextOfReserve(fabric) ==
        "1 node of each rack, 2 nodes of each dc/block are kept for lost members");
}

}  // namespace
}  // namespace muster::policy
