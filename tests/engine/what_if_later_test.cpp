// What-if: when gangs that do not start now are expected to.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/trial/what_if.hpp"
#include "tests/engine/booking_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using queues::Trust;

engine::Options Root(queues::BookingRules rules = {}) {
  return WithQueues({{.name = "root", .bookings = rules}});
}

// It is made now.
engine::Fact Wants(const Harness& world, const std::string& name, int gpus, int64_t seconds,
                   int32_t priority = 0) {
  cluster::Pod pod = MakePod(name)
                         .Gpus(gpus)
                         .Priority(priority)
                         .CreatedAt(world.now().milliseconds())
                         .Gated()
                         .Build();
  if (seconds > 0) {
    pod.run_times = std::make_shared<const cluster::RunTimes>(
        cluster::RunTimes{.declared = cluster::Seconds(seconds)});
  }
  return pod;
}

engine::WhatIfAnswer AskLater(Harness& world, std::vector<engine::Fact> workload,
                              cluster::Duration outlook = Seconds(86'400)) {
  engine::WhatIf what;
  what.known = world.engine().DecidedFacts();
  what.workload = std::move(workload);
  what.options = world.engine().options();
  what.now = world.now();
  what.outlook = outlook;
  return engine::TryOut(what);
}

// Of the only gang that waits.
std::optional<engine::WhatIfLater> LaterOf(const engine::WhatIfAnswer& answer) {
  REQUIRE(answer.waits.size() == 1);
  return answer.waits[0].later;
}

// One node of eight, on which six run for an hour.
struct SixRun : BookingWorld {
  explicit SixRun(const engine::Options& options) : BookingWorld(options) {
    Add(MakeNode("n0").Gpus(8).Build());
    Ask("runs", 6, 3'600);
    Run(Seconds(100));
  }
};

TEST_CASE("what-if: a gang that waits is expected when the one that holds its room ends",
          "[engine][whatif]") {
  const bool queues = GENERATE(true, false);
  SixRun world(queues ? Root() : engine::Options{});
  const engine::WhatIfAnswer answer = AskLater(world, {Wants(world, "big", 8, 600)});
  CHECK(answer.starts.empty());
  CHECK(answer.looked_at_all);
  const auto later = LaterOf(answer);
  REQUIRE(later);
  CHECK(later->after == Seconds(3'500));
  CHECK(later->by == Trust::kDeclared);
  CHECK(later->last.key.name == "runs");
  CHECK(later->evictions.empty());
  // And so it comes.
  world.Ask("big", 8, 600);
  world.Run(Seconds(3'499));
  CHECK_FALSE(world.Started("big"));
  world.Run(Seconds(1));
  CHECK(world.Started("big"));
}

TEST_CASE("what-if: a gang behind others is expected after their ends, too", "[engine][whatif]") {
  SixRun world(Root());
  world.Ask("big", 8, 600);
  world.Run(Seconds(400));
  REQUIRE(world.Gang("big").expected);
  const auto later = LaterOf([&] {
    engine::WhatIfAnswer answer = AskLater(world, {Wants(world, "next", 4, 5'000)});
    REQUIRE(answer.waits.size() == 2);
    CHECK_FALSE(answer.waits[0].later);  // nobody asked about `big`
    answer.waits.erase(answer.waits.begin());
    return answer;
  }());
  REQUIRE(later);
  CHECK(later->after == Seconds(3'600 - 500 + 600));
  CHECK(later->last.key.name == "big");
  world.Ask("next", 4, 5'000);
  world.Run(Seconds(3'699));
  CHECK_FALSE(world.Started("next"));
  world.Run(Seconds(1));
  CHECK(world.Started("next"));
}

TEST_CASE("what-if: what ends nobody knows when has no expected start behind it",
          "[engine][whatif]") {
  BookingWorld world(Root());
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 6, 0);
  world.Run(Seconds(1));
  const engine::WhatIfAnswer answer = AskLater(world, {Wants(world, "big", 8, 600)});
  CHECK_FALSE(LaterOf(answer));
  CHECK(answer.looked_at_all);
}

TEST_CASE("what-if: nobody looks further ahead than asked for", "[engine][whatif]") {
  SixRun world(Root());
  CHECK_FALSE(LaterOf(AskLater(world, {Wants(world, "big", 8, 600)}, Seconds(3'499))));
  CHECK(LaterOf(AskLater(world, {Wants(world, "big", 8, 600)}, Seconds(3'500))));
  const engine::WhatIfAnswer answer = AskLater(world, {Wants(world, "big", 8, 600)}, Seconds(0));
  CHECK_FALSE(LaterOf(answer));
  CHECK(answer.looked_ahead == Seconds(0));
}

TEST_CASE("what-if: durations that were learnt count where the queue trusts them",
          "[engine][whatif]") {
  const Trust trust = GENERATE(Trust::kLearnt, Trust::kDeclared);
  BookingWorld world(Root({.trust = trust}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("run-1", 6, 0, "", 1'000);
  world.Run(Seconds(1'100));
  world.Ask("run-2", 6, 0, "", 9'000);
  world.Run(Seconds(100));
  const auto later = LaterOf(AskLater(world, {Wants(world, "big", 8, 600)}));
  REQUIRE(later.has_value() == (trust == Trust::kLearnt));
  if (later) {
    CHECK(later->by == Trust::kLearnt);
    CHECK(later->after == Seconds(900));
  }
}

TEST_CASE("what-if: however many wait, each one's start is known", "[engine][whatif]") {
  constexpr int kWaiting = 200;
  SixRun world(Root());
  for (int i = 0; i < kWaiting; ++i) world.Ask("w" + std::to_string(i), 8, 60);
  world.Settle();
  engine::WhatIf what;
  what.known = world.engine().DecidedFacts();
  what.options = world.engine().options();
  what.now = world.now();
  what.most_rounds = 50;
  const engine::WhatIfAnswer answer = engine::TryOut(what);
  CHECK(answer.looked_at_all);
  REQUIRE(answer.waits.size() == kWaiting);
  for (const engine::WhatIfWait& wait : answer.waits) CHECK(wait.later);
}

TEST_CASE("what-if: who is evicted later for a gang is said with it", "[engine][whatif]") {
  queues::QueueSpec root{.name = "root"};
  root.preemption.within_queue = queues::WithinQueue::kLowerPriority;
  root.preemption.min_runtime_preempt = 2 * 3'600'000;
  BookingWorld world(WithQueues({root}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 6, 0);
  world.Run(Seconds(1'200));
  const auto later = LaterOf(AskLater(world, {Wants(world, "urgent", 8, 600, 10)}));
  REQUIRE(later);
  CHECK(later->after == Seconds(6'000));
  CHECK(later->by == Trust::kNone);
  REQUIRE(later->evictions.size() == 1);
  CHECK(later->evictions[0].gang.key.name == "runs");
  CHECK(later->evictions[0].after == Seconds(6'000));
  CHECK(later->evictions[0].right == "of higher priority");
}

}  // namespace
}  // namespace muster::testing
