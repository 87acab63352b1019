// The rule of order: room that is kept for a gang binds those that come after it, nobody before it,
// whoever may evict whom.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/booking_world.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::BookingRules;
using queues::QueueSpec;
using testing::BookingWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::WithQueues;

// In which nobody has others evicted.
QueueSpec Peaceful(const std::string& name, const BookingRules& rules = {}) {
  QueueSpec queue{.name = name, .bookings = rules};
  queue.preemption.within_queue = queues::WithinQueue::kNever;
  queue.preemption.reclaim = queues::Reclaim::kNever;
  return queue;
}

TEST_CASE("a booking of a lower gang of its queue keeps a gang off nothing", "[engine][R10]") {
  const bool closed = GENERATE(false, true);
  const BookingRules rules{.min_age = Seconds(1), .reserve_after = Seconds(closed ? 2 : 7'200)};
  BookingWorld world(WithQueues({Peaceful("root", rules), Peaceful("q"), Peaceful("other")}));
  world.Add(MakeNode("n0").Gpus(8));
  world.AskLike(MakePod("runs").Gpus(4).Priority(2'000), closed ? 0 : 600, "q");
  world.Run(Seconds(1));
  world.AskLike(MakePod("low").Gpus(8).Priority(1), 0, "q");
  world.Run(Seconds(10));
  REQUIRE(world.Gang("low").expected);
  CHECK((world.Gang("low").expected->at == cluster::Time::Never()) == closed);
  // Those that come after it are bound, and so is another queue's, whatever its priority.
  world.AskLike(MakePod("equal").Gpus(1).Priority(1), 0, "q");
  world.AskLike(MakePod("stranger").Gpus(1).Priority(1'000), 0, "other");
  world.Run(Seconds(1));
  CHECK(world.Gang("equal").reason.code == ReasonCode::kReserved);
  CHECK(world.Gang("stranger").reason.code == ReasonCode::kReserved);
  world.AskLike(MakePod("high").Gpus(4).Priority(1'000), 0, "q");
  world.Run(Seconds(1));
  CHECK(world.Runs("high"));
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a gang that was turned away has a turn when the booking's gang comes after it",
          "[engine][R10]") {
  const BookingRules rules{.min_age = Seconds(1)};
  BookingWorld world(WithQueues({Peaceful("root", rules), Peaceful("q")}));
  world.Add(MakeNode("n0").Gpus(8));
  world.Ask("runs", 4, 600, "q");
  world.Run(Seconds(1));
  world.AskLike(MakePod("first").Gpus(8).Priority(10), 0, "q");
  world.Run(Seconds(10));
  world.AskLike(MakePod("next").Gpus(4).Priority(5), 0, "q");
  world.Run(Seconds(1));
  REQUIRE(world.Gang("next").reason.code == ReasonCode::kReserved);
  world.Change("first", [](cluster::Pod& pod) {
    auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
    spec->priority = 1;
    pod.spec = std::move(spec);
  });
  world.Run(Seconds(1));
  CHECK(world.Runs("next"));
}

TEST_CASE("a gang books before a lower one of its queue that has booked", "[engine][R10]") {
  const BookingRules rules{.min_age = Seconds(1)};
  BookingWorld world(WithQueues({Peaceful("root", rules), Peaceful("q")}));
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakeNode("n1").Gpus(8));
  world.Ask("runs", 8, 600, "q");
  world.Ask("longer", 8, 1'200, "q");
  world.Run(Seconds(1));
  world.AskLike(MakePod("low").Gpus(8).Priority(1), 600, "q");
  world.Run(Seconds(10));
  REQUIRE(world.Gang("low").expected);
  world.Add(MakePodGroup("high").MinMember(2).CreatedAt(world.now().milliseconds()));
  for (const char* name : {"high-0", "high-1"})
    world.AskLike(MakePod(name).Gpus(8).Priority(1'000).InGroup("high"), 600, "q");
  world.Run(Seconds(10));
  REQUIRE(world.Gang("high").expected);
  CHECK(world.Gang("high").expected->at == world.StartedAt("longer") + Seconds(1'200));
  // One booking for these nodes: what the lower one had is the higher one's.
  CHECK_FALSE(world.Gang("low").expected);
  // It is used by the lower one only as far as it leaves in time.
  world.Run(Seconds(600));
  CHECK(world.Runs("low"));
  world.Run(Seconds(600));
  CHECK(world.StartedAt("high-0") == world.StartedAt("longer") + Seconds(1'200));
}

TEST_CASE("what is kept for the restart of a lower gang of its queue keeps a gang off nothing",
          "[engine][queues][restartWindow]") {
  testing::QueueWorld world({testing::Claimant(), testing::Queue("y", 0)});
  world.Start("old", "y", 8);
  world.SubmitGang("large", "x", 8, 8);
  world.Leave("old");
  world.ScheduleAll("large");
  REQUIRE(world.Gang("large").state == GangState::kRunning);
  world.Pass(Seconds(30));
  for (int i = 0; i < 8; ++i) {
    world.Change("large-" + std::to_string(i),
                 [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
    world.Settle();
  }
  const bool vanished = GENERATE(false, true);
  for (int i = 0; i < 8 && vanished; ++i) world.RemovePod("large-" + std::to_string(i));
  world.Submit("equal", "x", 1);
  world.Submit("stranger", "y", 1, 100);
  CHECK(world.Gang("equal").reason.code == ReasonCode::kReserved);
  CHECK(world.Gang("stranger").reason.code == ReasonCode::kReserved);
  world.Submit("high", "x", 1, 100);
  CHECK(world.Gang("high").state == GangState::kReserved);
  CHECK(world.IsSound());
}

}  // namespace
}  // namespace muster::engine
