// Lost members that find no room in the domain in which they have to be (Options::lost_member).
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/lost_racks.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::LostMember;
using engine::ReasonCode;
using Racks = LostRacks;

TEST_CASE("where the policy says nothing a gang whose rack has no room is evicted after a while",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kPartialGang);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  CHECK(world.Evictions() == 0);
  world.Pass(cluster::Seconds(70));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a gang may wait for room in its rack as long as it takes", "[engine][fabric][repair]") {
  Racks world(LostMember::kWait);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  for (int i = 0; i < 20; ++i) world.Pass(cluster::Seconds(60));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK_THAT(engine::Describe(world.Gang("train").reason),
             Catch::Contains("it requires one domain of level rack"));
  CHECK(world.engine().Audit(world.now()).empty());
  const std::string another = world.RackOf("train-0") + "z";
  world.AddNode(another);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("train-1").node_name == another);
}

TEST_CASE("a gang that waits for room in its rack has no deadline and writes nothing",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kWait);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(400));  // until its members are told
  CHECK_FALSE(world.Gang("train").deadline);
  const int writes = world.writes;
  for (int i = 0; i < 20; ++i) world.Pass(cluster::Seconds(60));
  CHECK(world.writes == writes);
  world.Restart();
  world.Pass(cluster::Seconds(120));
  CHECK_FALSE(world.Gang("train").deadline);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a gang that waits in its rack is evicted where nobody comes for the lost member",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kWait);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(300));
  CHECK(world.Evictions() == 0);
  world.RemovePod("train-1");
  world.Pass(cluster::Seconds(70));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a gang is moved as a whole to a rack that has room for it now",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  const std::string rack = world.RackOf("train-0");
  world.LoseWithNode("train-1");
  CHECK(world.Leaving(2) == std::vector<std::string>{"train-0"});
  CHECK(world.Gang("train").reason.code == ReasonCode::kMoving);
  CHECK(world.Told("GangMoves") == 1);
  world.Again("train-0");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") != rack);
  CHECK(world.RackOf("train-0") == world.RackOf("train-1"));
  CHECK(world.Evictions() == 1);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a gang that is being moved when Muster restarts is whole elsewhere all the same",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  const std::string rack = world.RackOf("train-0");
  world.LoseWithNode("train-1");
  REQUIRE(world.Leaving(2) == std::vector<std::string>{"train-0"});
  world.Restart();
  world.Settle();
  world.Again("train-0");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") != rack);
  CHECK(world.RackOf("train-0") == world.RackOf("train-1"));
  CHECK(world.Evictions() == 1);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a segment that is being moved when Muster restarts leaves the others where they are",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveSegment);
  world.Run(4, SegmentsOfTwo());
  const std::string stays = world.RackOf("train-0");
  world.LoseWithNode("train-3");
  REQUIRE(world.Leaving(4) == std::vector<std::string>{"train-2"});
  world.Restart();
  world.Settle();
  world.Again("train-2");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") == stays);
  CHECK(world.RackOf("train-1") == stays);
  CHECK(world.RackOf("train-2") == world.RackOf("train-3"));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("nobody is evicted for a move where no rack has room, until one has",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  for (const std::string node : {"a0x", "a1x", "a2x"}) {
    if (world.Pod("train-0").node_name != node && world.Pod("train-1").node_name != node)
      world.Fill(node);
  }
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kDegraded);
  world.RemovePod("other-a2x");
  world.Settle();
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a gang is not moved again soon, however often it loses a member",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  world.Again("train-0");
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(590));
  CHECK(world.Evictions() == 1);
  world.Pass(cluster::Seconds(20));  // victim_timeout is over
  CHECK(world.Evictions() == 2);
}

TEST_CASE("where a budget protects a member the gang stays where it is",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  world.fault = KeptByBudget("train-0");
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(300));
  CHECK(world.Leaving(2).empty());
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("only the segment that lost a member is moved", "[engine][fabric][repair]") {
  const auto says = GENERATE(LostMember::kMoveSegment, LostMember::kMoveGang);
  Racks world(says);
  world.Run(4, SegmentsOfTwo());
  const std::string stays = world.RackOf("train-0");
  const std::string left = world.RackOf("train-2");
  REQUIRE(stays != left);
  world.LoseWithNode("train-3");
  CHECK(world.Leaving(4) == std::vector<std::string>{"train-2"});
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Told("GangMoves") == 1);
  world.Again("train-2");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 1);
  CHECK(world.RackOf("train-0") == stays);
  CHECK(world.RackOf("train-2") == world.RackOf("train-3"));
  CHECK(world.RackOf("train-2") != stays);
  CHECK(world.RackOf("train-2") != left);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("without a rack for its segment a lost member waits", "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveSegment);
  world.Run(4, SegmentsOfTwo());
  std::set<std::string> used;
  for (int i = 0; i < 4; ++i) used.insert(world.RackOf("train-" + std::to_string(i)));
  for (const std::string rack : {"a0", "a1", "a2"}) {
    if (!used.contains(rack)) world.Fill(rack + "y");
  }
  world.LoseWithNode("train-3");
  world.Pass(cluster::Seconds(1200));
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a gang without segments waits where only segments are moved",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveSegment);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(1200));
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a gang is not evicted for room that is kept from new gangs",
          "[engine][fabric][repair][reserve]") {
  engine::Options options = Saying(LostMember::kMoveGang);
  options.placement.fabric.reserve = {{"rack", 1}};
  Racks world(options);
  for (const std::string node : {"a0z", "a1z"}) world.AddNode(node);
  world.Run(2, OneRack());
  world.LoseWithNode("train-1");
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);  // with the spare of its rack
  const std::string other = world.RackOf("train-0") == "a0" ? "a1" : "a0";
  world.Fill(other + "x");
  world.LoseWithNode("train-1");
  world.Pass(cluster::Seconds(60));
  CHECK(world.Evictions() == 0);  // of the two free nodes of the other rack one is kept
  world.RemovePod("other-" + other + "x");
  world.Settle();
  CHECK(world.Evictions() == 1);
  world.Again("train-0");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") == other);
}

