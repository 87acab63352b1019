// Lost members of a gang that runs start one by one, where they have to be.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/lost_racks.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::LostMember;
using engine::ReasonCode;

struct Losses : LostRacks {
  using LostRacks::LostRacks;
  bool Runs(const std::string& pod) const { return Pod(pod).bound(); }
  // All at once, with their nodes; other pods come in their place.
  void Lose(const std::vector<std::string>& pods) {
    for (const std::string& pod : pods) RemoveNode(Pod(pod).node_name);
    for (const std::string& pod : pods) Again(pod);
  }
  // One more in that rack.
  std::string AddNodeTo(const std::string& rack) {
    AddNode(rack + "z");
    return rack + "z";
  }
};

TEST_CASE("of two lost members the one that has room starts by itself",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kWait);
  for (const std::string node : {"a0w", "a1w", "a2w"}) world.AddNode(node);
  world.Run(3, OneRack());
  const std::string rack = world.RackOf("train-0");
  world.Lose({"train-1", "train-2"});
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 1);
  const std::string node = world.AddNodeTo(rack);
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.Pod("train-1").node_name == node);
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Gang("train").reason.code == ReasonCode::kNotEnoughGpus);
  CHECK(world.engine().Audit(world.now()).empty());
  world.AddNode(rack + "v");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-2") == rack);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a lost member starts while nobody has made another one's replacement",
          "[engine][repair]") {
  Losses world(LostMember::kPartialGang);
  world.Run(4, {});
  world.RemovePod("train-2");
  world.Again("train-1");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 3);
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Gang("train").reason == engine::Because(ReasonCode::kMembersLost, 3, 4));
}

TEST_CASE("a gang of which nothing runs any more starts together", "[engine][repair]") {
  Losses world(LostMember::kWait);
  world.Run(2, OneRack());
  for (const std::string node : {"a0x", "a0y", "a1x", "a1y", "a2x"}) {
    if (world.Pod("train-0").node_name != node && world.Pod("train-1").node_name != node)
      world.Fill(node);
  }
  const std::string kept = world.Pod("train-0").node_name;
  world.RemoveNode(world.Pod("train-1").node_name);
  world.RemoveNode("a2y");
  world.Again("train-0");
  world.Again("train-1");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 0);
  CHECK(world.Gang("train").state != GangState::kDegraded);
}

TEST_CASE("a lost member starts in the rack of its segment while another one's rack is full",
          "[engine][fabric][repair]") {
  const auto says = GENERATE(LostMember::kPartialGang, LostMember::kWait);
  const bool first = GENERATE(true, false);
  Losses world(says);
  world.Run(4, SegmentsOfTwo());
  const std::string starts = first ? "train-1" : "train-3";
  const std::string waits = first ? "train-3" : "train-1";
  const std::string node = world.AddNodeTo(world.RackOf(starts));
  world.Lose({"train-1", "train-3"});
  world.ScheduleAll("train");
  CHECK(world.Pod(starts).node_name == node);
  CHECK_FALSE(world.Runs(waits));
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("lost members come back to their own segments, in whatever order those lie",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kMoveSegment);
  world.Fill("a0x");
  world.Run(4, SegmentsOfTwo());
  world.RemovePod("other-a0x");
  REQUIRE(world.RackOf("train-1") == "a1");
  world.LoseWithNode("train-3");
  world.Again("train-2");
  world.ScheduleAll("train");
  REQUIRE(world.RackOf("train-3") == "a0");  // it was moved
  world.AddNodeTo("a0");
  world.AddNodeTo("a1");
  world.Lose({"train-1", "train-3"});
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") == "a1");
  CHECK(world.RackOf("train-1") == "a1");
  CHECK(world.RackOf("train-2") == "a0");
  CHECK(world.RackOf("train-3") == "a0");
}

