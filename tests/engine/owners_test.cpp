// What owners of pods remember: since when they have waited, and what gangs left to them.
#include "engine/standing/owners.hpp"

#include <catch2/catch.hpp>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using testing::MakePod;

TEST_CASE("a Job's pod that was evicted comes back before Jobs that came later",
          "[engine][queues][owners]") {
  testing::QueueWorld world({testing::Queue("q", 0)});
  const auto submit = [&](const std::string& name, const std::string& owner, int32_t priority) {
    cluster::Pod pod = MakePod(name)
                           .Gpus(8)
                           .Priority(priority)
                           .Owner(owner)
                           .CreatedAt(world.now().milliseconds())
                           .Gated()
                           .Build();
    world.Add(pod);
    world.Settle();
  };
  submit("first-1", "job-first", 0);
  world.Bind("first-1");
  world.Pass(Seconds(10));
  REQUIRE(world.Gang("first-1").state == GangState::kRunning);
  submit("second-1", "job-second", 0);
  world.Pass(Seconds(10));
  submit("urgent", "job-urgent", 100);
  REQUIRE(world.Evicted() == "first-1");
  world.Leave("first-1");
  world.Bind("urgent");
  world.Settle();
  submit("first-2", "job-first", 0);
  world.Pass(Seconds(10));
  world.Leave("urgent");
  CHECK(world.Gang("first-2").state == GangState::kReserved);
  CHECK(world.Gang("second-1").state == GangState::kQueued);
}

TEST_CASE("an owner is as old as the oldest that it had, and the last ones are remembered",
          "[engine][owners]") {
  Owners owners;
  CHECK(owners.Since("a", Time(5)) == Time(5));
  CHECK(owners.Since("a", Time(9)) == Time(5));
  CHECK(owners.Since("a", Time(3)) == Time(3));
  CHECK(owners.Since("", Time(7)) == Time(7));
  CHECK(owners.known() == 1);
  for (size_t i = 0; i < Owners::kMost; ++i) {
    CHECK(owners.Since("o" + std::to_string(i), Time(100)) == Time(100));
    CHECK(owners.Since("b", Time(i == 0 ? 1 : 200)) == Time(1));
  }
  CHECK(owners.known() == Owners::kMost);
  CHECK(owners.Since("a", Time(9)) == Time(9));
}

LeftBehind Of(const std::string& gang, int64_t plans) {
  LeftBehind left;
  left.gang = {{"default", gang}, true};
  left.plans = plans;
  return left;
}

// 0: nothing.
int64_t Taken(Owners& owners, const std::string& owner, const std::string& gang, Time now) {
  const auto left = owners.Take(owner, {{"default", gang}, true}, now);
  CHECK(owners.Audit().empty());
  return left ? left->plans : 0;
}

TEST_CASE("what a gang left is taken once, first by the one of its name", "[engine][owners]") {
  Owners owners;
  owners.Leave("job", Of("web-0", 1), Time(0));
  owners.Leave("job", Of("web-1", 2), Time(0));
  owners.Leave("another", Of("web-3", 3), Time(0));
  CHECK(Taken(owners, "job", "web-1", Time(0)) == 2);
  CHECK(Taken(owners, "job", "web-7", Time(0)) == 1);
  CHECK(Taken(owners, "job", "web-0", Time(0)) == 0);
  CHECK(owners.left() == 1);
  CHECK(owners.Forget("another") == std::vector<cluster::GangId>{{{"default", "web-3"}, true}});
  CHECK(owners.Forget("another").empty());
  CHECK(owners.left() == 0);
}

TEST_CASE("of all attempts of an owner only the last one leaves something", "[engine][owners]") {
  Owners owners;
  owners.Leave("job", Of("a", 1), Time(0));
  owners.Leave("job", Of("a", 2), Time(0));
  CHECK(Taken(owners, "job", "a", Time(0)) == 2);
  CHECK(Taken(owners, "job", "a", Time(0)) == 0);
}

TEST_CASE("what gangs left is kept for an hour, and of all the last ones", "[engine][owners]") {
  Owners owners;
  const Time end = owners.Leave("job", Of("a", 1), Time(0));
  CHECK(end == Time(0) + Owners::kKeptFor);
  SECTION("an hour") {
    CHECK(Taken(owners, "job", "a", end) == 0);
    owners.Leave("another", Of("b", 1), end);
    CHECK(owners.left() == 1);
  }
  SECTION("the last ones") {
    for (size_t i = 0; i < Owners::kMost; ++i)
      owners.Leave("o" + std::to_string(i % 100), Of(std::to_string(i), 1), Time(1));
    CHECK(owners.left() == Owners::kMost);
    CHECK(Taken(owners, "job", "a", Time(1)) == 0);
    CHECK(Taken(owners, "o7", "7", Time(1)) == 1);
  }
}

}  // namespace
}  // namespace muster::engine
