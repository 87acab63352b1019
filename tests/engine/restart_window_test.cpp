// A gang that others were evicted for and that dies before its minRuntime keeps its devices for a
// restart window (docs/design/restart-window.md).
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

// `large` of eight pods starts where `old` was evicted; n1 has no GPUs before a test adds some.
struct RestartWindowWorld : testing::QueueWorld {
  explicit RestartWindowWorld(QueueSpec x = Claimant())
      : QueueWorld({std::move(x), Queue("y", 0)}) {
    Start("old", "y", 8);
    SubmitGang("large", "x", 8, 8);
    REQUIRE(Evicted() == "old");
    Leave("old");
    ScheduleAll("large");
    REQUIRE(Gang("large").state == GangState::kRunning);
    Pass(Seconds(30));
    log.clear();
  }
  void Fail(int from = 0, int to = 8) {
    for (int i = from; i < to; ++i) {
      Change("large-" + std::to_string(i),
             [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
      Settle();
    }
  }
  // All of its pods are deleted.
  void Vanish(bool at_once) {
    for (int i = 0; i < 8; ++i) {
      RemovePod("large-" + std::to_string(i));
      if (!at_once) Settle();
    }
  }
  void ComeBack() {
    for (int i = 0; i < 8; ++i) RemovePod("large-" + std::to_string(i));
    Recreate();
  }
  // Its controller makes other pods, under other names.
  void Recreate() {
    for (int i = 0; i < 8; ++i) {
      const std::string name = "large-again-" + std::to_string(i);
      Add(MakePod(name).Gpus(1).InGroup("large").CreatedAt(now().milliseconds()).Gated().Build());
    }
    Settle();
  }
};

TEST_CASE("nobody else is planned where a gang died early, and it starts there again at once",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Fail();
  world.Submit("small", "y", 1);
  CHECK(world.Gang("small").state == GangState::kQueued);
  CHECK(world.Gang("small").reason.code == ReasonCode::kReserved);
  CHECK(world.Gang("small").reason.detail ==
        "gang default/large, which lost it early and may start there again until "
        "2027-01-15T08:05:31Z");
  CHECK(world.IsSound());
  world.ComeBack();
  CHECK(world.Gang("large").state == GangState::kReserved);
  world.ScheduleAll("large");
  CHECK(world.Gang("large").state == GangState::kRunning);
  CHECK(world.Evicted().empty());
  CHECK(world.Windows(WindowEnd::kStarted) == 1);
  CHECK(world.engine().Count().restart_kept_pods == 0);
  CHECK(world.IsSound());
}

TEST_CASE("its victims do not get the devices back before the window has passed",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Submit("old-again", "y", 8);
  world.Fail();
  CHECK(world.Gang("old-again").state == GangState::kQueued);
  CHECK(world.Gang("large").kept->pods == 8);
  CHECK(world.Gang("large").kept->nodes == "n0");
  CHECK(world.Told("GangEndedEarly") ==
        "it preempted others, and ended 30 s after it had started, before the minRuntime "
        "of queue x: it preempts nobody for an hour, and what it had on n0 is kept "
        "for it for 300 s");
  world.Pass(Seconds(299));
  CHECK(world.Gang("old-again").state == GangState::kQueued);
  world.Pass(Seconds(1));
  CHECK(world.Gang("old-again").state == GangState::kReserved);
  CHECK_FALSE(world.Gang("large").kept);
  CHECK(world.Windows(WindowEnd::kPassed) == 1);
  CHECK(world.Told("RestartWindowEnded") ==
        "what it had on n0 is not kept for it any more: it did not start again in time");
  for (const QueueView& queue : world.engine().Queues())
    CHECK(queue.booked_idle == (queue.name == "y" ? 0 : 8 * 300'000));
  CHECK(world.IsSound());
}

TEST_CASE("what members have that die one after the other is kept from the first one on",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Submit("small", "y", 1);
  world.Fail(0, 3);
  CHECK(world.Gang("large").state == GangState::kDegraded);
  CHECK(world.Gang("small").state == GangState::kQueued);
  world.Fail(3, 8);
  CHECK(world.Gang("small").state == GangState::kQueued);
  CHECK(world.Gang("large").kept->pods == 8);
  world.ComeBack();
  CHECK(world.Gang("large").state == GangState::kReserved);
}

TEST_CASE("what lost members had is free again when others took their place",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Add(testing::MakeNode("n1").Gpus(2).Build());
  world.Fail(0, 1);
  CHECK(world.Gang("large").kept->pods == 1);
  world.Add(MakePod("large-new").Gpus(1).InGroup("large").Gated().Build());
  world.Settle();
  CHECK(world.Gang("large").state == GangState::kBinding);
  world.Bind("large-new");
  world.Settle();
  CHECK(world.Gang("large").state == GangState::kRunning);
  CHECK_FALSE(world.Gang("large").kept);
  CHECK(world.Windows(WindowEnd::kStarted) == 0);  // it was no window
}

TEST_CASE("nothing is kept where the policy says restartWindow 0, nor after minRuntime",
          "[engine][queues][restartWindow]") {
  QueueSpec x = Claimant();
  x.preemption.restart_window = 0;
  RestartWindowWorld off(x);
  off.Submit("small", "y", 1);
  off.Fail();
  CHECK(off.Gang("small").state == GangState::kReserved);
  RestartWindowWorld late;
  late.Pass(Seconds(570));
  late.Submit("small", "y", 1);
  late.Fail();
  CHECK(late.Gang("small").state == GangState::kReserved);
  CHECK(late.engine().Count().restart_kept_pods == 0);
}

TEST_CASE("nothing is kept for a gang for which nobody was evicted",
          "[engine][queues][restartWindow]") {
  testing::QueueWorld world({Claimant(), Queue("y", 0)});
  world.SubmitGang("large", "x", 2, 2);
  world.ScheduleAll("large");
  for (const char* name : {"large-0", "large-1"})
    world.Change(name, [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  world.Settle();
  CHECK_FALSE(world.Gang("large").kept);
  world.Submit("small", "y", 8);
  CHECK(world.Gang("small").state == GangState::kReserved);
}

TEST_CASE("nothing is kept for members that ended well", "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  for (int i = 0; i < 8; ++i) world.Succeed("large-" + std::to_string(i));
  world.Settle();
  CHECK_FALSE(world.Gang("large").kept);
  world.Submit("small", "y", 8);
  CHECK(world.Gang("small").state == GangState::kReserved);
}

TEST_CASE("the window ends with the PodGroup, with a node of it, and with the policy's rule",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld deleted;
  deleted.Fail();
  deleted.Submit("small", "y", 1);
  deleted.RemoveGroup("large");
  deleted.Settle();
  CHECK(deleted.Gang("small").state == GangState::kReserved);
  CHECK(deleted.Windows(WindowEnd::kDeleted) == 1);
  RestartWindowWorld gone;
  gone.Fail();
  gone.RemoveNode("n0");
  gone.Settle();
  CHECK(gone.Windows(WindowEnd::kNodeGone) == 1);
  CHECK(gone.Told("RestartWindowEnded") ==
        "what it had is not kept for it any more: one of its nodes is gone");
  RestartWindowWorld off;
  off.Fail();
  off.Submit("small", "y", 1);
  Options options = off.engine().options();
  options.queues[0].preemption.restart_window = 0;
  off.engine().SetOptions(options);
  off.Settle();
  CHECK(off.Gang("small").state == GangState::kReserved);
  CHECK(off.Windows(WindowEnd::kPolicy) == 1);
}

TEST_CASE("an operator may cancel what is kept for a gang", "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Fail();
  world.Submit("small", "y", 1);
  const auto effect = world.engine().Carry({"ann", CancelPlan{{"default", "large"}}}, world.now());
  REQUIRE(effect.ok());
  CHECK(effect->was == "what it had on n0 is kept for its restart");
  CHECK(effect->is == "nothing is kept for it");
  world.Settle();
  CHECK(world.Gang("small").state == GangState::kReserved);
  CHECK(world.Windows(WindowEnd::kCancelled) == 1);
  CHECK(world.Told("RestartWindowCancelled") ==
        "nothing is kept for it (before: what it had on n0 is kept for its restart), ordered by "
        "ann");
}

TEST_CASE("a gang that starts again where it died is not kept off by a booking there",
          "[engine][queues][restartWindow]") {
  QueueSpec x = Claimant();
  x.bookings = {.depth = 1, .min_age = Seconds(0), .reserve_after = Seconds(10)};
  RestartWindowWorld world(x);
  world.SubmitGang("next", "x", 8, 8);
  world.Pass(Seconds(60));
  REQUIRE(world.Gang("next").expected);
  world.Fail();
  CHECK(world.Gang("next").state == GangState::kQueued);
  world.ComeBack();
  CHECK(world.Gang("large").state == GangState::kReserved);
  CHECK(world.IsSound());
}

TEST_CASE("a gang that is evicted keeps nothing: its room is the preemptor's",
          "[engine][queues][restartWindow]") {
  QueueSpec x = Claimant();
  x.preemption.min_runtime_preempt = 0;
  x.preemption.min_runtime_reclaim = 600'000;
  RestartWindowWorld world(x);
  world.Submit("urgent", "x", 8, 1000);
  REQUIRE(world.Evicted().size() > 0);
  for (int i = 0; i < 8; ++i) world.RemovePod("large-" + std::to_string(i));
  world.Settle();
  CHECK_FALSE(world.Gang("large").kept);
  CHECK(world.Gang("urgent").state == GangState::kReserved);
}

TEST_CASE("pods of a gang that leave early make room for nobody else",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Submit("small", "y", 1);
  for (int i = 0; i < 8; ++i) {
    world.Change("large-" + std::to_string(i), [&](cluster::Pod& pod) {
      pod.deleting = true;
      pod.leaves_by = world.now() + Seconds(30);
    });
  }
  world.Settle();
  world.Submit("equal", "x", 1);
  CHECK(world.Gang("small").state == GangState::kQueued);
  CHECK(world.Gang("equal").state == GangState::kQueued);
  for (int i = 0; i < 8; ++i) world.RemovePod("large-" + std::to_string(i));
  world.Settle();
  CHECK(world.Gang("small").state == GangState::kQueued);
  CHECK(world.Gang("equal").state == GangState::kQueued);
  CHECK(world.Gang("large").kept->pods == 8);
}

TEST_CASE("pods that leave early make room for a gang of higher priority in their queue",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  for (int i = 0; i < 8; ++i) {
    world.Change("large-" + std::to_string(i), [&](cluster::Pod& pod) {
      pod.deleting = true;
      pod.leaves_by = world.now() + Seconds(30);
    });
  }
  world.Settle();
  world.Submit("urgent", "x", 1, 1000);
  CHECK(world.Evicted().empty());
  for (int i = 0; i < 8; ++i) world.RemovePod("large-" + std::to_string(i));
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kReserved);
}

TEST_CASE("a gang that dies again after it started in its window keeps nothing",
          "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Fail();
  world.ComeBack();
  world.ScheduleAll("large");
  world.Submit("small", "y", 1);
  for (int i = 0; i < 8; ++i) {
    world.Change("large-again-" + std::to_string(i),
                 [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  world.Settle();
  CHECK(world.Gang("small").state == GangState::kReserved);
}

TEST_CASE("a gang all of whose pods are deleted at once has ended early, too",
          "[engine][queues][restartWindow]") {
  const bool at_once = GENERATE(true, false);
  QueueSpec x = Claimant();
  const bool by_namespace = GENERATE(false, true);
  if (by_namespace) x.fair_by = queues::FairBy::kNamespace;
  CAPTURE(at_once, by_namespace);
  RestartWindowWorld world(x);
  world.Vanish(at_once);
  world.Settle();
  CHECK(world.Told("GangEndedEarly") ==
        "it preempted others, and ended 30 s after it had started, before the minRuntime "
        "of queue x: it preempts nobody for an hour, and what it had on n0 is kept "
        "for it for 300 s");
  world.Pass(Seconds(300));
  world.Start("small", "y", 8);
  world.Recreate();
  CHECK(world.Gang("large").state == GangState::kQueued);
  CHECK(world.Evicted().empty());
  CHECK(world.IsSound());
}

TEST_CASE("nobody is evicted again for a gang whose PodGroup goes with its last pod",
          "[engine][queues][restartWindow]") {
  const bool at_once = GENERATE(true, false);
  CAPTURE(at_once);
  RestartWindowWorld world;
  world.Vanish(at_once);
  world.RemoveGroup("large");
  world.Settle();
  world.Pass(Seconds(300));
  world.Start("small", "y", 8);
  cluster::PodGroup group = MakePodGroup("large").MinMember(8).Build();
  group.uid = cluster::PodGroupUid("large-again");
  group.queue = "x";
  world.Add(group);
  world.Recreate();
  CHECK(world.Gang("large").state == GangState::kQueued);
  CHECK(world.Evicted().empty());
  CHECK(world.IsSound());
}

TEST_CASE("strict order does not hold up a gang that starts again where it died",
          "[engine][queues][restartWindow][R11]") {
  QueueSpec x = Claimant();
  x.order = queues::Order::kStrictFifo;
  RestartWindowWorld world(x);
  world.SubmitGang("next", "x", 8, 8);
  world.Fail();
  CHECK(world.Gang("next").reason.code == ReasonCode::kReserved);
  world.ComeBack();
  CHECK(world.Gang("large").state == GangState::kReserved);
  CHECK(world.Gang("next").state == GangState::kQueued);
}

TEST_CASE("a restart of Muster forgets what is kept", "[engine][queues][restartWindow]") {
  RestartWindowWorld world;
  world.Fail();
  world.Submit("small", "y", 1);
  REQUIRE(world.Gang("small").state == GangState::kQueued);
  world.Restart();
  world.Settle();
  CHECK(world.Gang("small").state == GangState::kReserved);
  CHECK_FALSE(world.Gang("large").kept);
}

}  // namespace
}  // namespace muster::engine
