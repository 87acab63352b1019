#include "cluster/holdings/transaction.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;

// Every number of a table, hidden balances included: they show when all that is held is given back.
std::vector<int64_t> AllNumbers(const FreeTable& table) {
  std::vector<int64_t> numbers;
  for (uint32_t i = 0; i < table.size(); ++i) {
    const NodeFree& node = table.at(NodeIndex{i});
    numbers.insert(numbers.end(),
                   {node.resources.cpu.value(), node.resources.memory.value(), node.resources.pods,
                    node.gpu_compute, node.gpu_memory, node.gpu_whole,
                    node.gpu_most.compute().value(), node.gpu_most.memory().value()});
    for (const DeviceAmount& gpu : table.gpus(NodeIndex{i})) {
      numbers.push_back(gpu.compute().value());
      numbers.push_back(gpu.memory().value());
    }
  }
  return numbers;
}

Placement Whole(const std::string& pod, uint32_t node, const std::vector<int>& gpus) {
  Placement placement{PodUid("pod-" + pod), NodeIndex{node}, {MilliCpu(1000), MiB(1024), 1}, {}};
  for (int gpu : gpus) {
    placement.gpus.push_back({GpuIndex{static_cast<uint16_t>(gpu)}, kWholeGpu});
  }
  return placement;
}

TEST_CASE("a transaction leaves its snapshot as it is", "[cluster][transaction]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4));
  const auto snapshot = state.TakeSnapshot();
  const std::vector<int64_t> before = AllNumbers(snapshot->free());
  Transaction tx(snapshot);
  tx.Place(Whole("a", 0, {0, 1}));
  tx.Place(Whole("b", 0, {3}));
  CHECK(tx.free().at(NodeIndex{0}).gpu_total() == 1000);
  CHECK(AllNumbers(snapshot->free()) == before);
  REQUIRE(tx.deltas().size() == 2);
  CHECK(tx.deltas()[1].kind == Delta::Kind::kPlace);
  CHECK(tx.deltas()[1].placement == Whole("b", 0, {3}));
  CHECK(tx.node(NodeIndex{0})->name == "n0");
  CHECK(&tx.base() == snapshot.get());
}

TEST_CASE("an eviction makes room, and its rollback takes it away again",
          "[cluster][transaction]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(2));
  state.Upsert(MakePod("v").Gpus(2).BoundTo("n0"));
  const Placement victim = state.AllocationOf(PodUid("pod-v"))->placement;
  Transaction tx(state.TakeSnapshot());
  const std::vector<int64_t> before = AllNumbers(tx.free());
  const size_t start = tx.checkpoint();
  tx.Evict(victim);
  CHECK(tx.free().at(NodeIndex{0}).gpu_whole == 2);
  tx.Place(Whole("a", 0, {1}));
  const size_t inner = tx.checkpoint();
  tx.Place(Whole("b", 0, {0}));
  tx.RollbackTo(inner);
  CHECK(tx.free().at(NodeIndex{0}).gpu_whole == 1);
  CHECK(tx.deltas().size() == 2);
  tx.Evict(Whole("a", 0, {1}));
  CHECK(tx.free().at(NodeIndex{0}).gpu_whole == 2);
  tx.RollbackTo(start);
  CHECK(AllNumbers(tx.free()) == before);
  CHECK(tx.deltas().empty());
}

TEST_CASE("what a transaction placed can be reserved", "[cluster][transaction]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4));
  state.Upsert(MakePod("a").Gpus(2));
  Transaction tx(state.TakeSnapshot());
  tx.Place(Whole("a", 0, {2, 3}));
  REQUIRE(state.Reserve({tx.deltas()[0].placement}).ok());
  CHECK(AllNumbers(state.TakeSnapshot()->free()) == AllNumbers(tx.free()));
}

// A cluster with healthy and broken, whole and shared devices, and over-committed nodes.
ClusterState Mixed() {
  ClusterState state;
  for (int i = 0; i < 70; ++i) {
    auto node = MakeNode("n" + std::to_string(i)).Gpus(i % 9).Cpu(8);
    if (i % 3 == 0) node.Sharing(GpuSharing::Fractional());
    if (i % 4 == 0) node.Unhealthy(i % 5);
    state.Upsert(node);
    auto pod = MakePod("v" + std::to_string(i)).MilliCpu(i % 6 == 0 ? 9000 : 3000);
    if (i % 3 == 0) {
      pod.GpuShare(300, 2);
    } else {
      pod.Gpus(1);
    }
    state.Upsert(pod.BoundTo("n" + std::to_string(i)));
  }
  return state;
}

TEST_CASE("a placement can become another pod's, and nothing else changes",
          "[cluster][transaction]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4));
  Transaction tx(state.TakeSnapshot());
  const std::vector<int64_t> before = AllNumbers(tx.free());
  tx.Place(Whole("a", 0, {0, 1}));
  tx.Place(Whole("b", 0, {3}));
  const std::vector<int64_t> placed = AllNumbers(tx.free());
  tx.Rename(0, PodUid("pod-b"));
  tx.Rename(1, PodUid("pod-a"));
  CHECK(tx.deltas()[0].placement == Whole("b", 0, {0, 1}));
  CHECK(tx.deltas()[1].placement == Whole("a", 0, {3}));
  CHECK(AllNumbers(tx.free()) == placed);
  tx.RollbackTo(0);
  CHECK(AllNumbers(tx.free()) == before);
}

TEST_CASE("rolling back any sequence of steps restores every number", "[cluster][transaction]") {
  const unsigned seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  ClusterState state = Mixed();
  Transaction tx(state.TakeSnapshot());
  std::vector<Placement> held;  // by pods of the snapshot, not evicted yet
  for (const Pod* pod : state.Pods()) held.push_back(state.AllocationOf(pod->uid)->placement);
  struct Mark {
    size_t checkpoint;
    std::vector<int64_t> numbers;
    std::vector<Placement> held;
  };
  std::vector<Mark> marks{{tx.checkpoint(), AllNumbers(tx.free()), held}};
  for (int step = 0; step < 3000; ++step) {
    const uint32_t choice = below(20);
    if (choice == 0) {
      marks.push_back({tx.checkpoint(), AllNumbers(tx.free()), held});
    } else if (choice == 1) {
      const Mark mark = marks[below(marks.size())];
      tx.RollbackTo(mark.checkpoint);
      REQUIRE(AllNumbers(tx.free()) == mark.numbers);
      held = mark.held;
      while (marks.back().checkpoint > mark.checkpoint) marks.pop_back();
    } else if (choice < 8 && !held.empty()) {
      const uint32_t victim = below(held.size());
      tx.Evict(held[victim]);
      held.erase(held.begin() + victim);
    } else {
      Placement plan = Whole("x" + std::to_string(step), below(70), {});
      const uint32_t gpus = below(3);
      for (uint32_t gpu = 0; gpu < 9 && plan.gpus.size() < gpus; ++gpu) {
        if (below(2) == 0) continue;
        plan.gpus.push_back({GpuIndex{static_cast<uint16_t>(gpu)},
                             DeviceAmount(GpuMilli(1 + below(1000)), GpuMilli(1 + below(1000)))});
      }
      if (!tx.free().Fits(*tx.node(plan.node), plan)) continue;
      tx.Place(plan);
      held.push_back(plan);
    }
  }
  tx.RollbackTo(0);
  REQUIRE(AllNumbers(tx.free()) == marks.front().numbers);
}

}  // namespace
}  // namespace muster::cluster
