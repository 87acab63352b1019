// Random streams of gangs that say exactly how long they run: whoever was promised a start has it
// by then, and nobody waits for ever.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/booking_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using testing::BookingWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::WithQueues;

TEST_CASE("a start that was promised never moves later while durations are exact",
          "[engine][R10][property]") {
  std::mt19937 dice(static_cast<uint32_t>(Catch::rngSeed()));
  const auto below = [&](int most) {
    return static_cast<int>(dice() % static_cast<uint32_t>(most));
  };
  for (int round = 0; round < 4; ++round) {
    BookingWorld world(WithQueues({{.name = "root"},
                                   {.name = "a", .weight = 2},
                                   {.name = "b", .order = queues::Order::kStrictFifo}}));
    for (int i = 0; i < 6; ++i) {
      world.Add(MakeNode("n" + std::to_string(i))
                    .Gpus(8)
                    .Label("half", i % 2 == 0 ? "even" : "odd")
                    .Build());
    }
    std::map<std::string, Time> promised;
    const auto look = [&] {
      for (const GangView& gang : world.engine().Gangs()) {
        if (!gang.expected || gang.expected->at == Time::Never()) continue;
        Time& at = promised.try_emplace(gang.id.key.name, gang.expected->at).first->second;
        INFO(gang.id.key.name);
        CHECK(gang.expected->at <= at);
        at = std::min(at, gang.expected->at);
      }
    };
    int made = 0;
    for (int step = 0; step < 150; ++step) {
      for (int i = below(3); i > 0; --i) {
        const int sizes[] = {1, 1, 2, 4, 8, 8};
        testing::PodBuilder pod = MakePod("p" + std::to_string(made++)).Gpus(sizes[below(6)]);
        if (below(4) == 0) pod.Select("half", below(2) == 0 ? "even" : "odd");
        world.AskLike(pod, 60 + below(3'000), below(2) == 0 ? "a" : "b");
      }
      world.Run(Seconds(10 + below(200)));
      look();
    }
    for (int left = 0; left < 400; ++left) {
      world.Run(Seconds(200));
      look();
    }
    for (int i = 0; i < made; ++i) {
      const std::string name = "p" + std::to_string(i);
      INFO(name);
      REQUIRE(world.Started(name));
      const auto at = promised.find(name);
      if (at != promised.end()) CHECK(world.StartedAt(name) <= at->second);
    }
    CHECK_FALSE(promised.empty());
  }
}

TEST_CASE("the largest gang that the cluster holds starts within R15's bound, whatever comes",
          "[engine][R15][property]") {
  std::mt19937 dice(static_cast<uint32_t>(Catch::rngSeed()));
  const auto below = [&](int most) {
    return static_cast<int>(dice() % static_cast<uint32_t>(most));
  };
  constexpr int kMembers = 4;
  constexpr int64_t kLongest = 2'000;  // s, of the small ones; nobody says how long they run
  constexpr int64_t kReserveAfter = 600;
  for (int round = 0; round < 6; ++round) {
    BookingWorld world(
        WithQueues({{.name = "root", .bookings = {.reserve_after = Seconds(kReserveAfter)}}}));
    for (int i = 0; i < kMembers; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8).Build());
    int made = 0;
    std::optional<Time> closed;  // nodes were, for the gang
    bool others = false;         // had booked before
    const auto flood = [&](int64_t until_s) {
      const Time until = world.now() + Seconds(until_s);
      while (world.now() < until) {
        for (int i = below(2); i > 0; --i) {
          world.Ask("p" + std::to_string(made++), 1 << below(3), 0, "",
                    60 + below(static_cast<int>(kLongest) - 60));
        }
        world.Run(Seconds(20 + below(60)));
        const std::vector<GangView> gangs = world.engine().Gangs();
        const bool has = std::any_of(gangs.begin(), gangs.end(), [](const GangView& gang) {
          return gang.id.key.name == "all" && gang.expected;
        });
        if (has && !closed) closed = world.now();
        others =
            others || (!closed && std::any_of(gangs.begin(), gangs.end(), [](const GangView& gang) {
              return gang.expected.has_value();
            }));
      }
    };
    flood(3'000);
    others = false;
    const Time asked = world.now();
    world.Add(testing::MakePodGroup("all").MinMember(kMembers).CreatedAt(asked.milliseconds()));
    for (int i = 0; i < kMembers; ++i) {
      world.AskLike(MakePod("all-" + std::to_string(i)).Gpus(8).InGroup("all"), 0, "", 100);
    }
    flood(kReserveAfter + 2 * kLongest + 200);
    REQUIRE(world.Started("all-0"));
    REQUIRE(closed);
    // One that has waited longer may have closed nodes before it.
    CHECK(*closed <= asked + Seconds(kReserveAfter + (others ? kLongest : 0) + 80));
    if (!others) CHECK(world.StartedAt("all-0") <= asked + Seconds(kReserveAfter + kLongest + 1));
    CHECK(world.StartedAt("all-0") <= *closed + Seconds(kLongest + 1));
    CHECK(made > 20);
  }
}

}  // namespace
}  // namespace muster::engine
