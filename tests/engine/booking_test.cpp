// Bookings (R10): the first gang that finds no room gets devices and a time, and others go ahead of
// it only where they do not delay it.
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

QueueSpec Root(BookingRules rules = {}) { return {.name = "root", .bookings = rules}; }

// One node of eight, on which six run for another hour; a gang that needs all eight has waited for
// its minAge.
struct Blocked : BookingWorld {
  explicit Blocked(const BookingRules& rules = {}) : BookingWorld(WithQueues({Root(rules)})) {
    Add(MakeNode("n0").Gpus(8).Build());
    Ask("runs", 6, 3'600);
    Run(Seconds(1));
    Ask("big", 8, 3'600);
    Run(Seconds(299));
  }
};

TEST_CASE("a short gang goes ahead of one that waits, a long one does not", "[engine][R10]") {
  Blocked world;
  world.Run(Seconds(1));
  CHECK(world.Gang("big").reason.code == ReasonCode::kNotEnoughGpus);
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->at == world.StartedAt("runs") + Seconds(3'600));
  CHECK(world.Gang("big").expected->by == queues::Trust::kDeclared);
  world.Ask("short", 2, 3'000);
  world.Ask("long", 1, 3'400);
  world.Ask("unknown", 1, 0);
  world.Run(Seconds(1));
  CHECK(world.Runs("short"));
  CHECK_FALSE(world.Runs("long"));
  CHECK_FALSE(world.Runs("unknown"));
  world.Run(Seconds(3'000));
  CHECK(world.Gang("long").reason.code == ReasonCode::kReserved);
  CHECK(world.Why("long") ==
        "there is room, but it is kept for others: gang default/big, which is to start by "
        "2027-01-15T09:00:00Z (declared)");
  world.Run(Seconds(600));
  CHECK(world.StartedAt("big") == world.StartedAt("runs") + Seconds(3'600));
  CHECK_FALSE(world.Runs("long"));
}

TEST_CASE("before minAge nothing is booked, and then at once", "[engine][R10]") {
  Blocked world;
  world.Ask("early", 1, 0);
  world.Run(Seconds(1));
  CHECK(world.Runs("early"));
  CHECK_FALSE(world.Gang("big").expected);  // nobody knows when it ends
  Blocked other;
  CHECK_FALSE(other.Gang("big").expected);
  CHECK(other.engine().NextWake() == other.now() + Seconds(1));
  other.Run(Seconds(1));
  CHECK(other.Gang("big").expected);
}

TEST_CASE("an old gang of a queue books though younger ones wait beside it", "[engine][R10]") {
  Blocked world;
  world.Ask("young", 8, 3'600);
  world.Run(Seconds(1));
  CHECK(world.Gang("big").expected);
  world.RemovePod("big");
  world.Run(Seconds(298));
  CHECK_FALSE(world.Gang("young").expected);
  world.Run(Seconds(3));
  CHECK(world.Gang("young").expected);
}

TEST_CASE("a pod by itself began when it was bound, whatever restarts since", "[engine][R10]") {
  Blocked world;
  const cluster::Time began = world.StartedAt("runs");
  world.Restart(Seconds(60));
  world.Run(Seconds(301));
  CHECK(world.Gang("runs").started_at == began);
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->at == began + Seconds(3'600));
}

TEST_CASE("with depth 0 nothing is booked", "[engine][R10]") {
  Blocked world({.depth = 0});
  world.Run(Seconds(10));
  world.Ask("long", 2, 0);
  world.Run(Seconds(10));
  CHECK(world.Runs("long"));
}

TEST_CASE("without queues nothing is booked", "[engine][R10]") {
  BookingWorld world{Options{}};
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 6, 3'600);
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Run(Seconds(600));
  world.Ask("long", 2, 0);
  world.Run(Seconds(1));
  CHECK(world.Runs("long"));
}

TEST_CASE("only durations that the queue trusts count", "[engine][R10]") {
  Blocked world({.trust = queues::Trust::kEnforced});
  world.Run(Seconds(10));
  CHECK_FALSE(world.Gang("big").expected);
}

TEST_CASE("one gang books of the nodes that it may use, another of other nodes", "[engine][R10]") {
  BookingWorld world(WithQueues({Root()}));
  world.Add(MakeNode("h0").Gpus(8).Label("model", "h").Build());
  world.Add(MakeNode("t0").Gpus(4).Label("model", "t").Build());
  world.AskLike(MakePod("runs-h").Gpus(8).Select("model", "h"), 3'600);
  world.AskLike(MakePod("runs-t").Gpus(2).Select("model", "t"), 7'200);
  world.Run(Seconds(1));
  world.AskLike(MakePod("big-h").Gpus(8).Select("model", "h"), 3'600);
  world.AskLike(MakePod("next-h").Gpus(8).Select("model", "h"), 3'600);
  world.AskLike(MakePod("big-t").Gpus(4).Select("model", "t"), 3'600);
  world.Run(Seconds(301));
  CHECK(world.Gang("big-h").expected);
  CHECK_FALSE(world.Gang("next-h").expected);
  CHECK(world.Gang("big-t").expected);
  // A booking of nodes that it may not use is nothing to it.
  world.AskLike(MakePod("long").Gpus(2).Select("model", "t"), 0);
  world.Run(Seconds(1));
  CHECK(world.Gang("long").reason.code == ReasonCode::kReserved);
  CHECK(world.Gang("long").reason.detail.starts_with("gang default/big-t"));
}

TEST_CASE("a time that was granted moves earlier, never later", "[engine][R10]") {
  BookingWorld world(WithQueues({Root()}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Add(MakeNode("n1").Gpus(8).Build());
  world.Ask("a", 8, 3'600);
  world.Ask("b", 8, 7'200, "", 1'200);
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Run(Seconds(301));
  CHECK(world.Gang("big").expected->at == world.StartedAt("a") + Seconds(3'600));
  world.Run(Seconds(1'000));
  CHECK(world.StartedAt("big") == world.StartedAt("b") + Seconds(1'200));
}

TEST_CASE("an estimate that is exceeded doubles", "[engine][R10]") {
  BookingWorld world(WithQueues({Root()}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("late", 8, 3'600, "", 9'000);
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Run(Seconds(3'610));
  // A minute to go.
  CHECK(world.Gang("big").expected->at == world.StartedAt("late") + Seconds(3'600));
  world.Run(Seconds(60));
  CHECK(world.Gang("big").expected->at == world.StartedAt("late") + Seconds(7'200));
  world.Run(Seconds(6'000));
  CHECK(world.StartedAt("big") == world.StartedAt("late") + Seconds(9'000));
}

TEST_CASE("a booking outside its queue's guarantee does not delay a gang within its own",
          "[engine][R10]") {
  const queues::Resource gpu{queues::Resource::Kind::kGpu};
  QueueSpec owner{.name = "owner", .guarantee = {{gpu, queues::Amount(4'000)}}};
  BookingWorld world(WithQueues({owner, {.name = "guest"}}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 4, 3'600, "guest");
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600, "guest");
  world.Run(Seconds(301));
  REQUIRE(world.Gang("big").expected);
  world.Ask("other", 2, 0, "guest");
  world.Ask("within", 3, 0, "owner");
  world.Ask("beyond", 5, 0, "owner");
  world.Run(Seconds(1));
  CHECK(world.Runs("within"));
  CHECK_FALSE(world.Runs("other"));
  CHECK_FALSE(world.Runs("beyond"));
}

TEST_CASE("an impossible gang books nothing and blocks nobody", "[engine][R12]") {
  BookingWorld world(WithQueues({Root()}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 6, 3'600);
  world.Run(Seconds(1));
  world.Ask("never", 9, 3'600);
  world.Ask("big", 8, 3'600);
  world.Run(Seconds(301));
  CHECK(world.Gang("never").state == GangState::kUnsatisfiable);
  CHECK_FALSE(world.Gang("never").expected);
  CHECK(world.Gang("big").expected);
}

TEST_CASE("when a booking ends that kept nothing free, the next gang books at its minAge",
          "[engine][R10]") {
  BookingWorld world(WithQueues({Root()}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 8, 3'600);
  world.Run(Seconds(1));
  world.Ask("first", 8, 3'600);
  world.Run(Seconds(200));
  world.Ask("next", 8, 3'600);
  world.Run(Seconds(150));
  REQUIRE(world.Gang("first").expected);
  CHECK_FALSE(world.Gang("next").expected);
  SECTION("it is young then") { world.RemovePod("first"); }
  SECTION("it has waited for so long then") {
    world.Run(Seconds(200));
    CHECK_FALSE(world.Gang("next").expected);
    world.RemovePod("first");
  }
  world.Run(Seconds(200));
  CHECK(world.Gang("next").expected);
}

TEST_CASE("a booking ends with its gang, and others start", "[engine][R10]") {
  Blocked world;
  world.Run(Seconds(1));
  world.Ask("long", 2, 0);
  world.Run(Seconds(1));
  REQUIRE_FALSE(world.Runs("long"));
  world.RemovePod("big");
  world.Run(Seconds(1));
  CHECK(world.Runs("long"));
}

}  // namespace
}  // namespace muster::engine
