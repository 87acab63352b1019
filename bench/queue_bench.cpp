// How long does a cycle take with many queues? 5,000 nodes of 8 GPUs, all held by 2,000 gangs, and
// 5,000 gangs that wait in 200 queues.
//
//   bench_queue [--smoke] [CYCLE]     one of:
//
//   all      every gang is looked at: a node was uncordoned, but its GPUs are still held
//   reload   the policy was loaded again: besides, each gang is assigned to its queue anew
//   one      one small thing changed since the last cycle: a pod of one GPU ended
//   victims  a gang of 32 pods of 8 GPUs takes its queue's guarantee back: who has to leave
//   domain   the same, and the gang has to be in one rack of 40 nodes
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/timing.hpp"
#include "engine/scheduler.hpp"

namespace muster::bench {
namespace {

using cluster::GpuIndex;
using cluster::Time;
using queues::Amount;
using queues::QueueSpec;
using queues::Resource;

constexpr int kGpusOfNode = 8;
constexpr int kTops = 20;
constexpr int kBelow = 10;
constexpr int kNodesOfRack = 40;
constexpr const char* kRackLabel = "bench/rack";

struct Sizes {
  int nodes = 5'000;
  int running = 2'000;
  int pending = 5'000;
  int rounds = 101;
};

std::string Leaf(int number) {
  return "team-" + std::to_string(number % kTops) + "-" + std::to_string(number / kTops % kBelow);
}

// Each leaf is guaranteed its part of the cluster less `spared` GPUs.
std::vector<QueueSpec> MakeQueues(const Sizes& sizes, int spared, int64_t weight) {
  const Resource gpu{Resource::Kind::kGpu};
  const int64_t part =
      int64_t{sizes.nodes} * kGpusOfNode * 1'000 / (kTops * kBelow) - spared * 1'000;
  std::vector<QueueSpec> queues;
  for (int top = 0; top < kTops; ++top) {
    QueueSpec above{.name = "division-" + std::to_string(top), .weight = weight};
    above.guarantee.Set(gpu, Amount(part * kBelow));
    queues.push_back(above);
    for (int below = 0; below < kBelow; ++below) {
      QueueSpec leaf{.name = Leaf(top + below * kTops), .parent = above.name};
      leaf.guarantee.Set(gpu, Amount(part));
      queues.push_back(leaf);
    }
  }
  return queues;
}

class World {
 public:
  World(const Sizes& sizes, int spared, bool racks = false)
      : sizes_(sizes), spared_(spared), racks_(racks), engine_(OptionsOf(1)) {
    for (int i = 0; i < sizes.nodes; ++i) AddNode(i);
    const int gpus = sizes.nodes * kGpusOfNode / sizes.running;
    for (int gang = 0; gang < sizes.running; ++gang) Run(gang, gpus);
    engine_.Advance(now_);
  }

