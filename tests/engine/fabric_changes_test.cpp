// What ordinary days do to gangs that asked for a rack: labels, levels and annotations change, and
// Muster restarts.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;

cluster::Node InRack(const std::string& name, const std::string& rack) {
  return MakeNode(name).Gpus(4).Label("block", "a").Label("rack", rack);
}

// Racks a0 and a1 of three nodes of four GPUs each, and gang "train" of two nodes' size.
struct Racks : testing::Harness {
  explicit Racks(const std::string& required, Options options = testing::WithFabric())
      : Harness(std::move(options)) {
    for (const char* name : {"a0x", "a0y", "a0z", "a1x", "a1y", "a1z"})
      Add(InRack(name, std::string(name, 2)));
    AddGang("train", 2, 4, 2);
    Require(required);
  }
  void Require(const std::string& level) {
    ChangeGroup("train", [&](cluster::PodGroup& group) { group.topology.required = level; });
    Settle();
  }
  void Start() {
    Settle();
    ScheduleAll("train");
    Settle();
    REQUIRE(Gang("train").state == GangState::kRunning);
  }
  // Where its members are or will be.
  std::string In() {
    std::string text;
    for (const MemberView& member : Gang("train").members) {
      const std::string& node = member.bound_node.empty() ? member.planned_node : member.bound_node;
      text += (text.empty() ? "" : " ") + (node.empty() ? "none" : node.substr(0, 2));
    }
    return text;
  }
  void ReplaceSecond() {
    cluster::Pod again = Pod("train-1");
    RemovePod("train-1");
    Settle();
    again.uid = cluster::PodUid("again");
    again.node_name.clear();
    again.nominated_node.clear();
    again.phase = cluster::PodPhase::kPending;
    again.gates = {cluster::kGangGate};
    Add(again);
    Settle();
  }
};

TEST_CASE("a level that the policy learns starts the gangs that waited for it",
          "[engine][fabric]") {
  Racks world("rack", {});
  CHECK(world.Gang("train").state == GangState::kInvalid);
  world.engine().SetOptions(testing::WithFabric());
  world.Start();
  CHECK(world.In() == "a0 a0");
}

TEST_CASE("a gang that runs goes on when its level is forgotten or its annotation edited",
          "[engine][fabric]") {
  Racks world("rack");
  world.Start();
  SECTION("the policy forgets the level") {
    world.engine().SetOptions({});
    world.Settle();
  }
  SECTION("the annotation names another level") { world.Require("block"); }
  SECTION("the annotation names no level") { world.Require("row"); }
  SECTION("a restart beside that") {
    world.Require("row");
    world.Restart();
    world.Settle();
  }
  world.Pass(cluster::Duration(3'600'000));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a lost member is replaced where the other is, also after its node was relabelled",
          "[engine][fabric]") {
  Racks world("rack");
  world.Start();
  REQUIRE(world.In() == "a0 a0");
  world.Add(InRack(world.Pod("train-0").node_name, "a1"));
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kRunning);
  world.ReplaceSecond();
  // train-0's node is called a0x, and is one of rack a1 now.
  CHECK(world.In() == "a0 a1");
}

TEST_CASE("a role that is no whole segments never fits, and the reason shows the sum",
          "[engine][fabric]") {
  const bool required = GENERATE(true, false);
  Racks world("");
  world.Add(testing::MakePodGroup("odd").MinMember(3));
  for (const char* name : {"odd-0", "odd-1", "odd-2"}) {
    cluster::Pod pod = MakePod(name).Gpus(1).InGroup("odd").Gated();
    cluster::PodSpec spec = *pod.spec;
    spec.topology.segments = {{"rack", 2, required}};
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    world.Add(pod);
  }
  world.Settle();
  if (!required) {
    CHECK(world.Gang("odd").state == GangState::kReserved);
    return;
  }
  CHECK(world.Gang("odd").state == GangState::kUnsatisfiable);
  CHECK_THAT(Describe(world.Gang("odd").reason), Catch::Contains("3 = 1 × 2 + 1"));
}

TEST_CASE("a Binding tells the pod's rank in its gang and where its node is", "[engine][fabric]") {
  Racks world("rack");
  world.Start();
  world.ReplaceSecond();
  world.ScheduleAll("train");
  std::string told;
  for (const Action& action : world.log) {
    const auto* bind = std::get_if<BindPod>(&action);
    if (bind != nullptr)
      told += std::to_string(bind->rank.value_or(99)) + " " + bind->topology_path + "; ";
  }
  CHECK(told == "0 a/a0/a0x; 1 a/a0/a0y; 1 a/a0/a0y; ");
}

TEST_CASE("a gang that is nominated keeps its rack across a restart", "[engine][fabric]") {
  Racks world("rack");
  world.Settle();
  REQUIRE(world.In() == "a0 a0");
  // The other rack has just room enough now: it would be taken first.
  world.Add(MakePod("other").Gpus(4).Scheduler("other").BoundTo("a1x", {0, 1, 2, 3}));
  world.Settle();
  const bool restarts = GENERATE(false, true);
  if (restarts) world.Restart();
  world.Start();
  CHECK(world.In() == "a0 a0");
}

}  // namespace
}  // namespace muster::engine
