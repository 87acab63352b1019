// What outlives the pods of a gang: since when its owner has waited.
#include "engine/owner_ages.hpp"

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
  OwnerAges ages;
  CHECK(ages.Since("a", Time(5)) == Time(5));
  CHECK(ages.Since("a", Time(9)) == Time(5));
  CHECK(ages.Since("a", Time(3)) == Time(3));
  CHECK(ages.Since("", Time(7)) == Time(7));
  CHECK(ages.size() == 1);
  for (size_t i = 0; i < OwnerAges::kMost; ++i) {
    CHECK(ages.Since("o" + std::to_string(i), Time(100)) == Time(100));
    CHECK(ages.Since("b", Time(i == 0 ? 1 : 200)) == Time(1));
  }
  CHECK(ages.size() == OwnerAges::kMost);
  CHECK(ages.Since("a", Time(9)) == Time(9));
}

}  // namespace
}  // namespace muster::engine
