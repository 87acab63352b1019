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

// The queue that holds the fewest GPUs takes precedence.
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

TEST_CASE("strict order holds within a queue", "[engine][plug-in][order]") {
  Options options;
  options.strict_order = true;
  testing::Harness world(options);
  world.Add(MakeNode("n0").Gpus(6).Build());
  world.Add(MakePod("a-big").Gpus(8).Queue("a").CreatedAt(0).Gated().Build());
  world.Add(MakePod("a-small").Gpus(1).Queue("a").CreatedAt(1).Gated().Build());
  world.Add(MakePod("b-small").Gpus(1).Queue("b").CreatedAt(2).Gated().Build());
  world.Add(MakeNode("n1").Gpus(8).NotReady().Build());
  world.Settle();
  CHECK(world.Gang("a-big").state == GangState::kQueued);
  CHECK(world.Gang("a-small").reason.code == ReasonCode::kBlockedByOrder);
  CHECK(world.Gang("b-small").state == GangState::kReserved);
}

TEST_CASE("a gang that waits stays in its queue when a member of another one joins",
          "[engine][plug-in][queue]") {
  testing::Harness world;
  world.Add(MakeNode("n0").Gpus(1).Build());
  for (const char* group : {"x", "y"}) {
    world.Add(testing::MakePodGroup(group).MinMember(2));
    for (const char* pod : {"1", "2"}) {
      world.Add(MakePod(std::string(group) + pod).Gpus(1).Queue("a").InGroup(group).Gated());
    }
  }
  world.Settle();
  // It comes first by its UID.
  world.Add(MakePod("x0").Gpus(1).Queue("b").InGroup("x").Gated());
  world.Add(MakeNode("n1").Gpus(1).Build());
  world.Settle();
  CHECK(world.engine().Audit(world.now()).empty());
  CHECK(world.Gang("x").state == GangState::kReserved);
  CHECK(world.Gang("y").state == GangState::kQueued);
}

}  // namespace
}  // namespace muster::engine
