#include "cluster/holdings/snapshot.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_set.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::Amounts;
using testing::MakeNode;
using testing::MakePod;

const Resources kSome{MilliCpu(4000), MiB(1000), 10};

std::vector<int> FreeGpus(const FreeTable& table, uint32_t node) {
  return testing::Milli(table.gpus(NodeIndex{node}));
}

TEST_CASE("the sums of a node follow from its devices", "[cluster][free]") {
  FreeTable table;
  table.Resize(3);
  CHECK(table.at(NodeIndex{2}).gpu_total() == 0);
  CHECK(table.gpus(NodeIndex{2}).empty());
  table.Set(NodeIndex{1}, kSome, Amounts({1000, 0, 250, 1000}));
  CHECK(table.at(NodeIndex{1}).resources == kSome);
  CHECK(table.at(NodeIndex{1}).gpu_total() == 2250);
  CHECK(table.at(NodeIndex{1}).gpu_whole == 2);
  CHECK(table.at(NodeIndex{1}).gpu_most == kWholeGpu);
}

TEST_CASE("devices of neighbours stay theirs when a node gets more or fewer", "[cluster][free]") {
  FreeTable table;
  table.Resize(130);
  for (uint32_t i = 0; i < 130; ++i) {
    table.Set(NodeIndex{i}, kSome, Amounts(std::vector<int>(i % 9, static_cast<int>(i))));
  }
  table.Set(NodeIndex{64}, kSome, Amounts(std::vector<int>(16, 7)));
  table.Set(NodeIndex{62}, kSome, {});
  table.Set(NodeIndex{127}, kSome, Amounts({9}));
  for (uint32_t i = 0; i < 130; ++i) {
    if (i == 62 || i == 64 || i == 127) continue;
    CHECK(FreeGpus(table, i) == std::vector<int>(i % 9, static_cast<int>(i)));
  }
  CHECK(FreeGpus(table, 64) == std::vector<int>(16, 7));
  CHECK(FreeGpus(table, 62).empty());
  CHECK(FreeGpus(table, 127) == std::vector<int>{9});
}

TEST_CASE("taking and giving back", "[cluster][free]") {
  const Node node = MakeNode("n").Gpus(3).Unhealthy(2);
  FreeTable table;
  table.Resize(1);
  table.Set(NodeIndex{0}, kSome, Amounts({1000, 400, 0}));
  Placement placement{PodUid("p"), NodeIndex{0}, {MilliCpu(1000), MiB(10), 1}, {}};
  placement.gpus = {{GpuIndex{0}, GpuMilli(300)}, {GpuIndex{1}, GpuMilli(400)}};
  CHECK(table.Fits(node, placement));
  table.Take(node, placement);
  CHECK(FreeGpus(table, 0) == std::vector<int>{700, 0, 0});
  CHECK(table.at(NodeIndex{0}).resources == Resources{MilliCpu(3000), MiB(990), 9});
  CHECK(table.at(NodeIndex{0}).gpu_most == GpuMilli(700));
  CHECK_FALSE(table.Fits(node, placement));
  table.Give(node, placement);
  CHECK(FreeGpus(table, 0) == std::vector<int>{1000, 400, 0});
  CHECK(table.at(NodeIndex{0}).gpu_whole == 1);
  SECTION("an unhealthy device has nothing to take and gains nothing") {
    placement.gpus = {{GpuIndex{2}, kWholeGpu}};
    CHECK_FALSE(table.Fits(node, placement));
    table.Give(node, placement);
    CHECK(FreeGpus(table, 0) == std::vector<int>{1000, 400, 0});
    table.Take(node, placement);
    CHECK(table.at(NodeIndex{0}).resources == kSome);
  }
}

TEST_CASE("what is over-committed must be made up for before it is free again", "[cluster][free]") {
  const Node node = MakeNode("n");
  FreeTable table;
  table.Resize(1);
  table.Set(NodeIndex{0}, {MilliCpu(-500), MiB(5), -1}, {});
  CHECK(table.at(NodeIndex{0}).resources == Resources{MilliCpu(0), MiB(5), 0});
  const Placement evicted{PodUid("p"), NodeIndex{0}, {MilliCpu(800), MiB(1), 1}, {}};
  table.Give(node, evicted);
  CHECK(table.at(NodeIndex{0}).resources == Resources{MilliCpu(300), MiB(6), 0});
  table.Take(node, evicted);
  CHECK(table.at(NodeIndex{0}).resources == Resources{MilliCpu(0), MiB(5), 0});
  table.Give(node, evicted);
  CHECK(table.at(NodeIndex{0}).resources.cpu == MilliCpu(300));
}

