// Nodes that are kept for members that a gang lost (fabric.reserve), in the engine.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;

engine::Options Keeping() {
  engine::Options options = WithFabric();
  options.placement.fabric.reserve = {{"rack", 1}};
  return options;
}

// Racks a0 and a1 of two nodes of four GPUs each; one of each rack is kept.
struct KeptNodes : Harness {
  KeptNodes() : Harness(Keeping()) {
    for (const std::string name : {"a0x", "a0y", "a1x", "a1y"})
      Add(MakeNode(name).Gpus(4).Label("block", "a").Label("rack", name.substr(0, 2)));
  }
};

TEST_CASE("a gang that would need what is kept waits, and its reason says so",
          "[engine][fabric][reserve]") {
  KeptNodes world;
  world.Add(MakePod("one").Gpus(4).Gated());
  world.Settle();
  world.AddGang("train", 2, 4, 2);
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kQueued);
  CHECK_THAT(engine::Describe(world.Gang("train").reason),
             Catch::Contains("1/4 nodes had room at its last try: 2 kept from it, ") &&
                 Catch::EndsWith("1 node of each rack is kept for lost members"));
  CHECK(world.Gang("train").reason.code == engine::ReasonCode::kNotEnoughGpus);
}

TEST_CASE("single pods and elastic members get nothing of what is kept",
          "[engine][fabric][reserve]") {
  KeptNodes world;
  world.AddGang("train", 4, 4, 1);
  world.ScheduleAll("train");
  world.Add(MakePod("one").Gpus(1).Gated());
  world.Settle();
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.Gang("one").state == GangState::kQueued);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a lost member comes back on a node that is kept", "[engine][fabric][reserve]") {
  KeptNodes world;
  world.AddGang("train", 2, 4, 2);
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.RemoveNode(world.Pod("train-1").node_name);
  world.RemovePod("train-1");
  world.Add(MakePod("train-1").Uid("second").Gpus(4).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 2);
}

// Members of three GPUs each on nodes without another free GPU, and pod "one" that waits for a GPU.
void RunBesideOne(KeptNodes& world) {
  for (const std::string node : {"a0x", "a1x"})
    world.Add(MakePod("other-" + node).Gpus(1).Scheduler("other").BoundTo(node, {3}));
  world.AddGang("train", 2, 3, 2);
  world.ScheduleAll("train");
  world.Add(MakePod("one").Gpus(1).Gated());
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  REQUIRE(world.Gang("one").state == GangState::kQueued);
}

TEST_CASE("what a lost member leaves of a kept node is anybody's", "[engine][fabric][reserve]") {
  KeptNodes world;
  RunBesideOne(world);
  world.RemoveNode(world.Pod("train-1").node_name);
  world.RemovePod("train-1");
  world.Add(MakePod("train-1").Uid("second").Gpus(3).InGroup("train").Gated());
  world.Settle();
  CHECK(world.Gang("one").state != GangState::kQueued);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("what another scheduler's pod leaves of a kept node is anybody's",
          "[engine][fabric][reserve]") {
  KeptNodes world;
  RunBesideOne(world);
  const std::string kept = world.Pod("train-0").node_name == "a0y" ? "a1y" : "a0y";
  world.Add(MakePod("foreign").Gpus(3).Scheduler("other").BoundTo(kept, {0, 1, 2}));
  world.Settle();
  CHECK(world.Gang("one").state != GangState::kQueued);
}

TEST_CASE("a gang that could only run on what is kept never fits", "[engine][fabric][reserve]") {
  KeptNodes world;
  world.AddGang("train", 3, 4, 3);
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kUnsatisfiable);
  CHECK_THAT(engine::Describe(world.Gang("train").reason),
             Catch::Contains("1 node of each rack is kept for lost members"));
}

TEST_CASE("the fabric shows what is kept in each domain, without slots for others",
          "[engine][fabric][reserve]") {
  KeptNodes world;
  world.Add(MakeNode("a1z").Gpus(4).Label("block", "a").Label("rack", "a1"));
  world.Settle();
  const engine::FabricView view = world.engine().Fabric(4);
  REQUIRE(view.domains.size() == 3);
  CHECK(view.domains[0].kept_nodes == 2);
  CHECK(view.domains[0].slots == 3);
  CHECK(view.domains[1].kept_nodes == 1);
  CHECK(view.domains[1].free_nodes == 2);
  CHECK(view.domains[1].slots == 1);
  CHECK(view.domains[2].slots == 2);
}

TEST_CASE("what domains offer to a gang that waits is without what is kept",
          "[engine][fabric][reserve]") {
  KeptNodes world;
  world.AddGang("train", 2, 4, 2);
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Settle();
  const auto fabric = world.engine().FabricOf({"default", "train"}, world.now());
  REQUIRE(fabric.has_value());
  REQUIRE(fabric->offers.offers.size() == 2);
  CHECK(fabric->offers.offers[0].members == 1);
}

}  // namespace
}  // namespace muster::testing
