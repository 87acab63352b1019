// What it takes to add an order between queues: one class, given to the Scheduler.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;

// The queue that holds the fewest GPUs goes first.
class LeastUsed final : public queues::Turns {
 public:
  size_t Next(const std::vector<queues::Head>& heads,
              const cluster::UsageTable& usage) const override {
    const auto least = std::min_element(heads.begin(), heads.end(), [&](const auto& a, auto& b) {
      return usage.of(*a.queue).gpu_milli < usage.of(*b.queue).gpu_milli;
    });
    return static_cast<size_t>(least - heads.begin());
  }
};

// Of 12 pods in two queues, all of "many" older, room is for 6.
std::string PlacedUnder(Rules rules) {
  testing::Harness world({}, std::move(rules));
  world.Add(MakeNode("n0").Gpus(6).Build());
  for (int i = 0; i < 12; ++i) {
    const std::string queue = i < 8 ? "many" : "few";
    world.Add(MakePod(queue + std::to_string(i)).Gpus(1).Queue(queue).CreatedAt(i).Gated().Build());
  }
  world.Settle();
  std::string placed;
  for (const GangView& gang : world.engine().Gangs()) {
    if (gang.state == GangState::kReserved) placed += gang.id.key.name + " ";
  }
  return placed;
}

TEST_CASE("another order between queues is one class: each commit counts for the next turn",
          "[engine][plug-in]") {
  CHECK(PlacedUnder({}) == "many0 many1 many2 many3 many4 many5 ");
  Rules rules;
  rules.turns = std::make_shared<const LeastUsed>();
  CHECK(PlacedUnder(rules) == "few10 few8 few9 many0 many1 many2 ");
}

}  // namespace
}  // namespace muster::engine