TEST_CASE("a lost member that finds room in its rack moves nobody", "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  world.Again("train-1");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a pod that a dead node keeps is none of its segment: a spare of the rack is used",
          "[engine][fabric][repair]") {
  const auto says = GENERATE(LostMember::kWait, LostMember::kMoveSegment);
  Racks world(says);
  world.Run(4, SegmentsOfTwo());
  const std::string spare = world.RackOf("train-2") + "z";
  world.AddNode(spare);
  world.LoseOnDeadNode("train-3");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("train-3b").node_name == spare);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a gang is moved where a dead node keeps the lost member", "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  const std::string rack = world.RackOf("train-0");
  world.LoseOnDeadNode("train-1");
  CHECK(world.Pod("train-0").deleting);
  CHECK(world.Gang("train").reason.code == ReasonCode::kMoving);
  world.Again("train-0");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") != rack);
  CHECK(world.RackOf("train-0") == world.RackOf("train-1b"));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a segment is moved where a dead node keeps the lost member",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveSegment);
  world.Run(4, SegmentsOfTwo());
  const std::string left = world.RackOf("train-2");
  world.LoseOnDeadNode("train-3");
  CHECK(world.Pod("train-2").deleting);
  CHECK_FALSE(world.Pod("train-0").deleting);
  CHECK_FALSE(world.Pod("train-1").deleting);
  world.Again("train-2");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-2") == world.RackOf("train-3b"));
  CHECK(world.RackOf("train-2") != left);
  CHECK(world.Evictions() == 1);
}

TEST_CASE("nobody is moved while a member of the gang leaves a node that works",
          "[engine][fabric][repair]") {
  Racks world(LostMember::kMoveGang);
  world.Run(2, OneRack());
  world.Change("train-1", [](cluster::Pod& pod) { pod.deleting = true; });
  world.Add(MakePod("train-1b").Gpus(4).InGroup("train").Gated());
  world.Settle();
  CHECK(world.Evictions() == 0);  // its node is about to be free
  world.RemovePod("train-1");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a gang is moved where the policy holds gangs that are bound in part",
          "[engine][fabric][repair]") {
  engine::Options options = Saying(LostMember::kMoveGang);
  options.partial_gang = engine::PartialGang::kHold;
  Harness world(options);
  for (const std::string node : {"a0x", "a0y", "a1x", "a1y"})
    world.Add(MakeNode(node).Gpus(4).Label("block", "a").Label("rack", node.substr(0, 2)));
  world.AddGang("train", 2, 4, 2);
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.ScheduleAll("train");
  world.RemoveNode(world.Pod("train-1").node_name);
  world.RemovePod("train-1");
  world.Add(MakePod("train-1").Uid("second").Gpus(4).InGroup("train").Gated());
  world.Settle();
  CHECK(world.Pod("train-0").deleting);
}

TEST_CASE("pods that may go on without a lost one are moved, unless their Job counts that",
          "[engine][fabric][repair]") {
  const bool counts = GENERATE(false, true);
  CAPTURE(counts);
  Racks world(LostMember::kMoveGang);
  cluster::BatchJob job;
  job.uid = cluster::JobUid("job");
  job.key = {"default", "train"};
  job.ignores_evictions = !counts;
  world.engine().Apply(job, world.now());
  cluster::PodGroup group = MakePodGroup("train").MinMember(2).Build();
  group.keeps_rest = true;
  group.topology = OneRack();
  world.Add(group);
  const auto make = [&](const std::string& name, const std::string& uid) {
    world.Add(MakePod(name).Uid(name + uid).Gpus(4).InGroup("train").Owner("job").Gated());
  };
  make("train-0", "");
  make("train-1", "");
  world.ScheduleAll("train");
  const std::string rack = world.RackOf("train-0");
  world.RemoveNode(world.Pod("train-1").node_name);
  world.RemovePod("train-1");
  make("train-1", "b");
  world.Settle();
  if (counts) {
    for (int i = 0; i < 20; ++i) world.Pass(cluster::Seconds(60));
    CHECK(world.Evictions() == 0);
    return;
  }
  CHECK(world.Leaving(2) == std::vector<std::string>{"train-0"});
  world.RemovePod("train-0");
  make("train-0", "b");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") != rack);
  CHECK(world.RackOf("train-0") == world.RackOf("train-1"));
  CHECK(world.Evictions() == 1);
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::testing
