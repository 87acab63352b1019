// PendingQueue with the policy's queues: which gang is next, and what a pass costs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/standing/pending_queue.hpp"
#include "engine/standing/queue_book.hpp"
#include "tests/support/builders.hpp"

namespace muster::engine {
namespace {

// `queues` leaves below inner ones of ten, and `gangs` gangs, round and round.
class QueueTurnsWorld {
 public:
  QueueTurnsWorld(int queues, int gangs) : book({{.name = "top"}}) {
    cluster.Upsert(testing::MakeNode("n0").Gpus(8).Build());
    std::vector<queues::QueueSpec> specs;
    const auto leaves = static_cast<size_t>(queues);
    specs.reserve(leaves + leaves / 10);
    for (int i = 0; i < queues / 10; ++i)
      specs.push_back({.name = "top" + std::to_string(i), .weight = 1 + i % 3});
    for (int i = 0; i < queues; ++i) {
      specs.push_back(
          {.name = NameOf(i), .parent = "top" + std::to_string(i / 10), .weight = 1 + i % 4});
    }
    book.Reload(specs);
    for (int i = 0; i < gangs; ++i) {
      Gang& gang = gangs_.emplace_back();
      gang.id = {{"team", std::to_string(i)}, false};
      cluster::Usage asks{.pods = 1};
      asks.gpu_milli = 1000 * (1 + i % 8);
      queue.Add(gang, queues::OrderKey{i % 5, false, true, i, gang.id}, NameOf(i % queues), asks);
    }
  }
  static std::string NameOf(int queue) { return "q" + std::to_string(queue); }
  // Nobody can start.
  std::vector<Gang*> Pass() {
    std::vector<Gang*> turns;
    queue.AnythingMayFit();
    book.Follow(cluster);
    queue.Begin(cluster.growth());
    while (Gang* gang = queue.Next()) {
      PendingQueue::Tried(*gang);
      turns.push_back(gang);
    }
    queue.End();
    return turns;
  }

  cluster::ClusterState cluster;
  QueueBook book{queues::OneQueue()};
  PendingQueue queue{book};

 private:
  std::deque<Gang> gangs_;
};

TEST_CASE("every gang has one turn in a pass, those of a queue in order", "[engine][queues]") {
  QueueTurnsWorld world(20, 100);
  for (int pass = 0; pass < 3; ++pass) {
    const std::vector<Gang*> turns = world.Pass();
    REQUIRE(turns.size() == 100);
    CHECK(std::set<Gang*>(turns.begin(), turns.end()).size() == 100);
    std::map<std::string, const Gang*> last;
    for (const Gang* gang : turns) {
      const Gang*& before = last[gang->queue->queue];
      CHECK((before == nullptr || *before->queue->order < *gang->queue->order));
      before = gang;
    }
    CHECK(world.queue.Audit().empty());
  }
}

TEST_CASE("a gang that leaves, and another policy, leave nobody's turn behind",
          "[engine][queues]") {
  QueueTurnsWorld world(20, 100);
  std::vector<Gang*> turns = world.Pass();
  for (int i = 0; i < 50; ++i) world.queue.Remove(*turns[static_cast<size_t>(i)]);
  CHECK(world.Pass().size() == 50);
  // Gangs in queues that are gone have no turn before they are settled.
  world.book.Reload({{.name = QueueTurnsWorld::NameOf(3)}});
  for (const Gang* gang : world.Pass()) CHECK(gang->queue->queue == QueueTurnsWorld::NameOf(3));
}

TEST_CASE("a pass over 5,000 gangs in 200 queues", "[.bench]") {
  QueueTurnsWorld world(200, 5'000);
  world.Pass();
  std::vector<double> took;
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(world.Pass().size() == 5'000);
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::sort(took.begin(), took.end());
  WARN("ms: median " << took[10] << ", most " << took.back());
}

// As often as a node changes, under the scheduler's lock.
TEST_CASE("one of 5,000 nodes changes", "[.bench]") {
  cluster::ClusterState cluster;
  queues::QueueSpec queue{.name = "a"};
  for (const char* model : {"h100", "a100", "t4"})
    queue.limit.Set({queues::Resource::Kind::kGpuModel, model}, queues::Limit(8'000));
  QueueBook book({queue});
  const auto add = [&](int node, bool ready) {
    auto made = testing::MakeNode("n" + std::to_string(node));
    made.Gpus(8, "NVIDIA-A100-SXM4-80GB", 81'920);
    if (!ready) made.NotReady();
    cluster.Upsert(made.Build());
  };
  for (int node = 0; node < 5'000; ++node) add(node, true);
  book.Follow(cluster);
  std::vector<double> took;
  for (int round = 0; round < 100; ++round) {
    add(round, false);
    const auto begin = std::chrono::steady_clock::now();
    book.Follow(cluster);
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::sort(took.begin(), took.end());
  WARN("ms: median " << took[50] << ", most " << took.back());
}

}  // namespace
}  // namespace muster::engine
