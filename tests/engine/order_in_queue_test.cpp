// Order within a queue.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;

TEST_CASE("strict order holds within a queue", "[engine][order]") {
  Options options;
  options.queues = {{.name = "a", .order = queues::Order::kStrictFifo},
                    {.name = "b", .order = queues::Order::kStrictFifo}};
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
          "[engine][queue]") {
  Options options;
  options.queues = {{.name = "a"}, {.name = "b"}};
  testing::Harness world(options);
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