TEST_CASE("a segment that was lost as a whole starts whole beside one that waits for a member",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kWait);
  world.Run(4, SegmentsOfTwo());
  std::string free = "a0";
  for (const std::string rack : {"a1", "a2"}) {
    if (world.RackOf("train-0") != rack && world.RackOf("train-2") != rack) free = rack;
  }
  const bool full = GENERATE(true, false);
  if (full) world.Fill(free + "x");
  world.Lose({"train-1", "train-2", "train-3"});
  world.ScheduleAll("train");
  CHECK_FALSE(world.Runs("train-1"));
  CHECK(world.Runs("train-2") == !full);
  CHECK(world.Runs("train-3") == !full);
  if (!full) CHECK(world.RackOf("train-2") == free);
  if (!full) CHECK(world.RackOf("train-3") == free);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("no part of a segment starts before all of it has been made again",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kWait);
  world.Run(4, SegmentsOfTwo());
  world.RemovePod("train-3");
  world.Again("train-2");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 2);
  world.Add(MakePod("train-3").Uid("again").Gpus(4).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-2") == world.RackOf("train-3"));
}

TEST_CASE("of nested segments a lost member comes back to the inner one, and an inner one whole",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kWait);
  for (const std::string rack : {"b0", "b1", "b2"}) {
    for (const std::string node : {"x", "y"})
      world.Add(MakeNode(rack + node).Gpus(4).Label("block", "b").Label("rack", rack));
  }
  cluster::TopologyTerms terms;
  terms.segments = {{"block", 4, true}, {"rack", 2, true}};
  world.Run(8, terms);
  const auto rack_beside = [&](const std::string& block, const std::vector<std::string>& pods) {
    std::set<std::string> used;
    for (const std::string& pod : pods) used.insert(world.RackOf(pod));
    for (int i = 0; i < 3; ++i) {
      const std::string rack = block + std::to_string(i);
      if (!used.contains(rack)) return rack;
    }
    return std::string();
  };
  const std::string block = world.RackOf("train-4").substr(0, 1);
  const std::string free = rack_beside(block, {"train-4", "train-5", "train-6", "train-7"});
  world.Lose({"train-1", "train-6", "train-7"});
  world.ScheduleAll("train");
  CHECK_FALSE(world.Runs("train-1"));  // its rack is full
  REQUIRE(world.Runs("train-6"));
  REQUIRE(world.Runs("train-7"));
  CHECK(world.RackOf("train-6") == free);
  CHECK(world.RackOf("train-7") == free);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a member that starts by itself does not put off what becomes of a partial gang",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kPartialGang);
  world.Run(4, SegmentsOfTwo());
  const std::string rack = world.RackOf("train-0");
  world.Lose({"train-1", "train-3"});
  world.Pass(cluster::Seconds(40));
  world.AddNodeTo(rack);
  world.ScheduleAll("train");
  REQUIRE(world.Runs("train-1"));
  world.Pass(cluster::Seconds(19));
  CHECK(world.Evictions() == 0);
  world.Pass(cluster::Seconds(1));
  CHECK(world.Evictions() == 3);
}

TEST_CASE("a gang that waits for room waits on without a deadline when one of two has started",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kWait);
  world.Run(4, SegmentsOfTwo());
  world.Lose({"train-1", "train-3"});
  world.Pass(cluster::Seconds(300));
  world.AddNodeTo(world.RackOf("train-0"));
  world.ScheduleAll("train");
  REQUIRE(world.Runs("train-1"));
  world.Pass(cluster::Seconds(1200));
  CHECK(world.Evictions() == 0);
  CHECK_FALSE(world.Gang("train").deadline);
  CHECK(world.Gang("train").state == GangState::kDegraded);
}

TEST_CASE("only the segment without room is moved where the other one's member has started",
          "[engine][fabric][repair]") {
  Losses world(LostMember::kMoveSegment);
  world.Run(4, SegmentsOfTwo());
  const std::string stays = world.RackOf("train-0");
  const std::string left = world.RackOf("train-2");
  const std::string node = world.AddNodeTo(stays);
  world.Lose({"train-1", "train-3"});
  world.ScheduleAll("train");
  CHECK(world.Pod("train-1").node_name == node);
  CHECK(world.Leaving(4) == std::vector<std::string>{"train-2"});
  world.Again("train-2");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.RackOf("train-0") == stays);
  CHECK(world.RackOf("train-2") == world.RackOf("train-3"));
  CHECK(world.RackOf("train-2") != left);
  CHECK(world.Evictions() == 1);
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::testing
