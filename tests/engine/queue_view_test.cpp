// What the engine says of queues and of a gang's turn, for people.
#include "engine/explain/queue_view.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using queues::QueueSpec;
using queues::Resource;
using testing::MakeNode;
using testing::MakePod;

const Resource kQueueViewGpu{Resource::Kind::kGpu};  // NOLINT(cert-err58-cpp)

// Only GPUs count in the order.
QueueSpec QueueOf(const std::string& name, int64_t gpus, const std::string& parent = "") {
  QueueSpec queue{.name = name, .parent = parent};
  if (gpus > 0) queue.guarantee.Set(kQueueViewGpu, queues::Amount(gpus * 1000));
  for (const Resource::Kind kind :
       {Resource::Kind::kGpuMemory, Resource::Kind::kCpu, Resource::Kind::kMemory})
    queue.resource_weights[{kind}] = 0;
  return queue;
}

Options QueueViewWith(std::vector<QueueSpec> queues) {
  Options options;
  options.queues = std::move(queues);
  return options;
}

cluster::Pod QueueViewAsks(const std::string& name, const std::string& queue, int gpus,
                           int64_t created) {
  cluster::Pod pod = MakePod(name).Gpus(gpus).CreatedAt(created).Gated().Build();
  pod.asked_queue = queue;
  return pod;
}

const QueueAmounts& GpusOf(const QueueView& view) {
  for (const QueueAmounts& amounts : view.amounts) {
    if (amounts.resource == kQueueViewGpu) return amounts;
  }
  FAIL("no GPUs in the view of " << view.name);
  return view.amounts.front();
}

// Four GPUs, all reserved: two for a, which is guaranteed two, and two for b below team.
struct QueueViewWorld : testing::Harness {
  QueueViewWorld()
      : Harness(QueueViewWith({QueueOf("a", 2), QueueOf("team", 0), QueueOf("b", 0, "team")})) {
    Add(MakeNode("n0").Gpus(4).Build());
    Add(QueueViewAsks("a0", "a", 2, 0));
    Add(QueueViewAsks("b0", "b", 2, 1));
    Settle();
    REQUIRE(Gang("a0").state == GangState::kReserved);
    REQUIRE(Gang("b0").state == GangState::kReserved);
    Add(QueueViewAsks("b1", "b", 1, 2));
    Add(QueueViewAsks("b2", "b", 1, 3));
    Add(QueueViewAsks("a1", "a", 1, 4));
    Settle();
  }
};

TEST_CASE("a queue shows what it may have, has and wants, and who is next",
          "[engine][queues][R1]") {
  QueueViewWorld world;
  const std::vector<QueueView> views = world.engine().Queues();
  REQUIRE(views.size() == 4);  // nothing is the orphan's
  CHECK(views[0].name == queues::kRoot);
  CHECK(views[0].parent.empty());
  CHECK(views[0].pending == 3);
  CHECK(views[0].next == "default/a1");
  const QueueView& a = views[1];
  CHECK(a.name == "a");
  CHECK(a.leaf);
  CHECK(a.pending == 1);
  // 2 + 1 − 2 of 4
  CHECK(a.b == "0.250");
  CHECK_FALSE(a.within);
  CHECK(GpusOf(a).guarantee == 2'000);
  CHECK(GpusOf(a).used == 2'000);
  CHECK(GpusOf(a).pending == 1'000);
  // Its guarantee, and half of what is left.
  CHECK(GpusOf(a).share == 3'000);
  const QueueView& team = views[2];
  CHECK(team.name == "team");
  CHECK_FALSE(team.leaf);
  CHECK(team.next == "default/b1");
  CHECK(team.b == "0.750");
  const QueueView& b = views[3];
  CHECK(b.name == "b");
  CHECK(b.parent == "team");
  CHECK(b.pending == 2);
  CHECK(GpusOf(b).used == 2'000);
  CHECK(GpusOf(b).share == 1'000);
  CHECK(GpusOf(b).borrowed() == 2'000);
}

TEST_CASE("a waiting gang's view shows its place, and the sibling that goes first and why",
          "[engine][queues][R2]") {
  QueueViewWorld world;
  const std::optional<TurnView> first = world.engine().TurnOf({"default", "a1"});
  REQUIRE(first);
  CHECK(first->queue == "a");
  CHECK(first->position == 1);
  CHECK(first->of == 1);
  CHECK(first->at.empty());
  const std::optional<TurnView> second = world.engine().TurnOf({"default", "b2"});
  REQUIRE(second);
  CHECK(second->position == 2);
  CHECK(second->of == 2);
  // Not where it is alone, below team, but above.
  CHECK(second->at == queues::kRoot);
  CHECK(second->ahead == "a");
  CHECK(second->ahead_gang == "default/a1");
  CHECK(second->ahead_b == "0.250");
  CHECK(second->own == "team");
  CHECK(second->own_b == "0.750");
  // One that has its plan waits for no turn, nor does one that is not there.
  CHECK_FALSE(world.engine().TurnOf({"default", "a0"}));
  CHECK_FALSE(world.engine().TurnOf({"default", "nobody"}));
}

TEST_CASE("a gang above the limit of its queue is never next, and has no turn",
          "[engine][queues][R12]") {
  QueueSpec limited = QueueOf("a", 0);
  limited.limit.Set(kQueueViewGpu, queues::Limit(2'000));
  testing::Harness world(QueueViewWith({limited}));
  world.Add(MakeNode("n0").Gpus(4).Build());
  world.Add(QueueViewAsks("runs", "a", 2, 0));
  world.Settle();
  world.Add(QueueViewAsks("large", "a", 3, 1));
  world.Settle();
  REQUIRE(world.Gang("large").state == GangState::kUnsatisfiable);
  CHECK(world.engine().Queues()[1].next.empty());
  CHECK(world.engine().Queues()[1].pending == 1);
  CHECK_FALSE(world.engine().TurnOf({"default", "large"}));
  world.Add(QueueViewAsks("small", "a", 1, 2));
  world.Settle();
  CHECK(world.engine().Queues()[0].next == "default/small");
  CHECK(world.engine().Queues()[1].next == "default/small");
  const std::optional<TurnView> turn = world.engine().TurnOf({"default", "small"});
  REQUIRE(turn);
  CHECK(turn->position == 1);
  CHECK(turn->of == 1);
}

TEST_CASE("without queues in the policy all gangs are in the root, whatever queue they name",
          "[engine][queues]") {
  testing::Harness world;
  world.Add(MakeNode("n0").Gpus(1).Build());
  world.Add(QueueViewAsks("big", "a", 2, 0));
  world.Settle();
  REQUIRE(world.engine().Queues().size() == 1);
  CHECK(world.engine().Queues().front().name == "root");
  CHECK(world.Gang("big").queue == "root");
  CHECK(world.Gang("big").reason.code == ReasonCode::kNeverFits);
}

}  // namespace
}  // namespace muster::engine
