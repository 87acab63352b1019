// How much memory does a large cluster take in the model, and what do its facts, snapshots and
// reservations cost? 5,000 nodes of eight GPUs with twenty pods each.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/resident.hpp"
#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state.hpp"

namespace muster::bench {
namespace {

using cluster::ClusterState;
using cluster::GpuIndex;
using cluster::MiB;
using cluster::MilliCpu;
using cluster::NodeIndex;
using cluster::Placement;
using cluster::Pod;
using cluster::PodSpec;
using cluster::PodUid;

constexpr int kPodsPerNode = 20;
constexpr int kGpus = 8;
constexpr int64_t kGoalMegabytes = 300;
constexpr int64_t kBytesPerMegabyte = 1'000'000;

// Processor time, so that a busy machine does not matter.
class Stopwatch {
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

// A UID as the API server makes them, 36 characters.
std::string Uid(unsigned kind, int number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-4c1d-4e2f-9a3b-%04x%08x", static_cast<unsigned>(number),
                kind, static_cast<unsigned>(number) * 2654435761U);
  return text;
}

std::string NodeName(int number) {
  return "gpu-worker-" + std::to_string(number) + ".cluster.example";
}

cluster::Node MakeNode(int number) {
  cluster::Node node;
  node.uid = cluster::NodeUid(Uid(1, number));
  node.name = NodeName(number);
  for (int label = 0; label < 25; ++label) {
    node.labels["nvidia.com/gpu.label-" + std::to_string(label)] =
        "value-of-it-" + std::to_string(number);
  }
  node.allocatable = {MilliCpu(192'000), MiB(2'000'000), 110};
  for (uint16_t gpu = 0; gpu < kGpus; ++gpu) {
    cluster::Gpu device;
    device.index = GpuIndex{gpu};
    device.uuid = "GPU-" + Uid(4, number * kGpus + gpu);
    device.model = "NVIDIA-H100-80GB-HBM3";
    device.memory = MiB(81'559);
    node.gpus.push_back(std::move(device));
  }
  return node;
}

// Eight templates of pods with a GPU, and one without.
std::vector<std::shared_ptr<const PodSpec>> Templates() {
  std::vector<std::shared_ptr<const PodSpec>> specs;
  for (int i = 0; i <= kGpus; ++i) {
    PodSpec spec;
    spec.requests = {MilliCpu(1'000 + i), MiB(1'024), 1};
    spec.gpus.count = i < kGpus ? 1 : 0;
    spec.scheduler_name = "muster";
    specs.push_back(std::make_shared<const PodSpec>(std::move(spec)));
  }
  return specs;
}

Pod MakePod(int number, int nodes, const std::vector<std::shared_ptr<const PodSpec>>& templates) {
  const int slot = number / nodes;
  Pod pod;
  pod.uid = PodUid(Uid(2, number));
  pod.key = {"default", "training-job-7f9c-worker-" + std::to_string(number)};
  pod.owner_uid = Uid(3, number / 64);
  pod.pod_group = "training-job-" + std::to_string(number / 64);
  pod.phase = cluster::PodPhase::kRunning;
  pod.created = cluster::Time(1'700'000'000'000 + number);
  pod.resource_version = 1'000 + number;
  pod.node_name = NodeName(number % nodes);
  if (slot < kGpus) pod.bound_gpus = {GpuIndex{static_cast<uint16_t>(slot)}};
  pod.spec = templates[static_cast<std::size_t>(slot < kGpus ? slot : kGpus)];
  return pod;
}

void PrintGoal(int64_t bytes) {
  const int64_t megabytes = bytes / kBytesPerMegabyte;
  const bool met = megabytes <= kGoalMegabytes;
  std::printf("goal %s: %ld MB resident, at most %ld\n", met ? "met" : "missed",
              static_cast<long>(megabytes), static_cast<long>(kGoalMegabytes));
}

void FillCluster(int nodes) {
  const int pods = nodes * kPodsPerNode;
  const auto templates = Templates();
  const int64_t before = ResidentBytes();
  ClusterState state;
  Stopwatch watch;
  for (int i = 0; i < nodes; ++i) state.Upsert(MakeNode(i));
  std::printf("%d nodes, %d GPUs: %.2f us each\n", nodes, nodes * kGpus,
              watch.Microseconds() / nodes);
  for (int i = 0; i < pods; ++i) state.Upsert(MakePod(i, nodes, templates));
  std::printf("%d pods: %.2f us each, with building the record\n", pods,
              watch.Microseconds() / pods);
  PrintGoal(ResidentBytes() - before);
  watch.Microseconds();
  for (int i = 0; i < pods; ++i) state.Upsert(MakePod(i, nodes, templates));
  std::printf("the same pods again, unchanged: %.2f us each\n", watch.Microseconds() / pods);
  const int ended = nodes / 5;
  for (int i = 0; i < ended; ++i) {
    Pod pod = MakePod(i, nodes, templates);
    pod.phase = cluster::PodPhase::kSucceeded;
    state.Upsert(std::move(pod));
    MUSTER_CHECK(state.TakeSnapshot()->size() == static_cast<uint32_t>(nodes));
  }
  std::printf("a pod ends and a snapshot is taken: %.2f us\n", watch.Microseconds() / ended);
}

// `members` pods of eight GPUs on as many nodes of an empty cluster.
void ReserveGang(int nodes, int members) {
  ClusterState state;
  for (int i = 0; i < nodes; ++i) state.Upsert(MakeNode(i));
  PodSpec spec;
  spec.requests = {MilliCpu(8'000), MiB(1'024), 1};
  spec.gpus.count = kGpus;
  const auto shared = std::make_shared<const PodSpec>(spec);
  std::vector<Placement> gang;
  for (int i = 0; i < members; ++i) {
    Pod pod;
    pod.uid = PodUid(Uid(5, i));
    pod.key = {"default", "worker-" + std::to_string(i)};
    pod.spec = shared;
    state.Upsert(pod);
    Placement plan{pod.uid, state.IndexOf(NodeName(i * (nodes / members))), spec.requests, {}};
    for (uint16_t gpu = 0; gpu < kGpus; ++gpu) {
      plan.gpus.push_back({GpuIndex{gpu}, cluster::kWholeGpu});
    }
    gang.push_back(std::move(plan));
  }
  Stopwatch watch;
  MUSTER_CHECK(state.Reserve(gang).ok());
  std::printf("a gang of %d is reserved: %.0f us", members, watch.Microseconds());
  state.TakeSnapshot();
  std::printf(", a snapshot is taken: %.0f us", watch.Microseconds());
  for (const Placement& plan : gang) MUSTER_CHECK(state.Release(plan.pod));
  std::printf(", and released: %.0f us\n", watch.Microseconds());
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  std::printf("Memory of the cluster model, and processor time of its operations\n");
  muster::bench::FillCluster(smoke ? 500 : 5'000);
  muster::bench::ReserveGang(smoke ? 500 : 5'000, smoke ? 100 : 1'024);
  return 0;
}
