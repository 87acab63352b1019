// How long does it take to place a gang? Gangs of 8 to 1,024 eight-GPU members on 5,000 nodes, free
// or held by 5,000 gangs that would have to leave, and single pods on 1,213 mixed nodes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing.hpp"
#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state.hpp"
#include "policy/placing/placement.hpp"
#include "policy/victims/preemption.hpp"

namespace muster::bench {
namespace {

using cluster::ClusterState;
using cluster::GpuMilli;
using cluster::MiB;
using cluster::MilliCpu;
using cluster::Node;
using cluster::Pod;
using cluster::PodSpec;
using policy::Demand;
using policy::NodeFilter;
using policy::PlaceAnswer;
using policy::Placer;

constexpr double kGoalMilliseconds = 2;  // p99 of the largest gang

// A cluster that can be filled. Every pod has a spec of its own, as those of an API server have.
class Bed {
 public:
  void AddNodes(int count, int64_t cpu, int64_t memory, int gpus, cluster::GpuSharing sharing) {
    for (int i = 0; i < count; ++i) {
      Node node;
      node.name = "node-" + std::to_string(nodes_++);
      node.uid = cluster::NodeUid(node.name);
      node.allocatable = {MilliCpu(cpu), MiB(memory), 110};
      for (int gpu = 0; gpu < gpus; ++gpu) {
        node.gpus.push_back(
            {cluster::GpuIndex{static_cast<uint16_t>(gpu)}, "", "model", MiB(80'000), sharing, 1});
      }
      state.Upsert(std::move(node));
    }
  }

  Pod NewPod(const cluster::GpuRequest& gpus, int64_t cpu) {
    Pod pod;
    pod.key = {"bench", "pod-" + std::to_string(pods_++)};
    pod.uid = cluster::PodUid(pod.key.name);
    PodSpec spec;
    spec.requests = {MilliCpu(cpu), MiB(4096), 1};
    spec.gpus = gpus;
    pod.spec = std::make_shared<const PodSpec>(spec);
    return pod;
  }
  Demand Ask(const cluster::GpuRequest& gpus, int64_t cpu) {
    const Pod pod = NewPod(gpus, cpu);
    state.Upsert(pod);
    return {pod.uid, pod.spec, {}, {}};
  }
  // A bound pod with this many whole GPUs; its UID.
  cluster::PodUid Occupy(int node, int32_t gpus) {
    Pod pod = NewPod({gpus, cluster::kWholeGpu, MiB()}, 1000);
    pod.node_name = "node-" + std::to_string(node);
    state.Upsert(pod);
    return pod.uid;
  }

  ClusterState state;

 private:
  int nodes_ = 0;
  int pods_ = 0;
};

enum class Fill { kEmpty, kTenthFree, kScattered };

// 5,000 nodes of eight GPUs: none taken, nine in ten nodes taken whole, or seven of the GPUs of
// every node.
void MakeLargeCluster(Bed& bed, int nodes, Fill fill) {
  bed.AddNodes(nodes, 128'000, 1 << 20, 8, cluster::GpuSharing::Exclusive());
  for (int i = 0; i < nodes && fill != Fill::kEmpty; ++i) {
    if (fill == Fill::kScattered) {
      bed.Occupy(i, 7);
    } else if (i % 10 != 0) {
      bed.Occupy(i, 8);
    }
  }
}

struct Timing {
  bool placed = false;
  Times new_placer;   // has seen nothing before
  Times used_placer;  // has seen the cluster; a hundred nodes changed since
};

Timing TimeGang(Bed& bed, int nodes, int members, int32_t gpus, int rounds) {
  std::vector<Demand> demands;
  demands.reserve(static_cast<std::size_t>(members));
  for (int i = 0; i < members; ++i)
    demands.push_back(bed.Ask({gpus, cluster::kWholeGpu, MiB()}, 8000));
  std::mt19937_64 random(7);
  Placer used(policy::Options{});
  Timing timing;
  for (int round = 0; round < rounds; ++round) {
    constexpr int kPassing = 100;
    std::vector<cluster::PodUid> passing;
    passing.reserve(kPassing);
    for (int i = 0; i < kPassing; ++i) {
      passing.push_back(bed.Occupy(static_cast<int>(random() % static_cast<uint64_t>(nodes)), 0));
    }
    const auto snapshot = bed.state.TakeSnapshot();
    const auto plan = [&](Placer& placer, Times& times) {
      const Stopwatch watch;
      cluster::Transaction tx(snapshot);
      timing.placed = placer.PlaceGang(tx, demands, NodeFilter::kSchedulable).placed;
      watch.AddTo(times);
    };
    Times first;
    plan(used, round == 0 ? first : timing.used_placer);
    Placer fresh(policy::Options{});
    plan(fresh, timing.new_placer);
    for (const cluster::PodUid& uid : passing) bed.state.Remove(uid);
  }
  for (const Demand& demand : demands) bed.state.Remove(demand.pod);
  return timing;
}

double PrintGang(const char* cluster, int members, int gpus, const Timing& timing) {
  const auto& [wall, cpu] = timing.used_placer;
  const double p99 = Percentile(cpu, 99) / 1000;
  std::printf("%-30s %5d x %d GPU  %-7s %8.3f %8.3f %8.3f   %8.3f %8.3f\n", cluster, members, gpus,
              timing.placed ? "placed" : "refused", Percentile(cpu, 50) / 1000, p99,
              Percentile(wall, 99) / 1000, Percentile(timing.new_placer.cpu, 50) / 1000,
              Percentile(timing.new_placer.cpu, 99) / 1000);
  return p99;
}

void BenchGangs(bool smoke) {
  const int nodes = smoke ? 500 : 5000;
  const int rounds = smoke ? 5 : 201;
  std::printf("Planning a gang on %d nodes of 8 GPUs, ms of CPU time\n\n", nodes);
  std::printf("%-30s %-13s  %-7s %8s %8s %8s   %8s %8s\n", "cluster", "gang", "answer", "p50",
              "p99", "p99 wall", "new p50", "new p99");
  struct Case {
    const char* name;
    Fill fill;
    std::vector<int> gpus;
  };
  const std::vector<Case> cases = {{"empty", Fill::kEmpty, {8}},
                                   {"90 % full, 1 in 10 nodes free", Fill::kTenthFree, {8, 1}},
                                   {"88 % full, 1 GPU free each", Fill::kScattered, {8, 1}}};
  double worst = 0;
  for (const Case& c : cases) {
    Bed bed;
    MakeLargeCluster(bed, nodes, c.fill);
    for (const int gpus : c.gpus) {
      for (const int members : {8, 64, 512, 1024}) {
        worst = std::max(
            worst, PrintGang(c.name, members, gpus, TimeGang(bed, nodes, members, gpus, rounds)));
      }
    }
  }
  std::printf(
      "\n\"new\": a Placer that has seen nothing yet\n"
      "goal: p99 <= %.0f ms; worst p99: %.3f ms: %s\n",
      kGoalMilliseconds, worst, worst <= kGoalMilliseconds ? "met" : "MISSED");
}

// Gangs of eight pods with a GPU each, each gang's pods on eight nodes; together they hold every
// GPU.
std::vector<policy::Candidate> HoldAll(Bed& bed, int nodes) {
  std::vector<cluster::PodUid> pods;
  pods.reserve(static_cast<size_t>(nodes) * 8);
  for (int i = 0; i < nodes * 8; ++i) pods.push_back(bed.Occupy((i * 7 + i / nodes) % nodes, 1));
  std::vector<policy::Candidate> candidates(static_cast<size_t>(nodes));
  for (size_t i = 0; i < pods.size(); ++i) {
    candidates[i / 8].owner = i / 8;
    candidates[i / 8].held.push_back(bed.state.AllocationOf(pods[i])->placement);
  }
  return candidates;
}

void BenchPreemption(bool smoke) {
  const int nodes = smoke ? 500 : 5000;
  std::printf("\nFinding victims on %d nodes that %d gangs hold, ms of CPU time\n\n", nodes, nodes);
  std::printf("%-13s  %-7s %8s %8s\n", "gang", "answer", "victims", "time");
  Bed bed;
  bed.AddNodes(nodes, 128'000, 1 << 20, 8, cluster::GpuSharing::Exclusive());
  const std::vector<policy::Candidate> candidates = HoldAll(bed, nodes);
  for (const int members : {8, 64, 512, nodes + 1}) {
    std::vector<Demand> demands;
    demands.reserve(static_cast<size_t>(members));
    for (int i = 0; i < members; ++i)
      demands.push_back(bed.Ask({8, cluster::kWholeGpu, MiB()}, 8000));
    const auto snapshot = bed.state.TakeSnapshot();
    Placer placer(policy::Options{});
    Times times;
    const Stopwatch watch;
    const policy::PreemptionAnswer answer =
        policy::PlaceByPreemption(placer, {snapshot, nullptr, candidates}, demands);
    watch.AddTo(times);
    std::printf("%5d x 8 GPU  %-7s %8zu %8.1f\n", members, answer.placed ? "placed" : "refused",
                answer.victims.size(), times.cpu.front() / 1000);
    for (const Demand& demand : demands) bed.state.Remove(demand.pod);
  }
}

// The mix of sizes and shares that GPU clusters with many users see: half shares of one device,
// some whole devices, some pods without any.
Demand AskMixed(Bed& bed, std::mt19937_64& random) {
  const auto roll = [&](uint64_t sides) { return static_cast<int64_t>(random() % sides); };
  const int64_t kind = roll(100);
  const int64_t cpu = 1000 * (1 + roll(12));
  if (kind < 13) return bed.Ask({}, cpu);
  if (kind < 50) return bed.Ask({1, GpuMilli(50 * (1 + roll(19))), MiB()}, cpu);
  const int32_t gpus = kind < 98 ? 1 : 1 << roll(4);
  return bed.Ask({gpus, cluster::kWholeGpu, MiB()}, cpu);
}

void BenchDecisions(bool smoke) {
  Bed bed;
  const auto shared = cluster::GpuSharing::Fractional();
  bed.AddNodes(549, 96'000, 393'216, 8, shared);
  bed.AddNodes(387, 104'000, 524'288, 2, shared);
  bed.AddNodes(129, 16'000, 122'880, 2, shared);
  bed.AddNodes(60, 96'000, 786'432, 8, shared);
  bed.AddNodes(54, 32'000, 131'072, 4, shared);
  bed.AddNodes(34, 8'000, 32'768, 1, shared);
  std::mt19937_64 random(7);
  Placer placer(policy::Options{});
  Times plans;
  Times wholes;
  int placed = 0;
  const int decisions = smoke ? 500 : 10'000;
  for (int i = 0; i < decisions; ++i) {
    const Demand demand = AskMixed(bed, random);
    const Stopwatch whole;
    const auto snapshot = bed.state.TakeSnapshot();
    const Stopwatch watch;
    cluster::Transaction tx(snapshot);
    const PlaceAnswer answer = placer.PlaceGang(tx, {demand}, NodeFilter::kSchedulable);
    watch.AddTo(plans);
    if (answer.placed) {
      MUSTER_CHECK(bed.state.Reserve(answer.placements).ok());
      ++placed;
    }
    whole.AddTo(wholes);
  }
  const auto print = [&](const char* what, const Times& times) {
    double sum = 0;
    for (const double time : times.cpu) sum += time;
    const double mean = sum / static_cast<double>(times.cpu.size());
    std::printf("%-36s %8.2f %8.2f %8.2f %8.2f   %10.0f\n", what, mean, Percentile(times.cpu, 50),
                Percentile(times.cpu, 99), Percentile(times.wall, 99), 1e6 / mean);
  };
  std::printf(
      "\nPlacing one pod after the other on 1,213 mixed nodes, us of CPU time (%d of %d "
      "placed)\n\n",
      placed, decisions);
  std::printf("%-36s %8s %8s %8s %8s   %10s\n", "", "mean", "p50", "p99", "p99 wall", "per second");
  print("transaction and placement", plans);
  print("snapshot, placement and reservation", wholes);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  muster::bench::BenchGangs(smoke);
  muster::bench::BenchPreemption(smoke);
  muster::bench::BenchDecisions(smoke);
  return 0;
}
