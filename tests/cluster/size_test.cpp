// How much memory a large cluster takes and how fast facts go in. Hidden: a measurement for people
// and for CI's limits file, run by name.  cluster_test "[size]"
#include <catch2/catch.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

#include "cluster/cluster_state.hpp"
#include "cluster/transaction.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;

constexpr int kNodes = 5'000;
constexpr int kPods = 100'000;

int64_t ResidentMiB() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return resident * 4096 / (1 << 20);
}

// A UID as the API server makes them, 36 characters.
std::string Uid(unsigned kind, int number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-4c1d-4e2f-9a3b-%04x%08x", static_cast<unsigned>(number),
                kind, static_cast<unsigned>(number) * 2654435761U);
  return text;
}

Node BigNode(int i) {
  auto node = MakeNode("gpu-worker-" + std::to_string(i) + ".cluster.example").Gpus(8);
  node.Uid(Uid(1, i));
  for (int label = 0; label < 25; ++label) {
    node.Label("nvidia.com/gpu.label-" + std::to_string(label), "value-of-it-" + std::to_string(i));
  }
  return node;
}

// Twenty pods a node, eight of them with a GPU, of eight templates.
Pod BigPod(int i, const std::vector<std::shared_ptr<const PodSpec>>& specs) {
  const int slot = i / kNodes;
  auto builder = MakePod("training-job-7f9c-worker-" + std::to_string(i)).Uid(Uid(2, i));
  builder.Owner(Uid(3, i / 64)).InGroup("training-job-" + std::to_string(i / 64));
  builder.Phase(PodPhase::kRunning).CreatedAt(1'700'000'000'000 + i).Version(1000 + i);
  const std::string node = "gpu-worker-" + std::to_string(i % kNodes) + ".cluster.example";
  if (slot < 8) {
    builder.BoundTo(node, {slot});
  } else {
    builder.BoundTo(node);
  }
  Pod pod = builder;
  pod.spec = specs[static_cast<size_t>(slot < 8 ? slot : 8)];
  return pod;
}

std::vector<std::shared_ptr<const PodSpec>> Specs() {
  std::vector<std::shared_ptr<const PodSpec>> specs;
  for (int i = 0; i < 9; ++i) {
    specs.push_back(Pod(MakePod("t").Gpus(i < 8 ? 1 : 0).MilliCpu(1000 + i)).spec);
  }
  return specs;
}

// Processor time, so that a busy machine does not matter.
class Watch {
 public:
  double Microseconds() {
    const std::clock_t now = std::clock();
    const double spent = 1e6 * static_cast<double>(now - start_) / CLOCKS_PER_SEC;
    start_ = now;
    return spent;
  }

 private:
  std::clock_t start_ = std::clock();
};

TEST_CASE("5,000 nodes, 40,000 GPUs and 100,000 pods fit in 300 MB", "[.][size]") {
  const int64_t before = ResidentMiB();
  const auto specs = Specs();
  ClusterState state;
  Watch watch;
  for (int i = 0; i < kNodes; ++i) state.Upsert(BigNode(i));
  std::cout << "nodes: " << watch.Microseconds() / kNodes << " us each, " << ResidentMiB() - before
            << " MiB\n";
  for (int i = 0; i < kPods; ++i) state.Upsert(BigPod(i, specs));
  std::cout << "pods: " << watch.Microseconds() / kPods << " us each (with building the record), "
            << ResidentMiB() - before << " MiB in all\n";
  for (int i = 0; i < kPods; ++i) state.Upsert(BigPod(i, specs));
  std::cout << "pods once more, unchanged: " << watch.Microseconds() / kPods << " us each\n";
  for (int i = 0; i < 1000; ++i) {
    Pod pod = BigPod(i, specs);
    pod.phase = PodPhase::kSucceeded;
    state.Upsert(pod);
    const auto snapshot = state.TakeSnapshot();
    REQUIRE(snapshot->size() == kNodes);
  }
  std::cout << "a pod ends and a snapshot is taken: " << watch.Microseconds() / 1000 << " us\n";
  CHECK(ResidentMiB() - before < 300);
  CHECK(state.HoldersOn(NodeIndex{4999}).size() == 20);
}

TEST_CASE("planning and reserving 1,024 eight-GPU pods", "[.][size]") {
  ClusterState state;
  for (int i = 0; i < kNodes; ++i) state.Upsert(BigNode(i));
  for (int i = 0; i < 1024; ++i) {
    state.Upsert(MakePod("p" + std::to_string(i)).Uid(Uid(5, i)).Gpus(8));
  }
  for (int round = 0; round < 3; ++round) {
    Watch watch;
    Transaction tx(state.TakeSnapshot());
    std::vector<Placement> gang;
    for (uint32_t i = 0; i < 1024; ++i) {
      const NodeIndex index{i * 4};
      Placement plan{PodUid(Uid(5, static_cast<int>(i))), index, {MilliCpu(8000), MiB(9), 1}, {}};
      for (uint16_t gpu = 0; gpu < 8; ++gpu) plan.gpus.push_back({GpuIndex{gpu}, kWholeGpu});
      gang.push_back(std::move(plan));
    }
    std::cout << "1,024 plans built: " << watch.Microseconds() << " us";
    for (const Placement& plan : gang) tx.Place(plan);
    std::cout << ", placed: " << watch.Microseconds() << " us";
    tx.RollbackTo(0);
    std::cout << ", rolled back: " << watch.Microseconds() << " us";
    REQUIRE(state.Reserve(gang).ok());
    std::cout << ", reserved: " << watch.Microseconds() << " us";
    const auto snapshot = state.TakeSnapshot();
    std::cout << ", snapshot: " << watch.Microseconds() << " us";
    for (const Placement& plan : gang) REQUIRE(state.Release(plan.pod));
    std::cout << ", released: " << watch.Microseconds() << " us\n";
  }
}

}  // namespace
}  // namespace muster::cluster
