// Pods whose owner cannot be read: nobody knows which of them start together.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

cluster::PodGroup OfOwner(const std::string& name, int64_t members, const std::string& unreadable) {
  cluster::PodGroup group = MakePodGroup(name).MinMember(members).Build();
  group.declared = group.by_owner = true;
  group.unreadable = unreadable;
  return group;
}

TEST_CASE("pods whose owner cannot be read are a gang that waits and says why",
          "[engine][owners]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  const std::string why = "Job train: Muster lacks the right to get jobs of group batch";
  world.Add(OfOwner("job:train~1", 2, why));
  for (const char* pod : {"a", "b"}) world.Add(MakePod(pod).Gpus(1).InGroup("job:train~1").Gated());
  world.Pass(cluster::Seconds(600));
  CHECK(world.Gang("job:train~1").state == GangState::kForming);
  CHECK(world.Gang("job:train~1").reason.code == ReasonCode::kOwnersUnread);
  CHECK(Describe(world.Gang("job:train~1").reason) ==
        "nobody knows which pods start together, because an owner of theirs cannot be read: " +
            why);
  CHECK(world.Pod("a").nominated_node.empty());
  CHECK(world.Pod("a").gated_by_muster());
  SECTION("and starts when it is read") {
    world.Add(OfOwner("job:train~1", 2, ""));
    world.ScheduleAll("job:train~1");
    CHECK(world.BoundIn("job:train~1") == 2);
  }
  SECTION("as a whole, and not as what has come so far") {
    world.Add(OfOwner("job:train~1", 3, ""));
    world.Settle();
    CHECK(world.Gang("job:train~1").reason.code == ReasonCode::kWaitingForMembers);
    CHECK(world.BoundIn("job:train~1") == 0);
  }
}

TEST_CASE("a plan is given back when the owner cannot be read any more", "[engine][owners]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(OfOwner("train", 2, ""));
  for (const char* pod : {"a", "b"}) world.Add(MakePod(pod).Gpus(1).InGroup("train").Gated());
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kReserved);
  world.Add(OfOwner("train", 2, "Job train: HTTP 500"));
  world.Pass(cluster::Seconds(5));
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.Pod("a").nominated_node.empty());
  CHECK(world.engine().Count().gpu_free_milli == 8000);
}

TEST_CASE("what runs keeps running, is not taken apart, and goes whole if it goes",
          "[engine][owners][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld)
    world.Change(name, [](cluster::Pod& pod) { pod.bound_in = "old"; });
  world.Add(OfOwner("old", 4, "Job old: HTTP 503"));
  world.Settle();
  CHECK(world.Gang("old").state == GangState::kRunning);
  SECTION("where one is lost") {
    world.Add(OfOwner("old", 3, "Job old: HTTP 503"));
    world.RemovePod("old-0");
    world.Pass(cluster::Seconds(600));
    CHECK(world.Evicted().empty());
  }
  SECTION("where others take precedence") {
    world.Submit("urgent", 1, 4, 100);
    world.Pass(cluster::Seconds(10));
    CHECK(world.Evicted() == kAllOld);
  }
}

}  // namespace
}  // namespace muster::testing
