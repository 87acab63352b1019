// Bookings come before the starts that they forbid: within a pass, and after a restart.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/booking_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::BookingRules;
using queues::QueueSpec;
using testing::BookingWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::WithQueues;

TEST_CASE("a gang that finds no room books before those after it have their turn",
          "[engine][R10]") {
  BookingWorld world(WithQueues({{.name = "root", .bookings = {.min_age = Seconds(0)}}}));
  world.Add(MakeNode("n0").Gpus(8));
  world.Ask("runs", 6, 3'600);
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Ask("unknown", 2, 0);
  world.Ask("short", 1, 60);
  world.Run(Seconds(1));
  CHECK(world.Gang("big").expected);
  CHECK_FALSE(world.Runs("unknown"));
  CHECK(world.Gang("unknown").reason.code == ReasonCode::kReserved);
  CHECK(world.Runs("short"));
}

TEST_CASE("after a restart nobody starts whom a booking held back", "[engine][R10]") {
  // By R2 the gang that is held back comes before the one that has booked where it waits in x.
  const std::string queue = GENERATE("x", "y");
  QueueSpec x{.name = "x"};
  x.weight = 7;
  BookingWorld world(WithQueues({{.name = "root"}, x, {.name = "y"}}));
  world.Add(MakeNode("n0").Gpus(8));
  world.Ask("runs", 6, 3'600, "y");
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600, "y");
  world.Run(Seconds(301));
  REQUIRE(world.Gang("big").expected);
  world.Ask("unknown", 2, 0, queue);
  world.Run(Seconds(1));
  REQUIRE(world.Gang("unknown").reason.code == ReasonCode::kReserved);
  world.Restart(Seconds(20));
  world.Run(Seconds(1));
  CHECK_FALSE(world.Runs("unknown"));
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->at == world.StartedAt("runs") + Seconds(3'600));
  world.Run(Seconds(3'600));
  CHECK(world.StartedAt("big") <= world.StartedAt("runs") + Seconds(3'600));
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("after a restart nobody starts where nodes were closed", "[engine][R15]") {
  const BookingRules rules{.min_age = Seconds(300), .reserve_after = Seconds(1'000)};
  BookingWorld world(WithQueues({{.name = "root", .bookings = rules}}));
  world.Add(MakeNode("n0").Gpus(8));
  world.Ask("runs", 6, 0, "", 3'000);
  world.Run(Seconds(1));
  world.Ask("big", 8, 0, "", 100);
  world.Run(Seconds(1'001));
  REQUIRE(world.Gang("big").expected);
  world.Ask("unknown", 2, 0);
  world.Run(Seconds(1));
  REQUIRE_FALSE(world.Runs("unknown"));
  world.Restart(Seconds(20));
  world.Run(Seconds(1));
  CHECK_FALSE(world.Runs("unknown"));
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->at == cluster::Time::Never());
  world.Run(Seconds(2'000));
  CHECK(world.Started("big"));
}

TEST_CASE("a gang's age is that of its pods, whatever restarts", "[engine][R10]") {
  BookingWorld world(WithQueues({{.name = "root"}}));
  world.Add(MakeNode("n0").Gpus(8));
  world.Ask("runs", 6, 3'600);
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Run(Seconds(200));
  const auto queued = world.Gang("big").queued_at;
  world.Restart();
  world.Run(Seconds(1));
  REQUIRE(queued);
  CHECK(world.Gang("big").queued_at.value_or(world.now()) < *queued + Seconds(1));
  CHECK_FALSE(world.Gang("big").expected);
  world.Run(Seconds(100));
  CHECK(world.Gang("big").expected);
}

}  // namespace
}  // namespace muster::engine
