// Bookings (R10) of gangs of several pods: on several nodes, several at a time, in one rack, over a
// restart, and given back by order.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/booking_world.hpp"
#include "tests/engine/fabric_options.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using queues::BookingRules;
using testing::BookingWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::WithFabric;
using testing::WithQueues;

Options Booking(int64_t depth = 1) {
  return WithQueues(
      {{.name = "root", .bookings = BookingRules{.depth = depth, .min_age = Seconds(0)}}});
}

// Nodes of eight GPUs, each of which a pod has for so long: n0 the first one, …
struct Busy : BookingWorld {
  explicit Busy(const Options& options, const std::vector<int64_t>& seconds)
      : BookingWorld(options) {
    for (size_t i = 0; i < seconds.size(); ++i) {
      const std::string number = std::to_string(i);
      Add(MakeNode("n" + number)
              .Gpus(8)
              .Label("block", "b")
              .Label("rack", i < 2 ? "r1" : "r2")
              .Build());
      AskLike(MakePod("runs" + number).Gpus(8), seconds[i]);
      Run(Seconds(0));
    }
    begun = now();
  }
  // `pods` of eight GPUs, together.
  void AskGang(const std::string& name, int pods, int64_t seconds, const std::string& rack = "") {
    Add(MakePodGroup(name).MinMember(pods).CreatedAt(now().milliseconds()).Within(rack).Build());
    for (int i = 0; i < pods; ++i)
      AskLike(MakePod(name + "-" + std::to_string(i)).Gpus(8).InGroup(name), seconds);
    Run(Seconds(1));
  }
  Time BookedAt(const std::string& name) const {
    const auto expected = Gang(name).expected;
    return expected ? expected->at : Time::Never();
  }
  Time begun;
};

TEST_CASE("a gang of several pods books all of its nodes, for when the last is free",
          "[engine][R10]") {
  Busy world(Booking(), {100, 300});
  world.AskGang("big", 2, 1'000);
  CHECK(world.BookedAt("big") == world.begun + Seconds(300));
  world.Run(Seconds(109));
  world.Ask("long", 8, 300);
  world.Ask("short", 8, 150);
  world.Run(Seconds(1));
  CHECK(world.Runs("short"));  // on n0, which is free, until it is wanted
  CHECK_FALSE(world.Started("long"));
  world.Run(Seconds(250));
  CHECK(world.StartedAt("big-0") == world.begun + Seconds(300));
  CHECK(world.StartedAt("big-1") == world.begun + Seconds(300));
}

TEST_CASE("with depth 2 the next gang books beside the first one", "[engine][R10]") {
  for (const int64_t depth : {1, 2}) {
    CAPTURE(depth);
    Busy world(Booking(depth), {100, 300, 400});
    world.AskGang("first", 2, 1'000);
    world.AskGang("second", 1, 1'000);
    CHECK(world.BookedAt("first") == world.begun + Seconds(300));
    CHECK(world.BookedAt("second") == (depth == 1 ? Time::Never() : world.begun + Seconds(400)));
    world.Run(Seconds(500));
    CHECK(world.StartedAt("first-0") == world.begun + Seconds(300));
    CHECK(world.StartedAt("second-0") == world.begun + Seconds(400));
  }
}

TEST_CASE("a gang whose time has come starts in its own room, not in what a later one keeps",
          "[engine][R10]") {
  const std::string own = GENERATE("n0", "n2");
  const std::string other = own == "n0" ? "n2" : "n0";
  CAPTURE(own);
  BookingWorld world(Booking(2));
  for (const char* node : {"n0", "n1", "n2"}) world.Add(MakeNode(node).Gpus(8).Label("n", node));
  const Time begun = world.now();
  world.AskLike(MakePod("stays").Gpus(4).Select("n", own), 9'000);
  world.AskLike(MakePod("there").Gpus(4).Select("n", own), 1'000);
  world.AskLike(MakePod("early").Gpus(8).Select("n", other), 3'000, "", 500);
  world.AskLike(MakePod("late").Gpus(8).Select("n", "n1"), 2'000);
  world.Run(Seconds(1));
  world.Ask("first", 4, 9'000);
  world.Run(Seconds(1));
  world.Add(MakePodGroup("big").MinMember(2).CreatedAt(world.now().milliseconds()).Build());
  for (const char* pod : {"big-0", "big-1"})
    world.AskLike(MakePod(pod).Gpus(8).InGroup("big"), 1'000);
  world.Run(Seconds(600));
  CHECK(world.Gang("first").expected->at <= begun + Seconds(1'001));
  CHECK(world.Gang("big").expected->at <= begun + Seconds(2'001));
  world.Run(Seconds(1'500));
  REQUIRE(world.Started("first"));
  CHECK(world.Pod("first").node_name == own);
  CHECK(world.StartedAt("first") <= begun + Seconds(1'001));
  REQUIRE(world.Started("big-0"));
  CHECK(world.StartedAt("big-0") <= begun + Seconds(2'001));
}

TEST_CASE("a gang that requires a rack books one, though others are free earlier",
          "[engine][R10]") {
  Busy world(WithFabric(Booking()), {100, 500, 200, 300});
  world.AskGang("anywhere", 2, 1'000);
  CHECK(world.BookedAt("anywhere") == world.begun + Seconds(200));
  world.RemovePod("anywhere-0");
  world.RemovePod("anywhere-1");
  world.RemoveGroup("anywhere");
  world.AskGang("together", 2, 1'000, "rack");
  CHECK(world.BookedAt("together") == world.begun + Seconds(300));
  world.Run(Seconds(400));
  CHECK(world.StartedAt("together-0") == world.begun + Seconds(300));
}

TEST_CASE("after a restart a gang books the same time again", "[engine][R10]") {
  Busy world(Booking(), {100, 300});
  world.AskGang("big", 2, 1'000);
  world.Run(Seconds(50));
  world.Restart();
  world.Run(Seconds(1));
  CHECK(world.BookedAt("big") == world.begun + Seconds(300));
  world.Run(Seconds(400));
  CHECK(world.StartedAt("big-0") == world.begun + Seconds(300));
}

TEST_CASE("an operator gives booked room back, and others have it for a minute", "[engine][R10]") {
  Busy world(Booking(), {100, 300});
  const Order order{"ann", CancelPlan{{"default", "big"}}};
  world.AskGang("big", 2, 1'000);
  world.Run(Seconds(110));
  world.Ask("long", 8, 400);
  world.Run(Seconds(1));
  REQUIRE_FALSE(world.Started("long"));
  const auto effect = world.engine().Carry(order, world.now());
  REQUIRE(effect.ok());
  CHECK(effect->was == "Queued, room for 2 members booked");
  world.Run(Seconds(1));
  CHECK(world.Gang("big").reason.code == ReasonCode::kCancelled);
  CHECK(world.Runs("long"));
  CHECK_FALSE(world.engine().Carry(order, world.now()).ok());
  world.Run(Seconds(120));
  CHECK(world.BookedAt("big") == world.StartedAt("long") + Seconds(400));
}

}  // namespace
}  // namespace muster::engine
