// Closed nodes that are exchanged for nodes that became free (R15).
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "tests/engine/booking_world.hpp"
#include "tests/engine/fabric_options.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using queues::BookingRules;
using queues::QueueSpec;
using testing::BookingWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::WithQueues;

QueueSpec Root(int64_t depth = 1) {
  return {.name = "root",
          .bookings = {.depth = depth, .min_age = Seconds(0), .reserve_after = Seconds(100)}};
}

// Nodes n0, n1, … of 4 GPUs, in rack a or b each.
void AddNodes(BookingWorld& world, const std::string& racks) {
  for (size_t i = 0; i < racks.size(); ++i) {
    const std::string name = "n" + std::to_string(i);
    world.Add(MakeNode(name)
                  .Gpus(4)
                  .Label("n", name)
                  .Label("block", "x")
                  .Label("rack", std::string(1, racks[i])));
  }
}

// Runs on that node until the test ends it.
void Occupy(BookingWorld& world, const std::string& name, int gpus, const std::string& node) {
  world.AskLike(MakePod(name).Gpus(gpus).Select("n", node), 0);
  world.Run(Seconds(1));
}

// Pods big-0, big-1, … of 4 GPUs.
void AskBig(BookingWorld& world, int pods, const std::string& level = "",
            const std::string& name = "big") {
  auto group = MakePodGroup(name).MinMember(pods).CreatedAt(world.now().milliseconds());
  if (!level.empty()) group.Within(level);
  world.Add(group.Build());
  for (int i = 0; i < pods; ++i)
    world.AskLike(MakePod(name + "-" + std::to_string(i)).Gpus(4).InGroup(name), 0);
}

std::string ClosedFor(const BookingWorld& world, const std::string& name = "big") {
  const auto& expected = world.Gang(name).expected;
  if (!expected || expected->at != Time::Never()) return "";
  return expected->why.substr(0, expected->why.find(", or until"));
}

// Gangs first and second have two nodes each closed, all of which are in use.
void CloseTwice(BookingWorld& world) {
  AddNodes(world, "aaaa");
  for (const char* node : {"n0", "n1", "n2", "n3"})
    Occupy(world, std::string("on-") + node, 2, node);
  AskBig(world, 2, "", "first");
  AskBig(world, 2, "", "second");
  world.Run(Seconds(101));
}

TEST_CASE("a node that becomes free takes the place of the closed one with most GPUs in use",
          "[engine][R15]") {
  BookingWorld world(WithQueues({Root()}));
  AddNodes(world, "aaa");
  Occupy(world, "b", 1, "n1");
  Occupy(world, "c", 2, "n2");
  Occupy(world, "a", 3, "n0");
  AskBig(world, 2);
  world.Run(Seconds(101));
  REQUIRE(ClosedFor(world) == "no others come to n1, n2 until those there have ended");
  world.Ask("small", 2, 0);
  world.Run(Seconds(1));
  CHECK(world.Gang("small").reason.code == ReasonCode::kReserved);
  world.Succeed("a");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world) == "no others come to n0, n1 until those there have ended");
  CHECK(world.Pod("small").node_name == "n2");
  world.Succeed("b");
  world.Run(Seconds(1));
  CHECK(world.Runs("big-0"));
  CHECK(world.Runs("big-1"));
}

TEST_CASE("of closed nodes with equal use the one whose last start is latest is opened",
          "[engine][R15]") {
  BookingWorld world(WithQueues({Root()}));
  AddNodes(world, "aaa");
  Occupy(world, "late", 4, "n0");
  Occupy(world, "first", 2, "n2");
  Occupy(world, "second", 2, "n1");
  AskBig(world, 2);
  world.Run(Seconds(101));
  REQUIRE(ClosedFor(world) == "no others come to n1, n2 until those there have ended");
  world.Succeed("late");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world) == "no others come to n0, n2 until those there have ended");
}

TEST_CASE("a node that is free in part takes no closed node's place", "[engine][R15]") {
  BookingWorld world(WithQueues({Root()}));
  AddNodes(world, "aaa");
  Occupy(world, "b", 1, "n1");
  Occupy(world, "c", 2, "n2");
  Occupy(world, "a", 2, "n0");
  Occupy(world, "rest", 2, "n0");
  AskBig(world, 2);
  world.Run(Seconds(101));
  world.Succeed("a");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world) == "no others come to n1, n2 until those there have ended");
  world.Ask("small", 2, 0);
  world.Run(Seconds(1));
  CHECK(world.Pod("small").node_name == "n0");
}

