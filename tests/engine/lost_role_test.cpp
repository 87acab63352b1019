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
    for (int i = 0; i < 4; ++i) Make(i, "");
    ScheduleAll("train");
    REQUIRE(Gang("train").state == GangState::kRunning);
  }
  using LostRacks::Again;
  void Again(int i, const std::string& uid) {
    RemovePod("train-" + std::to_string(i));
    Make(i, uid);
  }
  void Make(int i, const std::string& uid) {
    const std::string name = "train-" + std::to_string(i);
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

TEST_CASE("roles that each lost a member are moved together", "[engine][fabric][repair]") {
  Service world(LostMember::kMoveSegment);
  world.AddNode("a3x");
  world.AddNode("a3y");
  const std::string first = world.RackOf("train-0");
  const std::string second = world.RackOf("train-2");
  for (const int i : {1, 3}) world.RemoveNode(world.Pod("train-" + std::to_string(i)).node_name);
  for (const int i : {1, 3}) world.Again(i, "b");
  world.Settle();
  CHECK(world.Leaving(4) == std::vector<std::string>{"train-0", "train-2"});
  CHECK(world.Told("GangMoves") == 1);
  for (const int i : {0, 2}) world.Again(i, "c");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") == world.RackOf("train-1"));
  CHECK(world.RackOf("train-2") == world.RackOf("train-3"));
  for (const char* pod : {"train-0", "train-2"}) {
    CHECK(world.RackOf(pod) != first);
    CHECK(world.RackOf(pod) != second);
  }
  CHECK(world.Evictions() == 2);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("roles that each lost a member stay where there is room for one of them only",
          "[engine][fabric][repair]") {
  Service world(LostMember::kMoveSegment);
  for (const int i : {1, 3}) world.RemoveNode(world.Pod("train-" + std::to_string(i)).node_name);
  for (const int i : {1, 3}) world.Again(i, "b");
  world.Settle();
  CHECK(world.Leaving(4).empty());
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a role that lost all of its members starts whole in one rack, or not at all",
          "[engine][fabric][repair]") {
  Service world(LostMember::kWait);
  std::string third = "a0";
  for (const std::string rack : {"a1", "a2"}) {
    if (world.RackOf("train-0") != rack && world.RackOf("train-2") != rack) third = rack;
  }
  world.Fill(third + "x");
  for (const int i : {2, 3}) world.RemoveNode(world.Pod("train-" + std::to_string(i)).node_name);
  world.Again(2, "b");
  world.ScheduleAll("train");
  CHECK_FALSE(world.Pod("train-2").bound());  // the other one is still to go
  world.RemovePod("train-3");
  world.Again(1, "b");
  world.ScheduleAll("train");
  CHECK(world.Pod("train-1").bound());
  CHECK_FALSE(world.Pod("train-2").bound());  // and to be made anew
  world.Make(3, "c");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.Gang("train").state == GangState::kDegraded);
  world.RemovePod("other-" + third + "x");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-1") == world.RackOf("train-0"));
  CHECK(world.RackOf("train-2") == third);
  CHECK(world.RackOf("train-3") == third);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a lost member of a role starts while another role waits for a rack",
          "[engine][fabric][repair]") {
  Service world(LostMember::kWait);
  for (const std::string rack : {"a0", "a1", "a2"}) {
    if (world.RackOf("train-0") != rack && world.RackOf("train-2") != rack) world.Fill(rack + "x");
  }
  for (const int i : {2, 3}) world.RemoveNode(world.Pod("train-" + std::to_string(i)).node_name);
  for (const int i : {1, 2, 3}) world.Again(i, "b");
  world.ScheduleAll("train");
  CHECK(world.Pod("train-1").bound());
  CHECK(world.RackOf("train-1") == world.RackOf("train-0"));
  CHECK_FALSE(world.Pod("train-2").bound());
  CHECK_FALSE(world.Pod("train-3").bound());
}

}  // namespace
}  // namespace muster::testing
