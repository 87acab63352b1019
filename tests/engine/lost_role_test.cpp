// Lost members of roles that are in a domain of their own (Options::lost_member).
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/lost_racks.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::LostMember;

// Two pods each of prefill and decode, each role in a rack of its own.
struct Service : LostRacks {
  explicit Service(LostMember lost_member) : LostRacks(lost_member) {
    cluster::PodGroup group = MakePodGroup("train").MinMember(4).Build();
    group.topology.required = "block";
    group.topology.subgroups = {{"decode", {"decode"}, "rack"}, {"prefill", {"prefill"}, "rack"}};
    Add(group);
    for (int i = 0; i < 4; ++i) Again(i, "");
    ScheduleAll("train");
    REQUIRE(Gang("train").state == GangState::kRunning);
  }
  using LostRacks::Again;
  void Again(int i, const std::string& uid) {
    const std::string name = "train-" + std::to_string(i);
    if (!uid.empty()) RemovePod(name);
    Add(MakePod(name)
            .Uid(name + uid)
            .Gpus(4)
            .InGroup("train")
            .Role(i < 2 ? "decode" : "prefill")
            .Gated());
  }
};

TEST_CASE("only the role that lost a member is moved", "[engine][fabric][repair]") {
  const auto says = GENERATE(LostMember::kMoveSegment, LostMember::kMoveGang);
  Service world(says);
  const std::string stays = world.RackOf("train-0");
  const std::string left = world.RackOf("train-2");
  REQUIRE(stays != left);
  REQUIRE(world.RackOf("train-3") == left);
  world.RemoveNode(world.Pod("train-3").node_name);
  world.Again(3, "b");
  world.Settle();
  CHECK(world.Leaving(4) == std::vector<std::string>{"train-2"});
  CHECK(world.Told("GangMoves") == 1);
  world.Again(2, "b");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") == stays);
  CHECK(world.RackOf("train-2") == world.RackOf("train-3"));
  CHECK(world.RackOf("train-2") != stays);
  CHECK(world.RackOf("train-2") != left);
  CHECK(world.Evictions() == 1);
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::testing
