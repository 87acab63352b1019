// Why nobody makes way for a gang that waits for room.
#include "engine/preemption/spared.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/preemption_world.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using Words = std::vector<std::string>;

Words Why(Harness& world, const std::string& gang) {
  return world.engine().NobodyMakesWay({"default", gang}, world.now());
}

TEST_CASE("a gang that waits shows why nobody makes way: its policy evicts nobody",
          "[engine][preemption]") {
  FullWorld world{engine::Options()};
  world.Submit("new", 2, 8, 10);
  world.Pass(Seconds(5));
  CHECK(Why(world, "new") == Words{"preemption of queue root evicts nobody"});
  CHECK(Why(world, "old").empty());
  CHECK(Why(world, "nobody").empty());
}

TEST_CASE("a gang that waits shows why nobody makes way: by priority", "[engine][preemption]") {
  FullWorld world;
  SECTION("nobody runs that has a lower one") {
    world.Submit("new", 2, 8, 0);
    world.Pass(Seconds(5));
    CHECK(Why(world, "new") ==
          Words{"nobody of its queue has a lower priority, and its queue may reclaim nothing"});
  }
  SECTION("it says that it preempts nobody") {
    world.Add(MakePodGroup("new").MinMember(1));
    cluster::Pod pod = MakePod("new-0").Gpus(8).Priority(10).InGroup("new").Gated();
    cluster::PodSpec spec = *pod.spec;
    spec.preempts = false;
    pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
    world.Add(pod);
    world.Pass(Seconds(5));
    CHECK(Why(world, "new") == Words{"preemptionPolicy of its PodGroup or a pod is Never"});
  }
  SECTION("all of them are not enough") {
    world.Add(MakeNode("n2").Gpus(8));
    world.Start("high", 1, 8, 100);
    world.Submit("new", 3, 8, 10);
    world.Pass(Seconds(5));
    CHECK(Why(world, "new") == Words{"evicting all that it may evict would not make enough room",
                                     "gang default/high: it is not of lower priority"});
  }
}

TEST_CASE("a gang that waits shows why nobody makes way: by the rules of its queue",
          "[engine][preemption][queues]") {
  queues::QueueSpec calm = Queue("calm", 0);
  calm.preemption.reclaim = queues::Reclaim::kNever;
  calm.preemption.within_queue = queues::WithinQueue::kNever;
  QueueWorld world({Queue("x", 4), Queue("y", 4), calm});
  world.Start("y0", "y", 4);
  world.Start("x0", "x", 4, 1'000);
  world.Submit("x1", "x", 4, 1'000);
  world.Submit("c1", "calm", 4);
  world.Pass(Seconds(5));
  CHECK(Why(world, "x1") ==
        Words{"nobody of its queue has a lower priority, and its queue may reclaim nothing"});
  CHECK(Why(world, "c1") == Words{"preemption of queue calm evicts nobody"});
}

TEST_CASE("who is spared is named, with why", "[engine][preemption][queues]") {
  engine::KnownCandidates known;
  CHECK(engine::WhyNotEnough(known) == Words{"nothing runs that it may evict"});
  known.shielded.gangs = 2;
  known.shielded.why = "gang default/a: it runs for less than minRuntime";
  known.refused.push_back({{{"default", "b"}, false}, "it is within the guarantee of queue y"});
  CHECK(engine::WhyNotEnough(known) ==
        Words{"2 gangs are protected for now, the first: gang default/a: it runs for less than "
              "minRuntime",
              "gang default/b: it is within the guarantee of queue y"});
}

}  // namespace
}  // namespace muster::testing
