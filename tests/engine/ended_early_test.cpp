// A gang that preempted others and dies before its minRuntime preempts nobody again within the
// hour. On Meta's RSC a large job that failed repeatedly preempted small ones again and again, in
// rounds.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::QueueSpec;
using testing::MakePod;
using testing::Queue;

QueueSpec KeepsNothing() {
  QueueSpec x = testing::Claimant();
  x.preemption.restart_window = 0;
  return x;
}

// `large` starts where `old` was evicted.
struct EndedEarlyWorld : testing::QueueWorld {
  EndedEarlyWorld() : QueueWorld({KeepsNothing(), Queue("y", 0)}) {
    Start("old", "y", 8);
    SubmitGang("large", "x", 8, 8);
    REQUIRE(Evicted() == "old");
    Leave("old");
    ScheduleAll("large");
    REQUIRE(Gang("large").state == GangState::kRunning);
  }
  // All of its pods fail, others take the room, and its controller makes new pods.
  void Die(const std::string& life) {
    for (int i = 0; i < 8; ++i) {
      Change("large-" + std::to_string(i),
             [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
    }
    Settle();
    Start("small" + life, "y", 8);
    log.clear();
    for (int i = 0; i < 8; ++i) {
      const std::string name = "large-" + std::to_string(i);
      RemovePod(name);
      Add(MakePod(name).Uid(name + life).Gpus(1).InGroup("large").Gated().Build());
    }
    Settle();
  }
};

TEST_CASE("a gang that preempted others and dies early preempts nobody for an hour",
          "[engine][queues][endedEarly]") {
  EndedEarlyWorld world;
  world.Pass(Seconds(30));
  world.Die("1");
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("large").state == GangState::kQueued);
  world.Pass(Seconds(3'500));
  CHECK(world.Evicted().empty());
  world.Pass(Seconds(100));
  CHECK(world.Evicted() == "small1");
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("the Event says for how long nobody is evicted", "[engine][queues][endedEarly]") {
  EndedEarlyWorld world;
  world.Pass(Seconds(30));
  for (int i = 0; i < 8; ++i) {
    world.Change("large-" + std::to_string(i),
                 [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  world.Settle();
  CHECK(world.Told("GangEndedEarly") ==
        "it preempted others, and ended 30 s after it had started, before the minRuntime "
        "of queue x: it preempts nobody for an hour");
}

TEST_CASE("a gang that ran for its minRuntime may have others evicted again",
          "[engine][queues][endedEarly]") {
  EndedEarlyWorld world;
  world.Pass(Seconds(600));
  world.Die("1");
  CHECK(world.Evicted() == "small1");
}

TEST_CASE("a gang that took free room and dies may have others evicted",
          "[engine][queues][endedEarly]") {
  testing::QueueWorld world({KeepsNothing(), Queue("y", 0)});
  world.Start("x0", "x", 8);
  world.Change("x0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  world.Settle();
  world.Start("y0", "y", 8);
  world.Submit("x1", "x", 8);
  CHECK(world.Evicted() == "y0");
}

}  // namespace
}  // namespace muster::engine
