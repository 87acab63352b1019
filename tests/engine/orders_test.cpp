// What operators order: priorities, queues on hold, GPUs reclaimed, plans given back.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using cluster::Code;
using cluster::ObjectKey;
using cluster::Seconds;
using engine::CancelPlan;
using engine::GangState;
using engine::Order;
using engine::ReasonCode;
using engine::ReclaimGpus;
using engine::SetPriority;
using engine::SetQueueState;
using queues::QueueState;

engine::Options WithQueues() {
  engine::Options options;
  options.queues = {
      {.name = "company"}, {.name = "research", .parent = "company"}, {.name = "edu"}};
  return options;
}

// Gangs of two nodes with eight GPUs each, in queue research.
struct OrderedWorld : FullWorld {
  OrderedWorld() : FullWorld(Ready()) { Pass(Seconds(1)); }
  static engine::Options Ready() {
    engine::Options options = WithQueues();
    options.queues[1].namespaces = {"default"};
    options.queues[2].namespaces = {"elsewhere"};
    return options;
  }
  cluster::Result<engine::OrderEffect> Do(decltype(Order::what) what) {
    auto effect = engine().Carry({"ann", std::move(what)}, now());
    Settle();
    CHECK(engine().Audit(now()).empty());
    return effect;
  }
  bool Told(const std::string& reason) const {
    return std::any_of(log.begin(), log.end(), [&](const engine::Action& action) {
      const auto* event = std::get_if<engine::EmitEvent>(&action);
      return event != nullptr && event->reason == reason;
    });
  }
};

TEST_CASE("an order that is only considered changes nothing", "[engine][orders]") {
  OrderedWorld world;
  const std::string before = world.engine().Dump();
  for (const Order& order : {Order{"ann", ReclaimGpus{"research", 4}},
                             Order{"ann", SetQueueState{"edu", QueueState::kHold}},
                             Order{"ann", SetPriority{{"default", "old"}, 7}}}) {
    CHECK(world.engine().Consider(order, world.now()).ok());
  }
  CHECK(world.engine().Dump() == before);
  CHECK(world.engine().NextWake() > world.now());
}

TEST_CASE("so many GPUs are reclaimed or none, and the queue pauses", "[engine][orders][R6]") {
  OrderedWorld world;
  const auto none = world.Do(ReclaimGpus{"research", 17});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == Code::kConflict);
  CHECK(world.Evicted().empty());
  CHECK(world.engine().Orders() == engine::StandingOrders{});
  const auto all = world.Do(ReclaimGpus{"company", 3, Seconds(60)});
  REQUIRE(all.ok());
  REQUIRE(all->evicted.size() == 1);
  CHECK(all->evicted.front().whole);
  CHECK(all->evicted.front().gpu_milli == 16'000);
  CHECK(world.Evicted() == kAllOld);
  CHECK(world.Told("QueueReclaimed"));
  CHECK(world.Told("GangReclaimed"));
  CHECK(world.Gang("old").reason.code == ReasonCode::kReclaimed);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Settle();
  world.Submit("next", 1, 8, 0);
  world.Settle();
  CHECK(world.Gang("next").reason.code == ReasonCode::kHold);
  world.Pass(Seconds(61));
  CHECK(world.Gang("next").state == GangState::kReserved);
  CHECK(world.engine().Orders() == engine::StandingOrders{});
}

