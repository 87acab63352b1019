// Room that is closed where nobody knows when others leave (R15), that is lent to gangs that may be
// evicted (R16); strict-fifo by class (R11); durations that are learnt.
#include <catch2/catch.hpp>
#include <string>

#include "engine/gangs/run_history.hpp"
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

QueueSpec BookingClosedRoot(BookingRules rules = {}) { return {.name = "root", .bookings = rules}; }

TEST_CASE("a big gang under a stream of small ones of unknown length starts in time",
          "[engine][R15]") {
  BookingWorld world(WithQueues({BookingClosedRoot({.reserve_after = Seconds(1'000)})}));
  world.Add(MakeNode("n0").Gpus(4).Build());
  world.Add(MakeNode("n1").Gpus(4).Build());
  int made = 0;
  const auto small = [&] {
    world.AskLike(MakePod("s" + std::to_string(made)).Gpus(1), 0, "", 300 + made % 5 * 10);
    ++made;
  };
  for (int i = 0; i < 8; ++i) small();
  world.Run(Seconds(10));
  world.Ask("big", 4, 0, "", 100);
  const cluster::Time asked = world.now();
  for (int i = 0; i < 60 && !world.Runs("big"); ++i) {
    while (made < 8 + 4 * (i + 1)) small();
    world.Run(Seconds(30));
  }
  REQUIRE(world.Runs("big"));
  // reserveAfter and the longest run there.
  CHECK(world.StartedAt("big") - asked <= Seconds(1'000 + 340));
  CHECK(world.StartedAt("big") - asked > Seconds(1'000));
  // The other node went on.
  CHECK(world.Gang("s" + std::to_string(made - 1)).reason.code != ReasonCode::kReserved);
}

TEST_CASE("a gang of a queue that always comes last starts in time as well", "[engine][R15]") {
  QueueSpec large{.name = "x"};
  large.weight = 7;
  BookingWorld world(
      WithQueues({BookingClosedRoot({.min_age = Seconds(0), .reserve_after = Seconds(1'000)}),
                  large,
                  {.name = "y"}}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  int made = 0;
  const auto stream = [&] {
    for (; made < 6 || world.Started("s" + std::to_string(made - 4)); ++made)
      world.AskLike(MakePod("s" + std::to_string(made)).Gpus(3), 0, "x", 300);
  };
  stream();
  world.Run(Seconds(10));
  world.Ask("big", 8, 0, "y", 100);
  const cluster::Time asked = world.now();
  for (int i = 0; i < 300 && !world.Started("big"); ++i) {
    stream();
    world.Run(Seconds(10));
  }
  REQUIRE(world.Started("big"));
  CHECK(world.StartedAt("big") - asked > Seconds(1'000));
  // A booking that another gang had by then is served first.
  CHECK(world.StartedAt("big") - asked <= Seconds(1'000 + 2 * 300));
}

TEST_CASE(
    "room that is closed for a gang which never gets it is open to others for half of the time",
    "[engine][R15]") {
  const bool limited = GENERATE(true, false);
  BookingWorld world(
      WithQueues({BookingClosedRoot({.min_age = Seconds(0),
                                     .reserve_after = Seconds(100),
                                     .reserve_for = limited ? Seconds(7'200) : Seconds(0)})}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("forever", 1, 0);
  world.Run(Seconds(10));
  world.Ask("big", 8, 0, "", 100);
  world.Run(Seconds(100));
  const auto why = [&] { return world.Gang("big").expected->why; };
  CHECK(why() == (limited ? "no others come to n0 until those there have ended, or until "
                            "2027-01-15T10:01:50Z: then they may for as long"
                          : "no others come to n0 until those there have ended"));
  world.Ask("small", 1, 0, "", 300);
  world.Run(Seconds(7'190));
  CHECK_FALSE(world.Started("small"));
  CHECK_THAT(why(), Catch::EndsWith("; 13 GPU hours were kept idle for it"));
  world.Run(Seconds(20));
  CHECK(world.Started("small") == limited);
  if (!limited) return;
  CHECK_THAT(why(), Catch::StartsWith("others may come to n0 until 2027-01-15T12:01:50Z, then no "
                                      "more until those there have ended; 14 GPU hours"));
  world.Run(Seconds(7'200));
  world.Ask("late", 1, 0, "", 300);
  world.Run(Seconds(600));
  CHECK_FALSE(world.Started("late"));
  // Its claim to the nodes is the first one.
  world.Succeed("forever");
  world.Run(Seconds(10));
  CHECK(world.Started("big"));
  CHECK_FALSE(world.Started("late"));
}

TEST_CASE("the node with the fewest GPUs in use is closed, then the one that is furthest",
          "[engine][R15]") {
  BookingWorld world(
      WithQueues({BookingClosedRoot({.min_age = Seconds(0), .reserve_after = Seconds(100)})}));
  for (const char* node : {"n0", "n1", "n2"}) world.Add(MakeNode(node).Gpus(4).Label("n", node));
  world.AskLike(MakePod("a").Gpus(3).Select("n", "n0"), 0);
  world.Run(Seconds(1));
  world.AskLike(MakePod("b").Gpus(2).Select("n", "n1"), 0);
  world.Run(Seconds(1));
  world.AskLike(MakePod("c").Gpus(2).Select("n", "n2"), 0);
  world.Run(Seconds(1));
  world.Ask("big", 4, 0);
  world.Run(Seconds(99));
  CHECK_FALSE(world.Gang("big").expected);
  world.Run(Seconds(1));
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->at == cluster::Time::Never());
  CHECK(world.Gang("big").expected->by == queues::Trust::kNone);
  CHECK_THAT(world.Gang("big").expected->why,
             Catch::StartsWith("no others come to n1 until those there have ended"));
  world.Ask("x", 2, 0);
  world.Ask("y", 2, 10);
  world.Run(Seconds(1));
  CHECK(world.Pod("x").node_name == "n2");
  CHECK(world.Gang("y").reason.code == ReasonCode::kReserved);
  CHECK(world.Why("y") ==
        "there is room, but it is kept for others: gang default/big, which starts when those "
        "who run there have ended");
  world.Succeed("b");
  world.Run(Seconds(1));
  CHECK(world.Pod("big").node_name == "n1");
}

// By priority within the queue of the policy, and by the share of its namespace.
TEST_CASE("two gangs that each go before the other take closed room from each other once",
          "[engine][R15]") {
  QueueSpec shared{.name = "a",
                   .fair_by = queues::FairBy::kNamespace,
                   .bookings = {.depth = 2, .min_age = Seconds(0), .reserve_after = Seconds(60)}};
  shared.preemption.reclaim = queues::Reclaim::kFairShare;
  BookingWorld world(WithQueues({shared}));
  for (const char* name : {"0", "1"}) {
    world.Add(MakeNode(std::string("n") + name).Gpus(8).Build());
    cluster::Pod pod = MakePod(std::string("runs-") + name).Gpus(8).Gated().Build();
    pod.asked_queue = "a";
    pod.preemptible = false;
    world.Add(pod);
  }
  world.Run(Seconds(1));
  world.AskLike(MakePod("high").Gpus(8).Priority(5), 0, "a");
  world.AskLike(MakePod("poor").Namespace("blue").Gpus(8), 0, "a");
  world.Run(Seconds(300));
  CHECK(world.Gang("high").state == GangState::kQueued);
  world.RemovePod("runs-0");
  world.RemovePod("runs-1");
  world.Run(Seconds(60));
  CHECK(world.Runs("high"));
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a closed node that goes is given up for another one", "[engine][R15]") {
  BookingWorld world(
      WithQueues({BookingClosedRoot({.min_age = Seconds(0), .reserve_after = Seconds(100)})}));
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(4).Label("n", node));
  world.AskLike(MakePod("a").Gpus(2).Select("n", "n0"), 0);
  world.AskLike(MakePod("b").Gpus(3).Select("n", "n1"), 0);
  world.Run(Seconds(1));
  world.Ask("big", 4, 0);
  world.Run(Seconds(101));
  CHECK(world.Gang("big").expected->why.starts_with("no others come to n0"));
  world.Add(MakeNode("n0").Gpus(4).Label("n", "n0").Cordoned());
  world.Run(Seconds(30));
  world.Ask("nudge", 1, 0);
  world.Run(Seconds(1));
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->why.starts_with("no others come to n1"));
}

TEST_CASE("a closed node that is free and not the gang's any more is given up for another one",
          "[engine][R15]") {
  BookingWorld world(
      WithQueues({BookingClosedRoot({.min_age = Seconds(0), .reserve_after = Seconds(100)})}));
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(4).Label("zone", "a"));
  for (const char* pod : {"x", "y"}) world.AskLike(MakePod(pod).Gpus(3), 0);
  world.Run(Seconds(1));
  world.AskLike(MakePod("big").Gpus(4).Select("zone", "a"), 0);
  world.Run(Seconds(101));
  REQUIRE(world.Gang("big").expected);
  const bool first = world.Gang("big").expected->why.find("n0") != std::string::npos;
  const std::string closed = first ? "n0" : "n1";
  const std::string other = first ? "n1" : "n0";
  world.Add(MakeNode(closed).Gpus(4).Label("zone", "b"));
  world.Succeed(world.Pod("x").node_name == closed ? "x" : "y");
  world.Run(Seconds(30));
  REQUIRE(world.Gang("big").expected);
  CHECK_THAT(world.Gang("big").expected->why,
             Catch::StartsWith("no others come to " + other + " until those there have ended"));
  world.Ask("z", 4, 0);
  world.Run(Seconds(1));
  CHECK(world.Pod("z").node_name == closed);
}

TEST_CASE("an exceeded time after reserveAfter closes the room that was booked", "[engine][R15]") {
  BookingWorld world(WithQueues({BookingClosedRoot({.reserve_after = Seconds(1'000)})}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("late", 6, 1'200, "", 9'000);
  world.Run(Seconds(1));
  world.Ask("big", 8, 0);
  world.Run(Seconds(1'270));
  CHECK(world.Gang("big").expected->at == cluster::Time::Never());
  world.Ask("short", 1, 60);
  world.Run(Seconds(60));
  CHECK_FALSE(world.Runs("short"));
}

TEST_CASE("booked devices are lent to gangs that may be evicted when the time comes",
          "[engine][R16]") {
  const bool checkpoints = GENERATE(true, false);
  const bool allowed = GENERATE(true, false);
  const bool lends = GENERATE(true, false);
  CAPTURE(checkpoints, allowed, lends);
  Options options =
      WithQueues({BookingClosedRoot({.lend_to_evictable = lends, .without_checkpoint = allowed})});
  BookingWorld world(options);
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.AskLike(MakePod("runs").Gpus(6).Priority(9), 3'600);
  world.Run(Seconds(1));
  world.AskLike(MakePod("big").Gpus(8).Priority(9), 3'600);
  world.Run(Seconds(301));
  REQUIRE(world.Gang("big").expected);
  cluster::Pod low = MakePod("low").Gpus(2).Priority(1).Gated().Build();
  low.run_times =
      std::make_shared<const cluster::RunTimes>(cluster::RunTimes{.checkpoints = checkpoints});
  world.Add(low);
  world.Run(Seconds(1));
  const bool lent = lends && (checkpoints || allowed);
  CHECK(world.Runs("low") == lent);
  if (!lent) return;
  CHECK(world.Gang("big").expected->at == world.StartedAt("runs") + Seconds(3'600));
  world.Run(Seconds(3'400));
  CHECK(world.Evictions() == 1);
  CHECK(world.Pod("low").deleting);
  world.RemovePod("low");
  world.Run(Seconds(1));
  CHECK(world.Runs("big"));
}

TEST_CASE("the head of strict-fifo blocks those that may use its nodes, and no others",
          "[engine][R11]") {
  QueueSpec strict{.name = "strict", .order = queues::Order::kStrictFifo};
  BookingWorld world(WithQueues({strict, {.name = "other"}}));
  world.Add(MakeNode("h0").Gpus(8).Label("model", "h").Build());
  world.Add(MakeNode("t0").Gpus(4).Label("model", "t").Build());
  const auto ask = [&](const std::string& name, int gpus, const std::string& model, int64_t seconds,
                       const std::string& queue = "strict") {
    testing::PodBuilder pod = MakePod(name).Gpus(gpus);
    if (!model.empty()) pod.Select("model", model);
    world.AskLike(pod, seconds, queue);
  };
  ask("runs-h", 6, "h", 3'600);
  ask("runs-t", 2, "t", 3'600);
  world.Run(Seconds(1));
  ask("head-h", 8, "h", 3'600);
  ask("in-time", 1, "h", 60);
  ask("small-t", 1, "t", 3'600);
  ask("head-t", 4, "t", 3'600);
  ask("behind-t", 1, "t", 60);
  ask("anywhere", 1, "", 60);
  ask("guest", 1, "h", 60, "other");
  world.Run(Seconds(301));
  CHECK(world.Runs("small-t"));
  CHECK(world.StartedAt("guest") > world.StartedAt("runs-h"));
  for (const auto& [name, head] :
       {std::pair("in-time", "default/head-h"), std::pair("behind-t", "default/head-t"),
        std::pair("anywhere", "default/head-h")}) {
    CHECK(world.Gang(name).reason.code == ReasonCode::kBlockedByOrder);
    CHECK(world.Gang(name).reason.detail == head);
  }
  world.RemovePod("head-h");
  world.Run(Seconds(1));
  CHECK(world.Runs("in-time"));
}

TEST_CASE("names of one template are alike but for what controllers append",
          "[engine][durations]") {
  CHECK(TemplateName("train-28943821") == "train");
  CHECK(TemplateName("train-7-x9k2b") == "train");
  CHECK(TemplateName("train-small") == "train-small");
  CHECK(TemplateName("resnet") == "resnet");
  CHECK(TemplateName("-5") == "-5");
}

TEST_CASE("how long a gang runs is learnt from the last two of its template",
          "[engine][durations]") {
  BookingWorld world(
      WithQueues({BookingClosedRoot({.min_age = Seconds(0), .trust = queues::Trust::kLearnt})}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  for (const int64_t seconds : {9'000, 1'000, 2'000}) {
    world.AskLike(MakePod("nightly-" + std::to_string(seconds)).Gpus(8), 0, "", seconds);
    world.Run(Seconds(seconds + 1));
  }
  world.AskLike(MakePod("nightly-7").Gpus(8), 0, "", 5'000);
  world.Run(Seconds(1));
  world.Ask("big", 8, 0);
  world.Run(Seconds(1));
  REQUIRE(world.Gang("big").expected);
  CHECK(world.Gang("big").expected->at == world.StartedAt("nightly-7") + Seconds(1'500));
  CHECK(world.Gang("big").expected->by == queues::Trust::kLearnt);
}

TEST_CASE("what is kept idle is counted, and how late gangs start", "[engine][R10]") {
  BookingWorld world(WithQueues({BookingClosedRoot({.min_age = Seconds(0)})}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Ask("runs", 6, 3'600);
  world.Run(Seconds(1));
  world.Ask("big", 8, 3'600);
  world.Run(Seconds(3'600));
  REQUIRE(world.Runs("big"));
  // Two GPUs, for 3,599 s.
  CHECK(world.engine().Queues().front().booked_idle == 2 * 3'599'000);
}

TEST_CASE("a duration that cannot be read is reported once, and the gang is planned without",
          "[engine][durations]") {
  BookingWorld world(WithQueues({BookingClosedRoot()}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  cluster::Pod pod = MakePod("typo").Gpus(1).Gated().Build();
  pod.run_times = std::make_shared<const cluster::RunTimes>(
      cluster::RunTimes{.fault = "Pod.metadata: expected a duration"});
  world.Add(pod);
  world.Run(Seconds(10));
  CHECK(world.Runs("typo"));
  int told = 0;
  for (const Action& action : world.log) {
    const auto* event = std::get_if<EmitEvent>(&action);
    if (event == nullptr || event->reason != "GangDurationUnreadable") continue;
    ++told;
    CHECK(event->message == "it is planned without Pod.metadata: expected a duration");
  }
  CHECK(told == 1);
}

}  // namespace
}  // namespace muster::engine