TEST_CASE("copies of a table do not see each other's writes", "[cluster][free]") {
  const Node node = MakeNode("n").Gpus(1);
  FreeTable a;
  a.Resize(200);
  for (uint32_t i = 0; i < 200; ++i) a.Set(NodeIndex{i}, kSome, Amounts({1000}));
  FreeTable b = a;
  FreeTable c;
  c = b;
  const auto take = [&](FreeTable& table, uint32_t at) {
    table.Take(node, {PodUid("p"), NodeIndex{at}, {}, {{GpuIndex{0}, kWholeGpu}}});
  };
  take(a, 0);
  take(b, 1);
  take(b, 150);
  CHECK(a.at(NodeIndex{0}).gpu_total() == 0);
  CHECK(a.at(NodeIndex{1}).gpu_total() == 1000);
  CHECK(b.at(NodeIndex{0}).gpu_total() == 1000);
  CHECK(b.at(NodeIndex{150}).gpu_total() == 0);
  for (uint32_t i = 0; i < 200; ++i) CHECK(c.at(NodeIndex{i}).gpu_total() == 1000);
  // Chunks that nobody wrote are still one and the same.
  CHECK(&a.at(NodeIndex{70}) == &c.at(NodeIndex{70}));
  CHECK(&a.at(NodeIndex{0}) != &c.at(NodeIndex{0}));
  // Alone again, a table writes in place.
  const NodeFree* place = &a.at(NodeIndex{0});
  take(a, 2);
  CHECK(&a.at(NodeIndex{0}) == place);
}

TEST_CASE("a snapshot does not change with its cluster", "[cluster][snapshot]") {
  ClusterState state;
  for (int i = 0; i < 100; ++i) state.Upsert(MakeNode("n" + std::to_string(i)).Gpus(8));
  state.Upsert(MakePod("p").Gpus(3).BoundTo("n7"));
  const auto before = state.TakeSnapshot();
  const NodeIndex n7 = state.IndexOf("n7");
  const NodeIndex n8 = state.IndexOf("n8");
  state.Upsert(MakePod("q").Gpus(2).BoundTo("n7"));
  state.Remove(NodeUid("node-n8"));
  state.Upsert(MakeNode("n7").Gpus(16));
  CHECK(before->free().at(n7).gpu_total() == 5000);
  CHECK(before->node(n7)->gpus.size() == 8);
  CHECK(before->node(n8)->name == "n8");
  const auto after = state.TakeSnapshot();
  CHECK(after->free().at(n7).gpu_total() == 11'000);
  CHECK(after->node(n8) == nullptr);
  CHECK(after->free().at(n8).gpu_total() == 0);
  CHECK(after->free().gpus(n8).empty());
}

TEST_CASE("a snapshot is taken again only when something changed", "[cluster][snapshot]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(8));
  const auto first = state.TakeSnapshot();
  CHECK(first->generation() == state.generation());
  state.Upsert(MakePod("pending").Gpus(1));
  CHECK(state.TakeSnapshot() == first);
  state.Upsert(MakePod("p").Gpus(1).BoundTo("n0"));
  const auto second = state.TakeSnapshot();
  CHECK(second != first);
  CHECK(second->generation() != first->generation());
  CHECK(second->layout() == first->layout());
  CHECK(second->node(NodeIndex{0}) == first->node(NodeIndex{0}));
  state.Upsert(MakeNode("n0").Gpus(8).Label("a", "b"));
  CHECK(state.TakeSnapshot()->layout() != second->layout());
}

TEST_CASE("snapshots may be read and dropped by other threads while the cluster changes",
          "[cluster][snapshot]") {
  ClusterState state;
  for (int i = 0; i < 80; ++i) state.Upsert(MakeNode("n" + std::to_string(i)).Gpus(2));
  int64_t sum = 0;
  for (int round = 0; round < 50; ++round) {
    auto snapshot = state.TakeSnapshot();
    std::thread reader([snapshot = std::move(snapshot), &sum]() mutable {
      FreeTable mine = snapshot->free();
      for (uint32_t i = 0; i < snapshot->size(); ++i) sum += mine.at(NodeIndex{i}).gpu_total();
      snapshot.reset();
    });
    const std::string name = "p" + std::to_string(round);
    state.Upsert(MakePod(name).Gpus(1).BoundTo("n" + std::to_string(round % 80)));
    reader.join();
  }
  CHECK(sum == 50 * 160'000 - 1000 * 49 * 50 / 2);
}

TEST_CASE("a table of nodes knows which nodes of a chunk are not sound", "[cluster][snapshot]") {
  ClusterState state;
  for (int i = 0; i < 66; ++i) state.Upsert(MakeNode("n" + std::to_string(i)).Gpus(2));
  const auto unsound = [&](uint32_t chunk, bool gpus) {
    return state.TakeSnapshot()->nodes().Unsound(chunk, gpus);
  };
  CHECK(unsound(0, true) == 0);
  state.Upsert(MakeNode("n1").Gpus(2).NotReady());
  state.Upsert(MakeNode("n2").Gpus(2).Unhealthy(1));
  state.Upsert(MakeNode("n3").Gpus(2).CordonedGpu(0));
  state.Upsert(MakeNode("n65").Gpus(2).Cordoned());
  CHECK(unsound(0, false) == 0b0010);
  CHECK(unsound(0, true) == 0b1110);
  CHECK(unsound(1, false) == 0b0010);
  state.Upsert(MakeNode("n1").Gpus(2));
  state.Remove(NodeUid(state.FindNode("n2")->uid));
  CHECK(unsound(0, true) == 0b1000);
}

TEST_CASE("a set of nodes names its first node and its chunks of 64", "[cluster][nodeset]") {
  NodeSet nodes;
  CHECK_FALSE(nodes.first().valid());
  CHECK(nodes.Chunks().empty());
  for (const uint32_t node : {200U, 70U, 130U, 71U}) nodes.Add(NodeIndex{node});
  CHECK(nodes.first() == NodeIndex{70});
  CHECK(nodes.Chunks() == std::vector<uint32_t>{1, 2, 3});
}

}  // namespace
}  // namespace muster::cluster
