// R14: gangs that are not preemptible are nobody's victims, and have only their queue's guarantee.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::QueueSpec;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Queue;

struct NonPreemptibleWorld : testing::QueueWorld {
  using QueueWorld::QueueWorld;
  void Keep(const std::string& name) {
    Change(name, [](cluster::Pod& pod) { pod.preemptible = false; });
    Settle();
  }
  void SubmitKept(const std::string& name, const std::string& queue, int gpus,
                  int32_t priority = 0) {
    cluster::Pod pod =
        MakePod(name).Gpus(gpus).Priority(priority).CreatedAt(now().milliseconds()).Gated().Build();
    pod.asked_queue = queue;
    pod.preemptible = false;
    Add(pod);
    Settle();
  }
  void StartKept(const std::string& name, const std::string& queue, int gpus) {
    SubmitKept(name, queue, gpus);
    Bind(name);
    Settle();
    REQUIRE(Gang(name).state == GangState::kRunning);
    Pass(Seconds(1));
  }
  std::string Why(const std::string& name) const { return Describe(Gang(name).reason); }
};

TEST_CASE("R14: a gang that is not preemptible is nobody's victim", "[engine][queues][R14]") {
  SECTION("of another queue") {
    NonPreemptibleWorld world({Queue("x", 4), Queue("y", 4)});
    world.Start("y0", "y", 4);
    world.StartKept("y1", "y", 4);  // it lost least, and would go
    world.Submit("x0", "x", 4);
    CHECK(world.Evicted() == "y0");
  }
  SECTION("of its own queue") {
    NonPreemptibleWorld world({Queue("x", 8)});
    world.StartKept("x0", "x", 8);
    world.Submit("x1", "x", 8, 1'000);
    CHECK(world.Evicted().empty());
    CHECK(world.Gang("x1").state == GangState::kQueued);
  }
  SECTION("without queues") {
    Options options;
    options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
    testing::Harness world(options);
    world.Add(MakeNode("n0").Gpus(8).Build());
    cluster::Pod pod = MakePod("old").Gpus(8).Gated().Build();
    pod.preemptible = false;
    world.Add(pod);
    world.Settle();
    world.Bind("old");
    world.Add(MakePod("new").Gpus(8).Priority(1'000).Gated().Build());
    world.Settle();
    CHECK(world.Evictions() == 0);
    world.Change("old", [](cluster::Pod& one) { one.preemptible = true; });
    world.Settle();
    CHECK(world.Evictions() == 1);
  }
}

TEST_CASE("R14: protected classes are nobody's victims", "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 8), Queue("y", 0)});
  SECTION("a system priority") { world.Start("y0", "y", 8, 1'999'999'999); }
  SECTION("a pod of a DaemonSet") { world.Start("y0", "y", 8); }
  const bool system = world.Gang("y0").priority > 0;
  world.Change("y0", [&](cluster::Pod& pod) {
    if (!system) pod.daemon = true;
    cluster::PodSpec spec = *pod.spec;
    if (system) spec.priority = 2'000'000'000;
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  });
  world.Submit("x0", "x", 8);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("y0").non_preemptible);
}

TEST_CASE("R14: gangs that are not preemptible share their queue's guarantee, and borrow nothing",
          "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 0), Queue("y", 4)});
  world.StartKept("y0", "y", 3);
  world.SubmitKept("y1", "y", 2);
  CHECK(world.Gang("y1").state == GangState::kQueued);
  CHECK(world.Gang("y1").reason.code == ReasonCode::kQueueGuarantee);
  CHECK(world.Why("y1") ==
        "guarantees of queues leave no room for it: it is not preemptible, and such gangs of queue "
        "y would use 5 of gpu, the guarantee is 4");
  world.Start("y2", "y", 2);  // it may be evicted
  world.SubmitKept("x0", "x", 1);
  CHECK(world.Gang("x0").state == GangState::kUnsatisfiable);
  CHECK(world.Gang("x0").reason.code == ReasonCode::kQueueGuarantee);
  world.Leave("y0");
  CHECK(world.Gang("y1").state == GangState::kReserved);
}

TEST_CASE("R14: what preemptible gangs of the queue hold takes nothing of the guarantee",
          "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 4), Queue("y", 4)});
  world.Start("y0", "y", 4);
  world.StartKept("y1", "y", 4);  // y0 is what borrows now
  world.Submit("x0", "x", 4);
  CHECK(world.Evicted() == "y0");
}

TEST_CASE("R14: nobody is evicted for a gang that would be over its queue's guarantee",
          "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 4), Queue("y", 4)});
  world.StartKept("x0", "x", 2);
  world.Start("x1", "x", 6);
  world.SubmitKept("x2", "x", 3, 1'000);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("x2").reason.code == ReasonCode::kQueueGuarantee);
  world.SubmitKept("x3", "x", 2, 1'000);
  CHECK(world.Evicted() == "x1");
}

TEST_CASE("R14: the PodGroup's word counts, else that of any pod", "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 4), Queue("y", 4)});
  world.SubmitGang("y", "y", 4, 4);
  world.ScheduleAll("y");
  CHECK_FALSE(world.Gang("y").non_preemptible);
  world.Keep("y-3");
  CHECK(world.Gang("y").non_preemptible);
  world.ChangeGroup("y", [](cluster::PodGroup& group) { group.preemptible = true; });
  world.Settle();
  CHECK_FALSE(world.Gang("y").non_preemptible);
  world.ChangeGroup("y", [](cluster::PodGroup& group) { group.preemptible = false; });
  world.Settle();
  CHECK(world.Gang("y").non_preemptible);
}

TEST_CASE("R14: when a gang becomes preemptible, those that wait for its room have a turn",
          "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 4), Queue("y", 8)});
  std::vector<QueueSpec> lower = {Queue("x", 4), Queue("y", 4)};
  world.StartKept("y0", "y", 8);
  SECTION("a lower guarantee evicts nobody, and what is over it goes on") {
    world.engine().SetOptions(NonPreemptibleWorld::OptionsOf(lower));
    world.Submit("x0", "x", 4);
    CHECK(world.Evicted().empty());
    CHECK(world.engine().Audit(world.now()).empty());
    world.Change("y0", [](cluster::Pod& pod) { pod.preemptible = true; });
    world.Settle();
    CHECK(world.Evicted() == "y0");
  }
  SECTION("a restart changes nothing") {
    world.Restart();
    world.Settle();
    world.SubmitKept("y1", "y", 1);
    CHECK(world.Gang("y1").reason.code == ReasonCode::kQueueGuarantee);
    CHECK(world.engine().Audit(world.now()).empty());
  }
}

TEST_CASE("R14: members beyond the minimum start within the guarantee", "[engine][queues][R14]") {
  NonPreemptibleWorld world({Queue("x", 4), Queue("y", 4)});
  cluster::PodGroup group = MakePodGroup("y").MinMember(2).Build();
  group.queue = "y";
  group.preemptible = false;
  world.Add(group);
  for (int i = 0; i < 6; ++i)
    world.Add(MakePod("y-" + std::to_string(i)).Gpus(1).InGroup("y").Gated().Build());
  world.Settle();
  world.ScheduleAll("y");
  CHECK(world.BoundIn("y") == 4);
  world.Start("x0", "x", 4);
  CHECK(world.Evicted().empty());
}

}  // namespace
}  // namespace muster::engine