TEST_CASE("where a budget keeps one of them nobody is evicted, and others are chosen",
          "[engine][orders][R6]") {
  OrderedWorld world;
  world.Submit("late", 2, 1, 0);
  world.Settle();
  world.fault = KeptByBudget("old-1");
  SECTION("there are no others") {
    REQUIRE(world.Do(ReclaimGpus{"research", 4}).ok());
    CHECK(world.Told("QueueNotReclaimed"));
    CHECK(world.Gang("old").state == GangState::kRunning);
    CHECK_FALSE(world.Do(ReclaimGpus{"research", 4}).ok());
  }
  SECTION("there are others") {
    world.Change("old-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
    world.Change("old-2", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
    world.ScheduleAll("late");
    REQUIRE(world.Gang("late").state == GangState::kRunning);
    world.log.clear();
    // The gang that started last goes first: have that one kept.
    world.fault = KeptByBudget("late-0");
    REQUIRE(world.Do(ReclaimGpus{"research", 2}).ok());
    world.fault = nullptr;
    world.Pass(Seconds(5));
    CHECK(world.Gang("late").state == GangState::kRunning);
    CHECK(world.Gang("old").reason.code == ReasonCode::kReclaimed);
  }
}

TEST_CASE("pods that do not end in time are told of", "[engine][orders]") {
  OrderedWorld world;
  REQUIRE(world.Do(ReclaimGpus{"research", 16}).ok());
  world.RemovePod("old-0");
  world.Pass(engine::Options().victim_timeout + Seconds(1));
  CHECK(world.Told("QueueReclaimLate"));
  CHECK(world.engine().NextWake() > world.now());
}

TEST_CASE("gangs of the system are not reclaimed", "[engine][orders][R14]") {
  OrderedWorld world;
  for (const std::string& name : kAllOld) {
    world.Change(name, [](cluster::Pod& pod) {
      auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
      spec->priority = 2'000'000'000;
      pod.spec = std::move(spec);
    });
  }
  world.Settle();
  CHECK_FALSE(world.Do(ReclaimGpus{"research", 1}).ok());
}

TEST_CASE("a priority that is ordered is that gang's alone", "[engine][orders][R13]") {
  OrderedWorld world;
  world.Submit("waits", 1, 8, 50);
  world.Settle();
  REQUIRE(world.Do(SetPriority{{"default", "waits"}, 900}).ok());
  CHECK(world.Gang("waits").priority == 900);
  CHECK(world.Gang("waits").ordered);
  const engine::StandingOrders kept = world.engine().Orders();
  REQUIRE(kept.gangs.size() == 1);
  SECTION("an engine that is given it after a restart keeps it") {
    world.Restart();
    world.Settle();
    CHECK(world.Gang("waits").priority == 50);
    world.engine().Apply(kept, world.now());
    world.Settle();
    CHECK(world.Gang("waits").priority == 900);
  }
  SECTION("another gang of the name has none") {
    engine::StandingOrders of_another = kept;
    of_another.gangs.begin()->second.uid = "another";
    world.engine().Apply(of_another, world.now());
    world.Settle();
    CHECK(world.Gang("waits").priority == 50);
    // What is kept of gangs that are gone goes with the next order.
    REQUIRE(world.Do(SetQueueState{"edu", QueueState::kHold}).ok());
    CHECK(world.engine().Orders().gangs.empty());
  }
  SECTION("it ends with the gang") {
    world.RemovePod("waits-0");
    world.RemoveGroup("waits");
    world.Settle();
    CHECK(world.engine().Orders().gangs.empty());
  }
}

TEST_CASE("a priority that is ordered lets a gang preempt", "[engine][orders][R4]") {
  FullWorld world;
  world.Submit("waits", 1, 8, 0);
  world.Settle();
  CHECK(world.Gang("waits").state == GangState::kQueued);
  REQUIRE(world.engine().Carry({"ann", SetPriority{{"default", "waits"}, 1}}, world.now()).ok());
  world.Settle();
  CHECK(world.Gang("waits").state == GangState::kPreempting);
}

TEST_CASE("a plan is given back by order as long as nobody is bound", "[engine][orders]") {
  FullWorld world;
  world.Submit("urgent", 1, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  const auto cancel = [&](const std::string& gang) {
    auto effect = world.engine().Carry({"ann", CancelPlan{{"default", gang}}}, world.now());
    world.Settle();
    return effect;
  };
  REQUIRE(cancel("urgent").ok());
  CHECK(world.Gang("urgent").state == GangState::kBackoff);
  CHECK(world.Gang("urgent").reason.code == ReasonCode::kCancelled);
  CHECK_FALSE(cancel("urgent").ok());
  const auto bound = cancel("old");
  REQUIRE_FALSE(bound.ok());
  CHECK_THAT(bound.error().message,
             Catch::StartsWith("4 of the pods of gang default/old are bound"));
  world.Pass(engine::kCancelPause + Seconds(1));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
}

TEST_CASE("queues of a policy without queues take no orders", "[engine][orders]") {
  FullWorld world;
  const auto hold =
      world.engine().Carry({"ann", SetQueueState{"research", QueueState::kHold}}, world.now());
  REQUIRE_FALSE(hold.ok());
  CHECK(hold.error().code == Code::kNotFound);
}

TEST_CASE("an order of a queue that left the policy can be taken back", "[engine][orders]") {
  OrderedWorld world;
  REQUIRE(world.Do(SetQueueState{"edu", QueueState::kHold}).ok());
  engine::Options options = OrderedWorld::Ready();
  options.queues.pop_back();
  world.engine().SetOptions(options);
  world.Settle();
  CHECK_FALSE(world.Do(SetQueueState{"edu", QueueState::kDrain}).ok());
  CHECK(world.engine().Orders().queues.size() == 1);
  CHECK(world.Do(SetQueueState{"edu", QueueState::kOpen}).ok());
  CHECK(world.engine().Orders().queues.empty());
}

}  // namespace
}  // namespace muster::testing
