// R4 to R9 in the engine: who is evicted for whom between queues, when, and what is written down
// before.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::Amount;
using queues::Limit;
using queues::QueueSpec;
using queues::Resource;
using testing::MakeNode;
using testing::MakePod;

using ReclaimWorld = testing::QueueWorld;
using testing::Queue;

const Resource kGpu{Resource::Kind::kGpu};  // NOLINT(cert-err58-cpp)

TEST_CASE("R5: a queue gets its guarantee back from who borrowed it", "[engine][queues][R5]") {
  ReclaimWorld world({Queue("x", 4), Queue("y", 4)});
  world.Start("y0", "y", 4);
  world.Start("y1", "y", 4);
  world.Submit("x0", "x", 4);
  CHECK(world.Evicted() == "y1");  // it lost least
  CHECK(world.Gang("x0").state == GangState::kPreempting);
  CHECK(world.Told("Preempting") ==
        "4 GPUs are freed for the 4 GPUs that it takes on n0: default/y1 (1 pod, 4 GPUs, runs for "
        "0 min)");
  CHECK(world.Told("GangPreempted") ==
        "1 pod is evicted for gang default/x0 within the guarantee of queue x, beyond which queue "
        "y is");
  world.Leave("y1");
  CHECK(world.Gang("x0").state == GangState::kReserved);
}

