// preemption.onEvicted: what becomes of a gang that was evicted as a whole.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::OnEvicted;
using queues::QueueSpec;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Queue;

std::vector<QueueSpec> Queues(OnEvicted says) {
  QueueSpec y = Queue("y", 0);
  y.preemption.on_evicted = says;
  return {Queue("x", 4), y, Queue("team", 0, "y")};
}

// Gang `old` of four, of a team below queue y, is evicted for `x0`, which then ends.
struct OnEvictedWorld : testing::QueueWorld {
  explicit OnEvictedWorld(OnEvicted says = OnEvicted::kFail) : QueueWorld(Queues(says)) {
    SubmitGang("old", "team", 8, 8);
    ScheduleAll("old");
    Pass(Seconds(10));
    Submit("x0", "x", 4);
    REQUIRE(Evicted() == "old-0 old-1 old-2 old-3 old-4 old-5 old-6 old-7");
  }
  // Its pods go, and their controller makes new ones.
  void Replace(const std::string& owner = "") {
    for (int i = 0; i < 8; ++i) {
      const std::string name = "old-" + std::to_string(i);
      RemovePod(name);
      Add(MakePod(name)
              .Uid(name + "-again" + owner)
              .Gpus(1)
              .InGroup("old")
              .Owner(owner)
              .Gated()
              .Build());
    }
    Settle();
  }
  void EndOther() {
    Bind("x0");
    Settle();
    RemovePod("x0");
    Settle();
  }
};

TEST_CASE("onEvicted requeue: an evicted gang starts again when there is room",
          "[engine][queues][onEvicted]") {
  OnEvictedWorld world(OnEvicted::kInherit);
  world.Replace();
  CHECK(world.Gang("old").state == GangState::kQueued);
  world.EndOther();
  CHECK(world.Gang("old").state == GangState::kReserved);
}

TEST_CASE("onEvicted fail: an evicted gang is not started again, and says what to do",
          "[engine][queues][onEvicted]") {
  OnEvictedWorld world;
  world.Replace();
  world.EndOther();
  const GangView gang = world.Gang("old");
  CHECK(gang.state == GangState::kForbidden);
  CHECK(gang.reason.code == ReasonCode::kEvicted);
  CHECK(Describe(gang.reason) ==
        "it was evicted, and its queue does not start it again: queue team says onEvicted: fail; "
        "submit it anew, as another PodGroup");
  CHECK(world.engine().Audit(world.now()).empty());
  SECTION("also after a restart") {
    world.Restart();
    world.Settle();
    CHECK(world.Gang("old").reason.code == ReasonCode::kEvicted);
  }
  SECTION("also with pods of another controller") {
    world.Replace("job-2");
    CHECK(world.Gang("old").reason.code == ReasonCode::kEvicted);
    world.Restart();
    world.Settle();
    CHECK(world.Gang("old").reason.code == ReasonCode::kEvicted);
  }
  SECTION("until the policy says otherwise") {
    world.engine().SetOptions(OnEvictedWorld::OptionsOf(Queues(OnEvicted::kRequeue)));
    world.Settle();
    CHECK(world.Gang("old").state == GangState::kReserved);
  }
  SECTION("another PodGroup of its name starts") {
    cluster::PodGroup group = MakePodGroup("old").Uid("another").MinMember(8).Build();
    group.queue = "team";
    world.RemoveGroup("old");
    world.Add(group);
    world.Settle();
    CHECK(world.Gang("old").state == GangState::kReserved);
  }
}

TEST_CASE("onEvicted fail: a gang that lost only its surplus goes on",
          "[engine][queues][onEvicted]") {
  testing::QueueWorld world(Queues(OnEvicted::kFail));
  world.SubmitGang("old", "team", 8, 4);
  world.ScheduleAll("old");
  world.Pass(Seconds(10));
  world.Submit("x0", "x", 4);
  REQUIRE(world.Evicted() == "old-4 old-5 old-6 old-7");
  world.Leave(world.Evicted());
  CHECK(world.Gang("old").state == GangState::kRunning);
  world.Add(MakePod("old-8").Gpus(1).InGroup("old").Gated().Build());
  world.Settle();
  CHECK(world.Gang("old").state == GangState::kRunning);
}

TEST_CASE("onEvicted fail: what was evicted before the policy said so starts again",
          "[engine][queues][onEvicted]") {
  OnEvictedWorld world(OnEvicted::kRequeue);
  world.Replace();
  world.engine().SetOptions(OnEvictedWorld::OptionsOf(Queues(OnEvicted::kFail)));
  world.EndOther();
  CHECK(world.Gang("old").state == GangState::kReserved);
}

}  // namespace
}  // namespace muster::engine
