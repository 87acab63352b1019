// R6: of members beyond a minimum those go that are in the way, wherever the newest are.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Queue;

// Nodes of eight GPUs; members of one GPU are bound by turns, one node after the other.
struct Spread : testing::QueueWorld {
  Spread(std::vector<queues::QueueSpec> queues, int nodes)
      : QueueWorld(std::move(queues)), next_(static_cast<size_t>(nodes)) {
    for (int i = 1; i < nodes; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8).Build());
  }
  // So many members on each node, the oldest first.
  void Run(const std::string& name, const std::string& queue, int on_each, int min,
           int32_t priority = 0) {
    cluster::PodGroup group = MakePodGroup(name).MinMember(min).Build();
    group.queue = queue;
    Add(group);
    int member = 0;
    for (int round = 0; round < on_each; ++round) {
      for (size_t node = 0; node < next_.size(); ++node) {
        const std::string on = "n" + std::to_string(node);
        const std::string pod = name + "-" + std::to_string(member++);
        Add(MakePod(pod).Gpus(1).Priority(priority).CreatedAt(member).InGroup(name).BoundTo(
            on, {next_[node]++}));
        nodes_[pod] = on;
      }
    }
    Settle();
    REQUIRE(Gang(name).state == GangState::kRunning);
  }
  // By node, how many are to go.
  std::map<std::string, int> Left() const {
    std::map<std::string, int> left;
    for (const Action& action : log) {
      if (const auto* evict = std::get_if<EvictPod>(&action))
        ++left[nodes_.at(evict->pod.key.name)];
    }
    return left;
  }

 private:
  std::vector<int> next_;  // GPU of each node
  std::map<std::string, std::string> nodes_;
};

using Counts = std::map<std::string, int>;

queues::QueueSpec Moderate(const std::string& name, int64_t guarantee) {
  queues::QueueSpec queue = Queue(name, guarantee);
  queue.preemption.max_evicted_ratio = 4;
  return queue;
}

TEST_CASE("R6: eight members go for eight GPUs, wherever the newest are", "[engine][queues][R6]") {
  const int nodes = GENERATE(2, 8);
  Spread world({Moderate("x", 8), Queue("y", 0)}, nodes);
  world.Run("elastic", "y", 8, 7);
  world.Submit("x0", "x", 8);
  const Counts left = world.Left();
  REQUIRE(left.size() == 1);
  CHECK(left.begin()->second == 8);
  CHECK(world.Gang("x0").state == GangState::kPreempting);
  CHECK(world.IsSound());
  world.Leave(world.Evicted());
  CHECK(world.Gang("x0").state == GangState::kReserved);
  CHECK(world.Gang("elastic").state == GangState::kRunning);
}

TEST_CASE("R6: a node that has some free costs fewer members", "[engine][queues][R6]") {
  Spread world({Moderate("x", 8), Queue("y", 0)}, 4);
  world.Run("elastic", "y", 8, 3);
  world.Leave("elastic-1 elastic-5");  // of n1
  world.Submit("x0", "x", 4);
  CHECK(world.Left() == Counts{{"n1", 2}});
  CHECK(world.Evicted() == "elastic-25 elastic-29");  // the newest there
}

TEST_CASE("R6: members of several gangs go that are in the way together", "[engine][queues][R6]") {
  Spread world({Moderate("x", 8), Queue("y", 24), Queue("z", 0)}, 4);
  // Each gang has four members on each node, and queue y has 8 more than it is guaranteed.
  world.Run("one", "y", 4, 2);
  world.Run("two", "y", 4, 2);
  world.Submit("x0", "x", 8);
  const Counts left = world.Left();
  REQUIRE(left.size() == 1);
  CHECK(left.begin()->second == 8);
  CHECK(world.IsSound());
}

TEST_CASE("R6: two nodes are freed for two pods", "[engine][queues][R6]") {
  Spread world({Moderate("x", 16), Queue("y", 0)}, 4);
  world.Run("elastic", "y", 8, 16);
  cluster::PodGroup group = MakePodGroup("pair").MinMember(2).Build();
  group.queue = "x";
  world.Add(group);
  for (const char* pod : {"pair-0", "pair-1"})
    world.Add(MakePod(pod).Gpus(8).InGroup("pair").Gated());
  world.Settle();
  const Counts left = world.Left();
  REQUIRE(left.size() == 2);
  CHECK(left.begin()->second == 8);
  CHECK(left.rbegin()->second == 8);
  CHECK(world.Gang("elastic").state == GangState::kRunning);
}

TEST_CASE("R6: a minimum that is in the way of every node costs no more than what is there",
          "[engine][queues][R6]") {
  // Of 32 members 25 are needed: no node can be freed of surplus alone.
  Spread world({Moderate("x", 8), Queue("y", 0)}, 4);
  world.Run("elastic", "y", 8, 25);
  world.Submit("x0", "x", 8);
  // 32 > 4 × 8 is not so: the gang goes whole.
  CHECK(world.Left() == Counts{{"n0", 8}, {"n1", 8}, {"n2", 8}, {"n3", 8}});
}

TEST_CASE("without queues, too, only members go that are in the way", "[engine][preemption]") {
  Spread world({}, 4);
  Options options;
  options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  world.engine().SetOptions(options);
  world.Run("elastic", "", 8, 4);
  world.Submit("urgent", "", 8, 100);
  const Counts left = world.Left();
  REQUIRE(left.size() == 1);
  CHECK(left.begin()->second == 8);
  CHECK(world.Gang("elastic").state == GangState::kRunning);
}

}  // namespace
}  // namespace muster::engine