TEST_CASE("a gang that has to be in one rack exchanges closed nodes within it alone",
          "[engine][R15]") {
  BookingWorld world(testing::WithFabric(WithQueues({Root()})));
  AddNodes(world, "aaabb");
  Occupy(world, "a0", 1, "n0");
  Occupy(world, "a1", 1, "n1");
  Occupy(world, "a2", 3, "n2");
  Occupy(world, "b3", 4, "n3");
  Occupy(world, "b4", 4, "n4");
  AskBig(world, 2, "rack");
  world.Run(Seconds(101));
  REQUIRE(ClosedFor(world) == "no others come to n0, n1 until those there have ended");
  world.Succeed("b3");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world) == "no others come to n0, n1 until those there have ended");
  world.Succeed("a2");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world) == "no others come to n0, n2 until those there have ended");
}

TEST_CASE("a free node that another gang has booked takes no closed node's place",
          "[engine][R15]") {
  BookingWorld world(WithQueues({Root(2)}));
  CloseTwice(world);
  REQUIRE(ClosedFor(world, "first") == "no others come to n0, n1 until those there have ended");
  REQUIRE(ClosedFor(world, "second") == "no others come to n2, n3 until those there have ended");
  world.Succeed("on-n0");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world, "first") == "no others come to n0, n1 until those there have ended");
  CHECK(ClosedFor(world, "second") == "no others come to n2, n3 until those there have ended");
}

TEST_CASE("a gang whose nodes are closed does not start on those that were closed for a later one",
          "[engine][R15]") {
  BookingWorld world(WithQueues({Root(2)}));
  CloseTwice(world);
  REQUIRE(ClosedFor(world, "second") == "no others come to n2, n3 until those there have ended");
  world.Succeed("on-n2");
  world.Succeed("on-n3");
  world.Run(Seconds(1));
  CHECK(world.Gang("second").state == GangState::kRunning);
  CHECK(ClosedFor(world, "first") == "no others come to n0, n1 until those there have ended");
}

TEST_CASE("a free node takes the place of one closed node, not of one for each gang",
          "[engine][R15]") {
  BookingWorld world(WithQueues({Root(2)}));
  AddNodes(world, "aaaaa");
  for (const char* node : {"n0", "n1", "n2", "n3"})
    Occupy(world, std::string("on-") + node, 2, node);
  Occupy(world, "full", 4, "n4");
  AskBig(world, 2, "", "first");
  AskBig(world, 2, "", "second");
  world.Run(Seconds(101));
  world.Succeed("full");
  world.Run(Seconds(1));
  CHECK(ClosedFor(world, "first") == "no others come to n0, n4 until those there have ended");
  CHECK(ClosedFor(world, "second") == "no others come to n2, n3 until those there have ended");
}

TEST_CASE("a gang starts no later than the longest run on the nodes that were closed for it",
          "[engine][R15][property]") {
  std::mt19937 dice(static_cast<uint32_t>(Catch::rngSeed()));
  const auto below = [&](int most) {
    return static_cast<int>(dice() % static_cast<uint32_t>(most));
  };
  const int rounds = testing::FewerIfSanitized(4, 1);
  const int steps = testing::FewerIfSanitized(120, 40);
  int exchanged = 0;
  for (int round = 0; round < rounds; ++round) {
    BookingWorld world(WithQueues({Root(1 + round % 3)}));
    AddNodes(world, "aaaaaa");
    std::map<std::string, Time> bound;
    std::map<std::string, std::string> closed;
    const auto look = [&] {
      for (const GangView& gang : world.engine().Gangs()) {
        const std::string& name = gang.id.key.name;
        if (!gang.expected) continue;
        std::string& known = closed[name];
        if (!known.empty() && known != gang.expected->why) ++exchanged;
        known = gang.expected->why;
        Time last = world.now();
        for (int i = 0; i < 6; ++i) {
          const std::string node = "n" + std::to_string(i);
          if (known.find(node) != std::string::npos) last = std::max(last, world.LastEndOn(node));
        }
        bound.try_emplace(name, last);
      }
    };
    int made = 0;
    for (int step = 0; step < steps; ++step) {
      for (int i = below(3); i > 0; --i)
        world.AskLike(MakePod("p" + std::to_string(made++)).Gpus(1 + below(2)), 0, "",
                      60 + below(3'000));
      if (step % 5 == 0) {
        const std::string name = "big-" + std::to_string(step);
        world.Add(MakePodGroup(name).MinMember(2).CreatedAt(world.now().milliseconds()).Build());
        for (int i = 0; i < 2; ++i)
          world.AskLike(MakePod(name + "-" + std::to_string(i)).Gpus(4).InGroup(name), 0, "",
                        60 + below(600));
      }
      for (int second = below(100); second >= 0; --second) {
        world.Run(Seconds(1));
        look();
      }
    }
    world.Run(Seconds(100'000));
    for (const auto& [name, by] : bound) {
      INFO(name);
      const std::string pod = world.Started(name) ? name : name + "-0";
      REQUIRE(world.Started(pod));
      CHECK(world.StartedAt(pod) <= by + Seconds(1));
    }
  }
  if (!testing::kSanitized) CHECK(exchanged > 0);  // one round may have none
}

}  // namespace
}  // namespace muster::engine
