// activeDeadlineSeconds of a Job: they count from the Job's start, also while its pods wait.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/booking_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using queues::QueueSpec;
using queues::Trust;
using testing::BookingWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::WithQueues;

// One node of eight, on which four run for another hour; a gang that needs all eight has booked.
struct DeadlineWorld : BookingWorld {
  DeadlineWorld() : BookingWorld(WithQueues({QueueSpec{.name = "root"}})) {
    Add(MakeNode("n0").Gpus(8).Build());
    Ask("runs", 4, 3'600);
    Run(Seconds(1));
    Ask("big", 8, 3'600);
    Run(Seconds(300));
    REQUIRE(Gang("big").expected);
  }
  // Of an hour. `ago`: since it started; nothing: it has not, it is suspended.
  void TellJob(std::optional<int64_t> ago) {
    cluster::BatchJob job;
    job.uid = cluster::JobUid("the-job");
    job.key = {"default", "late"};
    job.run_times.enforced = Seconds(3'600);
    if (ago) job.run_times.ends_at = now() + Seconds(3'600 - *ago);
    engine().Apply(job, now());
  }
  void AskOfJob() {
    cluster::Pod pod = MakePod("late").Gpus(2).Gated().Build();
    pod.owner_uid = "the-job";
    Add(std::move(pod));
  }
};

TEST_CASE("what a Job has left of its deadline is how long its pods run", "[engine][durations]") {
  DeadlineWorld world;
  SECTION("of an hour fifty minutes are over: it goes ahead of who has booked") {
    world.TellJob(3'000);
    world.AskOfJob();
    world.Run(Seconds(1));
    CHECK(world.Runs("late"));
    const auto end = world.engine().EndOf(world.Gang("late").id, world.now());
    REQUIRE(end);
    CHECK(end->at == world.now() + Seconds(599));
    CHECK(end->by == Trust::kEnforced);
  }
  SECTION("it has just started: it would not be gone in time") {
    world.TellJob(0);
    world.AskOfJob();
    world.Run(Seconds(1));
    CHECK_FALSE(world.Runs("late"));
    CHECK(world.Gang("late").ends_at == world.now() + Seconds(3'599));
    world.Run(Seconds(1'200));
    CHECK_FALSE(world.Runs("late"));  // its end has come no nearer to who has booked
    CHECK(world.Gang("late").ends_at == world.now() + Seconds(2'399));
  }
  SECTION("it started a little earlier than who runs there, and will be gone when that one is") {
    world.TellJob(400);
    world.AskOfJob();
    world.Run(Seconds(1));
    CHECK(world.Runs("late"));
  }
  SECTION("a Job that is suspended has all of it before it") {
    world.TellJob(std::nullopt);
    world.AskOfJob();
    world.Run(Seconds(1'500));
    CHECK_FALSE(world.Runs("late"));
    CHECK_FALSE(world.Gang("late").ends_at);
  }
  SECTION("one whose time is over is still planned, and expected to go at once") {
    world.TellJob(3'700);
    world.AskOfJob();
    world.Run(Seconds(1));
    CHECK(world.Runs("late"));
    const auto end = world.engine().EndOf(world.Gang("late").id, world.now());
    REQUIRE(end);
    CHECK(end->at <= world.now() + Seconds(60));
  }
}

TEST_CASE("a gang of several Jobs is there until the last of them ends", "[engine][durations]") {
  BookingWorld world(WithQueues({QueueSpec{.name = "root"}}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  const auto job = [&](const std::string& name, int64_t left) {
    cluster::BatchJob one;
    one.uid = cluster::JobUid(name + "-job");
    one.key = {"default", name};
    one.run_times.enforced = Seconds(3'600);
    one.run_times.ends_at = world.now() + Seconds(left);
    world.engine().Apply(one, world.now());
    cluster::Pod pod = MakePod(name).Gpus(1).InGroup("set").Gated().Build();
    pod.owner_uid = name + "-job";
    world.Add(std::move(pod));
  };
  world.Add(testing::MakePodGroup("set").MinMember(2));
  job("a", 600);
  job("b", 900);
  world.Settle();
  CHECK(world.Gang("set").ends_at == world.now() + Seconds(900));
}

}  // namespace
}  // namespace muster::engine
