// What would let a gang start that waits: worked out by hand.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::Queue;
using testing::QueueWorld;

std::string Changes(const QueueWorld& world, const std::string& gang) {
  std::string text;
  for (const LeastChange& change : world.engine().ChangesFor({"default", gang}, world.now()))
    text += (text.empty() ? "" : "; ") + std::string(ToString(change.what)) + ": " + change.text;
  return text;
}

queues::QueueSpec Calm(const std::string& name) {
  queues::QueueSpec queue = Queue(name, 0);
  queue.preemption.within_queue = queues::WithinQueue::kNever;
  queue.preemption.reclaim = queues::Reclaim::kNever;
  return queue;
}

TEST_CASE("the fewest gangs whose end makes room are named, whoever they belong to",
          "[engine][explain]") {
  QueueWorld world({Calm("a"), Calm("b")});
  world.Start("one", "a", 2);
  world.Start("two", "a", 2);
  world.Start("big", "b", 4);
  world.Submit("wants4", "a", 4);
  CHECK(Changes(world, "wants4") ==
        "free: 4 more GPUs become free on n0; ends: gang default/big ends (4 GPUs)");
  world.Submit("wants8", "a", 8);
  CHECK(Changes(world, "wants8") ==
        "free: 8 more GPUs become free on n0; "
        "ends: gangs default/big, default/one, default/two end (8 GPUs)");
  CHECK(Changes(world, "one").empty());
  CHECK(Changes(world, "nobody").empty());
}

TEST_CASE("a gang of equal members shows with how many it would start", "[engine][explain]") {
  QueueWorld world({Calm("a")});
  world.Start("holds", "a", 5);
  world.SubmitGang("train", "a", 4, 4);
  CHECK(Changes(world, "train") ==
        "free: 1 more GPU becomes free on n0; ends: gang default/holds ends (5 GPUs); "
        "fewer: it asks for 3 members in place of 4");
}

TEST_CASE("no gang's end is suggested for room that is kept for another queue's whole nodes",
          "[engine][explain]") {
  queues::QueueSpec whole = Queue("a", 4);
  whole.shapes = {{1, ""}};
  QueueWorld world({whole, Queue("b", 8)}, 4);
  world.Add(MakeNode("n1").Gpus(4).Build());
  world.Start("one", "b", 4);
  world.Submit("two", "b", 4);
  REQUIRE(world.Gang("two").reason.code == ReasonCode::kReserved);
  CHECK(Changes(world, "two") ==
        "free: 4 more GPUs become free on n1; ends: gang default/one ends (4 GPUs)");
}

TEST_CASE("where its queue keeps a gang, the queue has to change", "[engine][explain]") {
  queues::QueueSpec limited = Calm("a");
  limited.limit.Set({queues::Resource::Kind::kGpu}, queues::Limit(4'000));
  QueueWorld world({limited, Calm("b")});
  world.Start("holds", "a", 2);
  world.Submit("more", "a", 4);
  CHECK(Changes(world, "more") ==
        "queue: 2 less is in use there, or 2 more may be: queue a would "
        "use 6 of gpu, its limit is 4");
  REQUIRE(world.engine()
              .Carry({"ann", SetQueueState{"b", queues::QueueState::kHold}}, world.now())
              .ok());
  world.Submit("held", "b", 1);
  CHECK(Changes(world, "held").starts_with("hold: its queue starts gangs again: "));
}

TEST_CASE("a gang that is not complete shows how many pods it lacks", "[engine][explain]") {
  QueueWorld world({Calm("a")});
  world.SubmitGang("train", "a", 1, 3);
  CHECK(Changes(world, "train") == "members: 2 more pods of it are created");
}

}  // namespace
}  // namespace muster::engine