TEST_CASE("evictions are asked for once more gangs than one call looks at are settled",
          "[engine][queues][R5]") {
  const std::vector<QueueSpec> queues{Queue("x", 4), Queue("y", 4)};
  ReclaimWorld world(queues);
  world.Start("y0", "y", 4);
  world.Start("y1", "y", 4);
  for (int i = 0; i < 600; ++i) {  // Settle looks at 256
    cluster::Pod pod = MakePod("waits" + std::to_string(i)).Gpus(1).Gated().Build();
    pod.asked_queue = "y";
    world.Add(pod);
  }
  world.Settle();
  REQUIRE(world.Evicted().empty());
  world.engine().SetOptions(ReclaimWorld::OptionsOf(queues));  // all of them are to be settled anew
  world.Submit("x0", "x", 4);
  CHECK(world.Evicted() == "y1");
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("R5: neither priority nor age lets a queue take what is another's guarantee",
          "[engine][queues][R5]") {
  ReclaimWorld world({Queue("x", 4), Queue("y", 4)});
  world.Start("y0", "y", 4);
  world.Start("x0", "x", 4);
  world.Submit("x1", "x", 4, 1'000);
  CHECK(world.Evicted() == "x0");  // R4: of its own queue it may
  ReclaimWorld other({Queue("x", 4), Queue("y", 4)});
  other.Start("y0", "y", 4);
  other.Start("x0", "x", 4, 1'000);
  other.Submit("x1", "x", 4, 1'000);
  CHECK(other.Evicted().empty());
  CHECK(other.Gang("x1").state == GangState::kQueued);
}

TEST_CASE("R5: a queue that reclaims never waits", "[engine][queues][R5]") {
  QueueSpec calm = Queue("x", 4);
  calm.preemption.reclaim = queues::Reclaim::kNever;
  ReclaimWorld world({calm, Queue("y", 4)});
  world.Start("y0", "y", 8);
  world.Submit("x0", "x", 4);
  CHECK(world.Evicted().empty());
}

TEST_CASE("R5: victims that leave their queue its guarantee are preferred to cheaper ones",
          "[engine][queues][R5]") {
  ReclaimWorld world({Queue("x", 2), Queue("y", 5)});
  world.Start("old", "y", 2);  // 8 - 2 ≥ 5
  world.Pass(Seconds(1'000));
  world.Start("new", "y", 6);  // 8 - 6 < 5, and it lost less
  world.Submit("x0", "x", 2);
  CHECK(world.Evicted() == "old");
}

TEST_CASE("R5: a gang that straddles the guarantee goes where nothing else is enough",
          "[engine][queues][R5]") {
  ReclaimWorld world({Queue("x", 4), Queue("y", 4)});
  world.Start("small", "y", 2);
  world.Start("large", "y", 6);
  world.Submit("x0", "x", 4);
  // Without small y has 6, and large may still go; small is put back then.
  CHECK(world.Evicted() == "large");
}

TEST_CASE("R5: a gang does not go for members that it has beyond its minimum",
          "[engine][queues][R5]") {
  ReclaimWorld world({Queue("x", 5), Queue("y", 5)});
  world.SubmitGang("elastic", "y", 6, 2);
  world.ScheduleAll("elastic");
  world.Pass(Seconds(10));
  // One of its pods is beyond what y is guaranteed. The others could come back within it.
  world.Submit("x0", "x", 5);
  CHECK(world.Evicted().empty());
  world.Submit("x1", "x", 3);
  CHECK(world.Evicted() == "elastic-5");
}

TEST_CASE("R9: what leaves for one gang is not what its queue has beyond its guarantee for another",
          "[engine][queues][R5][R9]") {
  ReclaimWorld world({Queue("x", 4), Queue("z", 4), Queue("y", 8), Queue("guests", 0)}, 16);
  world.Start("guest", "guests", 4);
  world.Pass(Seconds(1'000));
  for (const char* name : {"y0", "y1", "y2"}) world.Start(name, "y", 4);
  world.Submit("x0", "x", 4);
  REQUIRE(world.Evicted() == "y2");  // y has 8 left
  world.Submit("z0", "z", 4);
  CHECK(world.Evicted() == "guest y2");
}

TEST_CASE("R6: members beyond the minimum go before whole gangs", "[engine][queues][R6]") {
  ReclaimWorld world({Queue("x", 2), Queue("y", 2)});
  world.SubmitGang("elastic", "y", 6, 4);
  world.ScheduleAll("elastic");
  world.Pass(Seconds(10));
  world.Start("new", "y", 2);
  world.Submit("x0", "x", 2);
  CHECK(world.Evicted() == "elastic-4 elastic-5");
}

TEST_CASE("R6: superfluous victims are put back, and no more is evicted than the ratio says",
          "[engine][queues][R6]") {
  QueueSpec x = Queue("x", 4);
  x.preemption.max_evicted_ratio = 3;
  ReclaimWorld world({x, Queue("y", 0)});
  world.Start("y0", "y", 8);
  world.Submit("x0", "x", 2);  // 8 > 3 × 2
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("x0").state == GangState::kQueued);
  world.Submit("x1", "x", 3);  // 8 ≤ 3 × 3
  CHECK(world.Evicted() == "y0");
}

TEST_CASE("R8: for reclaim the minimum runtime is that of the ancestor's child",
          "[engine][queues][R8]") {
  // y says an hour, but what counts for x is what right says.
  QueueSpec right = Queue("right", 0);
  right.preemption.min_runtime_reclaim = 60'000;
  QueueSpec y = Queue("y", 0, "right");
  y.preemption.min_runtime_reclaim = 3'600'000;
  ReclaimWorld world({Queue("x", 8), right, y});
  world.Start("y0", "y", 8);
  world.Submit("x0", "x", 8);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("x0").reason.code == ReasonCode::kMinRuntime);
  CHECK(Describe(world.Gang("x0").reason).find("default/y0: queue right lets it run") !=
        std::string::npos);
  world.Pass(Seconds(50));
  CHECK(world.Evicted().empty());
  world.Pass(Seconds(10));  // the timer wakes it
  CHECK(world.Evicted() == "y0");
}

TEST_CASE("R8: within a queue the leaf's minimum runtime counts, surplus is not protected",
          "[engine][queues][R8]") {
  QueueSpec x = Queue("x", 8);
  x.preemption.min_runtime_preempt = 60'000;
  ReclaimWorld world({x});
  world.SubmitGang("g", "x", 8, 6);
  world.ScheduleAll("g");
  world.Submit("x0", "x", 2, 5);
  CHECK(world.Evicted() == "g-6 g-7");
  world.Leave("g-6 g-7");
  world.Bind("x0");
  world.Settle();
  world.Submit("x1", "x", 3, 5);
  CHECK(world.Evicted() == "g-6 g-7");
  world.Pass(Seconds(60));
  CHECK(world.Evicted() == "g-0 g-1 g-2 g-3 g-4 g-5 g-6 g-7");
}

TEST_CASE("nobody is evicted for a gang before its queue's delay has passed",
          "[engine][queues][R5]") {
  QueueSpec x = Queue("x", 8);
  x.preemption.delay = 30'000;
  ReclaimWorld world({x, Queue("y", 0)});
  world.Start("y0", "y", 8);
  world.Submit("x0", "x", 8);
  world.Pass(Seconds(29));
  CHECK(world.Evicted().empty());
  world.Pass(Seconds(1));
  CHECK(world.Evicted() == "y0");
}

TEST_CASE("a gang that was evicted often enough in this hour is left alone",
          "[engine][queues][R6]") {
  QueueSpec y = Queue("y", 0);
  y.preemption.max_evictions_per_hour = 1;
  ReclaimWorld world({Queue("x", 8), y});
  world.SubmitGang("y0", "y", 8, 8);
  world.ScheduleAll("y0");
  world.Submit("x0", "x", 8);
  CHECK(world.Evicted() == "y0-0 y0-1 y0-2 y0-3 y0-4 y0-5 y0-6 y0-7");
  world.Leave("y0-0 y0-1 y0-2 y0-3 y0-4 y0-5 y0-6 y0-7");
  world.Bind("x0");
  world.Settle();
  world.Leave("x0");
  world.log.clear();
  // Its controller makes its pods again.
  for (int i = 0; i < 8; ++i)
    world.Add(MakePod("again-" + std::to_string(i)).Gpus(1).InGroup("y0").Gated().Build());
  world.ScheduleAll("y0");
  REQUIRE(world.Gang("y0").state == GangState::kRunning);
  world.Submit("x1", "x", 8);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("x1").reason.code == ReasonCode::kMinRuntime);
  world.Pass(Seconds(3'600));
  CHECK(world.Evicted().size() == std::string("again-0 ").size() * 8 - 1);
}

TEST_CASE("R3, R4: at its queue's limit a gang evicts whom it may there, and nobody else",
          "[engine][queues][R3][R4]") {
  QueueSpec x = Queue("x", 2);
  x.limit.Set(kGpu, Limit(4'000));
  ReclaimWorld world({x, Queue("y", 0)});
  world.Start("low", "x", 2, 1);
  world.Start("high", "x", 2, 9);
  world.Start("y0", "y", 2);
  world.Submit("x0", "x", 2, 5);  // two GPUs are free
  CHECK(world.Evicted() == "low");
  world.Leave("low");
  CHECK(world.Gang("x0").state == GangState::kReserved);
  world.Submit("x1", "x", 2, 5);
  CHECK(world.Gang("x1").reason.code == ReasonCode::kQueueLimit);
}

TEST_CASE("R9: what is freed and the quota belong to the gang that it was freed for",
          "[engine][queues][R9]") {
  ReclaimWorld world({Queue("x", 4), Queue("y", 4), Queue("z", 0)});
  world.Start("y0", "y", 4);
  world.Start("y1", "y", 4);
  world.Submit("x0", "x", 4);
  REQUIRE(world.Evicted() == "y1");
  // While y1 leaves nobody else gets what it leaves, and x has used up its guarantee.
  world.Submit("z0", "z", 1, 1'000);
  world.Submit("x1", "x", 2);
  CHECK(world.Evicted() == "y1");
  world.Leave("y1");
  CHECK(world.Gang("x0").state == GangState::kReserved);
  CHECK(world.Gang("z0").state == GangState::kQueued);
  CHECK(world.Gang("x1").state == GangState::kQueued);
}

TEST_CASE("two gangs that want the same victims get them one after the other",
          "[engine][queues][R7]") {
  ReclaimWorld world({Queue("a", 4), Queue("b", 4), Queue("y", 0)});
  world.Start("y0", "y", 8);
  world.Submit("a0", "a", 4);
  world.Submit("b0", "b", 4);
  CHECK(world.Evicted() == "y0");
  world.Leave("y0");
  CHECK(world.Gang("a0").state == GangState::kReserved);
  CHECK(world.Gang("b0").state == GangState::kReserved);
}

TEST_CASE("R7: victims that are not lawful any more are spared before they are asked to go",
          "[engine][queues][R7]") {
  ReclaimWorld world({Queue("x", 4), Queue("y", 4)});
  world.Start("y0", "y", 4);
  world.Start("y1", "y", 4);
  // The nomination is not through yet, so nobody has been evicted.
  world.fault = [](const Action& action) -> std::optional<Outcome> {
    const auto* nominate = std::get_if<Nominate>(&action);
    if (nominate == nullptr) return std::nullopt;
    return Outcome{nominate->id, OutcomeKind::kRetry, "later"};
  };
  world.Submit("x0", "x", 4);
  CHECK(world.Gang("x0").state == GangState::kPreempting);
  CHECK(world.Evicted().empty());
  world.Succeed("y0");  // y is not beyond its guarantee any more, and there is room
  world.RemovePod("y0");
  world.fault = nullptr;
  world.Pass(Seconds(5));
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("x0").state == GangState::kReserved);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a reload evicts nobody by itself, and what waits may reclaim", "[engine][queues][R5]") {
  ReclaimWorld world({Queue("x", 0), Queue("y", 8)});
  world.Start("y0", "y", 8);
  world.Submit("x0", "x", 4);
  CHECK(world.Evicted().empty());
  world.engine().SetOptions(ReclaimWorld::OptionsOf({Queue("x", 4), Queue("y", 4)}));
  world.Settle();
  CHECK(world.Evicted() == "y0");
  ReclaimWorld idle({Queue("x", 0), Queue("y", 8)});
  idle.Start("y0", "y", 8);
  idle.engine().SetOptions(ReclaimWorld::OptionsOf({Queue("x", 8), Queue("y", 0)}));
  idle.Pass(Seconds(100));
  CHECK(idle.Evicted().empty());
}

TEST_CASE("a gang takes its guarantee back from gangs that started after it was tried",
          "[engine][queues][R5]") {
  // x0 needs four GPUs in one piece; y's gangs take what is free in between.
  ReclaimWorld world({Queue("x", 4), Queue("y", 4)});
  world.Add(MakeNode("n1").Gpus(2).Build());
  world.Start("y0", "y", 4);
  world.Start("x1", "x", 1);
  world.Submit("x0", "x", 3);
  CHECK(world.Gang("x0").state == GangState::kReserved);
  CHECK(world.Evicted().empty());
}

}  // namespace
}  // namespace muster::engine