  engine::Options OptionsOf(int64_t weight) const {
    engine::Options options;
    options.queues = MakeQueues(sizes_, spared_, weight);
    if (racks_) {
      options.placement.fabric.trees = {
          {"racks", topology::FabricPreset::kNone, {{"rack", {kRackLabel}}}}};
    }
    if (spared_ > 0) {
      QueueSpec claims{.name = "claims"};
      claims.guarantee.Set({Resource::Kind::kGpu}, Amount(256'000));
      options.queues.push_back(std::move(claims));
    }
    return options;
  }

  void Wait(const std::string& name, const std::string& queue, int pods, int gpus,
            const std::string& level = "") {
    AddGroup(name, queue, pods, level);
    for (int i = 0; i < pods; ++i) Apply(MakePod(name, i, gpus));
  }
  void End(const std::string& pod) {
    engine_.Apply(engine::PodRemoved{cluster::PodUid(pod)}, now_);
  }
  // One GPU that nothing which waits can do with.
  void RunAgain(const std::string& gang, int member, int at) {
    cluster::Pod pod = MakePod(gang, member, 1);
    Bind(pod, at);
    Apply(pod);
  }
  engine::Progress Advance(Times& times) {
    now_ = now_ + cluster::Seconds(1);
    const Stopwatch watch;
    engine::Progress progress = engine_.Advance(now_);
    watch.AddTo(times);
    return progress;
  }
  void Cordon(int number, bool cordoned) {
    cluster::Node node = MakeNode(number);
    node.unschedulable = cordoned;
    engine_.Apply(std::move(node), now_);
  }
  engine::Scheduler& engine() { return engine_; }
  const Sizes& sizes() const { return sizes_; }

 private:
  void Apply(cluster::Pod pod) {
    pod.resource_version = ++version_;
    engine_.Apply(std::move(pod), now_);
  }
  void AddNode(int number) { engine_.Apply(MakeNode(number), now_); }
  static cluster::Node MakeNode(int number) {
    cluster::Node node;
    node.uid = cluster::NodeUid("node-" + std::to_string(number));
    node.name = "node-" + std::to_string(number);
    node.labels[kRackLabel] = "rack-" + std::to_string(number / kNodesOfRack);
    node.allocatable = {cluster::MilliCpu(192'000), cluster::MiB(2'000'000), 110};
    for (uint16_t gpu = 0; gpu < kGpusOfNode; ++gpu) {
      cluster::Gpu device;
      device.index = GpuIndex{gpu};
      device.model = "NVIDIA-H100-80GB-HBM3";
      device.memory = cluster::MiB(81'559);
      node.gpus.push_back(std::move(device));
    }
    return node;
  }
  void AddGroup(const std::string& name, const std::string& queue, int pods,
                const std::string& level = "") {
    cluster::PodGroup group;
    group.uid = cluster::PodGroupUid("group-" + name);
    group.key = {"team", name};
    group.min_member = pods;
    group.queue = queue;
    group.topology.required = level;
    group.created = now_;
    group.resource_version = ++version_;
    engine_.Apply(std::move(group), now_);
  }
  cluster::Pod MakePod(const std::string& gang, int member, int gpus) {
    auto spec = std::make_shared<cluster::PodSpec>();
    spec->requests = {cluster::MilliCpu(1'000), cluster::MiB(1'024), 1};
    spec->gpus.count = gpus;
    spec->scheduler_name = "muster";
    cluster::Pod pod;
    pod.key = {"team", gang + "-" + std::to_string(member)};
    pod.uid = cluster::PodUid(pod.key.name);
    pod.pod_group = gang;
    pod.spec = std::move(spec);
    pod.created = now_;
    return pod;
  }
  void Bind(cluster::Pod& pod, int at) {
    pod.node_name = "node-" + std::to_string(at / kGpusOfNode);
    pod.bound_gpus = {GpuIndex{static_cast<uint16_t>(at % kGpusOfNode)}};
    pod.bound_by_muster = true;
    pod.phase = cluster::PodPhase::kRunning;
  }
  // `gpus` pods of one GPU each, one after the other.
  void Run(int gang, int gpus) {
    const std::string name = "runs-" + std::to_string(gang);
    AddGroup(name, Leaf(gang), gpus);
    for (int i = 0; i < gpus; ++i) RunAgain(name, i, gang * gpus + i);
  }

  const Sizes sizes_;
  const int spared_;
  const bool racks_;
  Time now_{1'800'000'000'000};
  int64_t version_ = 0;
  engine::Scheduler engine_;
};

// `goal` 0: none is named.
void Print(const char* what, const Times& times, double goal) {
  const double p50 = Percentile(times.cpu, 50) / 1000;
  const double p99 = Percentile(times.cpu, 99) / 1000;
  std::printf("%-10s %8zu %9.3f %9.3f %9.3f", what, times.cpu.size(), p50, p99,
              Percentile(times.wall, 99) / 1000);
  if (goal > 0) std::printf("   goal p99 <= %.0f ms: %s", goal, p99 <= goal ? "met" : "MISSED");
  std::printf("\n");
}

std::unique_ptr<World> Waiting(const Sizes& sizes) {
  auto world = std::make_unique<World>(sizes, 0);
  for (int i = 0; i < sizes.pending; ++i) {
    const int shape = i / (kTops * kBelow) % 4;
    world->Wait("waits-" + std::to_string(i), Leaf(i), 2 << shape, 8);
  }
  Times first;
  world->Advance(first);
  return world;
}

void BenchAll(const Sizes& sizes) {
  const std::unique_ptr<World> world = Waiting(sizes);
  Times all;
  Times settled;
  for (int round = 0; round < sizes.rounds; ++round) {
    world->Cordon(round, true);
    world->Advance(settled);
    world->Cordon(round, false);
    world->Advance(all);
  }
  Print("all", all, 20);
}

void BenchReload(const Sizes& sizes) {
  const std::unique_ptr<World> world = Waiting(sizes);
  Times reload;
  for (int round = 0; round < sizes.rounds; ++round) {
    world->engine().SetOptions(world->OptionsOf(1 + round % 2));
    world->Advance(reload);
  }
  Print("reload", reload, 0);
}

void BenchOne(const Sizes& sizes) {
  const std::unique_ptr<World> world = Waiting(sizes);
  Times one;
  for (int round = 0; round < sizes.rounds; ++round) {
    const int gpus = sizes.nodes * kGpusOfNode / sizes.running;
    const int gang = round * 7 % sizes.running;
    const std::string name = "runs-" + std::to_string(gang);
    world->End(name + "-1");
    world->Advance(one);
    world->RunAgain(name, gpus + round, gang * gpus + 1);
    Times settled;
    world->Advance(settled);
  }
  Print("one", one, 2);
}

// Queues are beyond their guarantee by `spared` GPUs.
void BenchVictims(const char* what, const Sizes& sizes, int spared, const std::string& level) {
  Times times;
  World world(sizes, spared, !level.empty());
  for (int round = 0; round < (sizes.rounds + 4) / 5; ++round) {
    const std::string name = "claim-" + std::to_string(round);
    world.Wait(name, "claims", 32, 8, level);
    world.Advance(times);
    if (world.engine().FindGang({"team", name})->state != engine::GangState::kPreempting)
      std::printf("nobody makes way\n");
    for (int i = 0; i < 32; ++i) world.End(name + "-" + std::to_string(i));
    Times settled;
    world.Advance(settled);
  }
  Print(what, times, 40);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  muster::bench::Sizes sizes;
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--smoke") {
      sizes = {500, 200, 500, 5};
    } else {
      only = word;
    }
  }
  std::printf("%d nodes, %d gangs run, %d wait in 200 queues; ms of CPU time\n\n", sizes.nodes,
              sizes.running, sizes.pending);
  std::printf("%-10s %8s %9s %9s %9s\n", "cycle", "rounds", "p50", "p99", "p99 wall");
  const auto wanted = [&](std::string_view cycle) { return only.empty() || only == cycle; };
  if (wanted("all")) muster::bench::BenchAll(sizes);
  if (wanted("one")) muster::bench::BenchOne(sizes);
  if (wanted("victims")) muster::bench::BenchVictims("victims", sizes, 2, "");
  const int half =
      sizes.nodes * muster::bench::kGpusOfNode / (2 * muster::bench::kTops * muster::bench::kBelow);
  if (wanted("domain")) muster::bench::BenchVictims("domain", sizes, half, "rack");
  if (wanted("reload")) muster::bench::BenchReload(sizes);
  return 0;
}
