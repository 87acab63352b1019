// Attempts of one owner, of which each is a gang: what is kept and known across them.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::QueueSpec;
using testing::Claimant;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Queue;

// A JobSet's, say, which has no PodGroup object: `a1` starts where `old` was evicted.
struct AttemptsWorld : testing::QueueWorld {
  AttemptsWorld() : QueueWorld({Claimant(), Queue("y", 0)}) {
    Start("old", "y", 8);
    MakeAttempt(1);
    REQUIRE(Evicted() == "old");
    Leave("old");
    ScheduleAll("a1");
    REQUIRE(Gang("a1").state == GangState::kRunning);
    Pass(Seconds(30));
    log.clear();
  }
  void MakeAttempt(int number) {
    const std::string name = "a" + std::to_string(number);
    cluster::PodGroup group = MakePodGroup(name).MinMember(8).Build();
    group.declared = true;
    group.by_owner = true;
    group.attempts_of = "a";
    Add(group);
    for (int i = 0; i < 8; ++i) {
      cluster::Pod pod = MakePod(name + "-" + std::to_string(i))
                             .Gpus(1)
                             .CreatedAt(now().milliseconds() + i)
                             .InGroup(name)
                             .Gated()
                             .Build();
      pod.asked_queue = "x";
      Add(pod);
    }
    Settle();
  }
  void Go(int number, int from = 0, int to = 8) {
    const std::string name = "a" + std::to_string(number);
    for (int i = from; i < to; ++i) RemovePod(name + "-" + std::to_string(i));
    if (to == 8) RemoveGroup(name);
    Settle();
  }
};

TEST_CASE("the next attempt of an owner starts where the last one died early",
          "[engine][queues][attempts]") {
  AttemptsWorld world;
  const bool overlap = GENERATE(false, true);
  CAPTURE(overlap);
  if (overlap) {
    world.Go(1, 0, 4);
    world.MakeAttempt(2);
    world.Go(1, 4, 8);
  } else {
    world.Go(1);
  }
  world.Submit("small", "y", 1);
  CHECK(world.Gang("small").state == GangState::kQueued);
  if (!overlap) {
    CHECK(world.Gang("small").reason.detail ==
          "gang default/a1, which lost it early and may start there again until "
          "2027-01-15T08:01:31Z");
    world.MakeAttempt(2);
  }
  world.ScheduleAll("a2");
  CHECK(world.Gang("a2").state == GangState::kRunning);
  CHECK(world.Windows(WindowEnd::kStarted) == 1);
  CHECK(world.Evicted().empty());
  CHECK(world.IsSound());
  // Nobody was evicted for that one: nothing is kept, and nobody is evicted for the next.
  world.Go(2);
  CHECK(world.Gang("small").state == GangState::kReserved);
  world.ScheduleAll("small");
  world.MakeAttempt(3);
  CHECK(world.Gang("a3").state == GangState::kQueued);
  CHECK(world.Evicted().empty());
  CHECK(world.IsSound());
}

TEST_CASE("what a lost member of an attempt had is free again when another took its place",
          "[engine][queues][attempts]") {
  AttemptsWorld world;
  world.Add(testing::MakeNode("n1").Gpus(2).Build());
  world.Go(1, 0, 1);
  CHECK(world.Gang("a1").kept->pods == 1);
  cluster::Pod pod = MakePod("a1-new").Gpus(1).InGroup("a1").Gated().Build();
  pod.asked_queue = "x";
  world.Add(pod);
  world.Settle();
  world.Bind("a1-new");
  world.Settle();
  CHECK(world.Gang("a1").state == GangState::kRunning);
  CHECK_FALSE(world.Gang("a1").kept);
  CHECK(world.Windows(WindowEnd::kStarted) == 0);  // it was no window
  CHECK(world.IsSound());
}

TEST_CASE("what is kept of an owner's pods is free a minute after the last one, if no other comes",
          "[engine][queues][attempts]") {
  AttemptsWorld world;
  world.Go(1);
  world.Submit("small", "y", 1);
  world.Pass(Seconds(59));
  CHECK(world.Gang("small").state == GangState::kQueued);
  world.Pass(Seconds(1));
  CHECK(world.Gang("small").state == GangState::kReserved);
  CHECK(world.Windows(WindowEnd::kPassed) == 1);
  CHECK(world.IsSound());
}

TEST_CASE("the next attempt has what pods of the last one that died early leave",
          "[engine][queues][attempts]") {
  AttemptsWorld world;
  world.Submit("small", "y", 1);
  for (int i = 0; i < 8; ++i) {
    world.Change("a1-" + std::to_string(i), [&](cluster::Pod& pod) {
      pod.deleting = true;
      pod.leaves_by = world.now() + Seconds(30);
    });
  }
  world.Settle();
  world.MakeAttempt(2);
  CHECK(world.Gang("a2").state == GangState::kQueued);
  CHECK(world.Gang("small").state == GangState::kQueued);
  world.Go(1);
  world.ScheduleAll("a2");
  CHECK(world.Gang("a2").state == GangState::kRunning);
  CHECK(world.Evicted().empty());
  CHECK(world.IsSound());
}

TEST_CASE("what is kept for the next attempt of an owner may be cancelled by the last one's name",
          "[engine][queues][attempts]") {
  AttemptsWorld world;
  world.Go(1);
  world.Submit("small", "y", 1);
  REQUIRE(world.Gang("small").state == GangState::kQueued);
  const auto effect = world.engine().Carry({"ann", CancelPlan{{"default", "a1"}}}, world.now());
  REQUIRE(effect.ok());
  world.Settle();
  CHECK(world.Gang("small").state == GangState::kReserved);
  CHECK(world.Windows(WindowEnd::kCancelled) == 1);
}

TEST_CASE("attempts of one owner are evicted as often as one gang may be",
          "[engine][queues][attempts]") {
  QueueSpec y = Queue("y", 0);
  y.preemption.max_evictions_per_hour = 1;
  testing::QueueWorld world({Queue("x", 8), std::move(y)});
  const auto attempt = [&](const std::string& name) {
    cluster::PodGroup group = MakePodGroup(name).MinMember(1).Build();
    group.declared = true;
    group.by_owner = true;
    group.attempts_of = "a";
    world.Add(group);
    cluster::Pod pod = MakePod(name + "-0").Gpus(8).InGroup(name).Gated().Build();
    pod.asked_queue = "y";
    world.Add(pod);
    world.Settle();
    world.ScheduleAll(name);
    world.Pass(Seconds(1));
    REQUIRE(world.Gang(name).state == GangState::kRunning);
  };
  attempt("a1");
  world.Submit("first", "x", 8);
  CHECK(world.Evicted() == "a1-0");
  world.RemovePod("a1-0");
  world.RemoveGroup("a1");
  world.Settle();
  world.Bind("first");
  world.Settle();
  world.Succeed("first");
  world.Settle();
  world.log.clear();
  attempt("a2");
  world.Submit("second", "x", 8);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("second").reason.code == ReasonCode::kMinRuntime);
}

}  // namespace
}  // namespace muster::engine
