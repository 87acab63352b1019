// backfill.maxPerUser: how many gangs of one namespace go ahead of a gang that has booked.
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

// One node of eight, on which four run for another hour; a gang that needs all eight has booked.
struct BackfillLimitBlocked : BookingWorld {
  explicit BackfillLimitBlocked(int64_t most)
      : BookingWorld(WithQueues({QueueSpec{.name = "root", .bookings = {.max_per_user = most}}})) {
    Add(MakeNode("n0").Gpus(8).Build());
    Ask("runs", 4, 3'600);
    Run(Seconds(1));
    Ask("big", 8, 3'600);
    Run(Seconds(300));
    REQUIRE(Gang("big").expected);
  }
};

TEST_CASE("no more gangs of a namespace go ahead of a booking than its queue allows",
          "[engine][R10][maxPerUser]") {
  BackfillLimitBlocked world(2);
  for (const char* name : {"a", "b", "c"}) world.Ask(name, 1, 600);
  world.Run(Seconds(1));
  CHECK(world.Runs("a"));
  CHECK(world.Runs("b"));
  CHECK_FALSE(world.Runs("c"));
  CHECK(world.Gang("c").reason.code == ReasonCode::kBackfillLimit);
  CHECK(world.Why("c") ==
        "as many gangs of its namespace as its queue allows went ahead of a gang that waits: gang "
        "default/big, which is to start by 2027-01-15T09:00:00Z (declared); backfill.maxPerUser of "
        "queue root is 2");
  SECTION("one of another namespace goes ahead as well") {
    world.AskLike(MakePod("d").Namespace("other").Gpus(1), 600);
    world.Run(Seconds(1));
    CHECK(world.Runs("d"));
  }
  SECTION("when one has ended the next one goes") {
    world.Run(Seconds(600));
    CHECK(world.Runs("c"));
  }
  SECTION("a restart forgets who went ahead") {
    world.Restart();
    world.Run(Seconds(1));
    CHECK(world.engine().Audit(world.now()).empty());
  }
}

TEST_CASE("a gang goes ahead of one of another namespace of its queue, whatever is guaranteed",
          "[engine][R10][maxPerUser]") {
  QueueSpec a{.name = "a", .fair_by = queues::FairBy::kNamespace, .bookings = {.max_per_user = 1}};
  a.guarantee.Set({queues::Resource::Kind::kGpu}, queues::Amount(6'000));
  BookingWorld world(WithQueues({a}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 4, 3'600, "a");
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600, "a");
  world.Run(Seconds(300));
  REQUIRE(world.Gang("big").expected);
  for (const char* name : {"s0", "s1"})
    world.AskLike(MakePod(name).Namespace("blue").Gpus(1), 600, "a");
  world.Run(Seconds(1));
  CHECK(world.Runs("s0"));
  CHECK_FALSE(world.Runs("s1"));
}

TEST_CASE("without maxPerUser any number goes ahead of a booking", "[engine][R10][maxPerUser]") {
  BackfillLimitBlocked world(0);
  for (const char* name : {"a", "b", "c", "d"}) world.Ask(name, 1, 600);
  world.Run(Seconds(1));
  for (const char* name : {"a", "b", "c", "d"}) CHECK(world.Runs(name));
}

TEST_CASE(
    "when the gang that has booked starts, those that wait behind others of their namespace go",
    "[engine][R10][maxPerUser]") {
  BackfillLimitBlocked world(1);
  for (const char* name : {"a", "b"}) world.Ask(name, 2, 600);
  world.Run(Seconds(1));
  CHECK_FALSE(world.Runs("b"));
  world.RemovePod("big");
  world.Run(Seconds(1));
  CHECK(world.Runs("b"));
}

TEST_CASE("a gang that goes first in its queue goes ahead of nobody", "[engine][R10][maxPerUser]") {
  BackfillLimitBlocked world(1);
  world.Ask("a", 1, 600);
  world.Run(Seconds(1));
  REQUIRE(world.Runs("a"));
  world.AskLike(MakePod("first").Gpus(2).Priority(100), 600);
  world.Run(Seconds(1));
  CHECK(world.Runs("first"));
}

}  // namespace
}  // namespace muster::engine
