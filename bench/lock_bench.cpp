// How long does a Filter call wait for the engine's lock? Beside 100,000 waiting pods with steady
// completions, and while a zone of nodes goes and comes back. An API server and a kube-scheduler
// that oblige at once are played.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engine_thread.hpp"
#include "cluster/base/check.hpp"
#include "cluster/base/mutex.hpp"

namespace muster::bench {
namespace {

using cluster::Mutex;
using cluster::MutexLock;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kGangSize = 8;
constexpr int kTemplates = 20;  // kinds of pods, of gangs and alone each
constexpr int kGpus = 8;
constexpr int64_t kFilterEvery = 1'000;  // microseconds

std::string Uid(unsigned kind, int64_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-4c1d-4e2f-9a3b-%04x%08x", static_cast<unsigned>(number),
                kind, static_cast<unsigned>(number) * 2654435761U);
  return text;
}

std::string NodeName(int number) {
  return "gpu-worker-" + std::to_string(number) + ".cluster.example";
}

cluster::Node MakeNode(int number, int life) {
  cluster::Node node;
  node.uid = cluster::NodeUid(Uid(1 + 16 * static_cast<unsigned>(life), number));
  node.name = NodeName(number);
  for (int label = 0; label < 25; ++label) {
    node.labels["nvidia.com/gpu.label-" + std::to_string(label)] = "value-of-it";
  }
  node.allocatable = {cluster::MilliCpu(192'000), cluster::MiB(2'000'000), 110};
  for (uint16_t gpu = 0; gpu < kGpus; ++gpu) {
    cluster::Gpu device;
    device.index = cluster::GpuIndex{gpu};
    device.uuid = "GPU-" + Uid(4, number * kGpus + gpu);
    device.model = "NVIDIA-H100-80GB-HBM3";
    device.memory = cluster::MiB(81'559);
    node.gpus.push_back(std::move(device));
  }
  return node;
}

// A gang of eight, or a pod alone.
struct Job {
  cluster::PodGroup group;  // no name: a pod alone
  std::vector<cluster::Pod> pods;
};

Job MakeJob(int64_t number, bool gang) {
  const int kind = static_cast<int>(number % kTemplates);
  cluster::PodSpec spec;
  spec.requests = {cluster::MilliCpu(1'000 + kind), cluster::MiB(1'024), 1};
  spec.gpus.count = 1 << (kind % 3);
  spec.scheduler_name = "muster";
  const auto shared = std::make_shared<const cluster::PodSpec>(std::move(spec));
  Job job;
  const std::string name = (gang ? "train-" : "tune-") + std::to_string(number);
  const cluster::Time created(1'700'000'000'000 + number);
  if (gang) {
    job.group.uid = cluster::PodGroupUid(Uid(5, number));
    job.group.key = {"team", name};
    job.group.min_member = kGangSize;
    job.group.created = created;
    job.group.resource_version = 1;
  }
  for (int i = 0; i < (gang ? kGangSize : 1); ++i) {
    cluster::Pod pod;
    pod.uid = cluster::PodUid(Uid(gang ? 2 : 3, number * kGangSize + i));
    pod.key = {"team", name + "-" + std::to_string(i)};
    pod.spec = shared;
    pod.pod_group = gang ? name : "";
    pod.gates = {cluster::kGangGate};
    pod.created = created;
    pod.resource_version = 1;
    job.pods.push_back(std::move(pod));
  }
  return job;
}

// Processor time of the calling thread.
double ThreadSeconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

struct Percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double most = 0;  // all in milliseconds
  size_t calls = 0;
};

Percentiles Of(std::vector<double> times) {
  MUSTER_CHECK(!times.empty());
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[std::min(times.size() - 1,
                          static_cast<size_t>(part * static_cast<double>(times.size())))];
  };
  return {at(0.5), at(0.99), at(0.999), times.back(), times.size()};
}

// The engine, its loop, and a control plane that obliges.
class Stage {
 public:
  explicit Stage(const engine::Options& options)
      : scheduler_(options),
        loop_(
            scheduler_, [this] { return Now(); },
            [this](const std::vector<engine::Action>& actions) { Perform(actions); }) {}
  ~Stage() { loop_.Stop(); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  engine::Scheduler& scheduler() { return scheduler_; }
  EngineThread& loop() { return loop_; }
  cluster::Time Now() const {
    return cluster::Time(1'700'000'000'000 +
                         std::chrono::duration_cast<milliseconds>(Clock::now() - start_).count());
  }

  void Add(Job job) {
    if (!job.group.key.name.empty()) loop_.Apply(job.group);
    for (const cluster::Pod& pod : job.pods) loop_.Apply(pod);
    const MutexLock lock(mu_);
    const cluster::PodUid first = job.pods.front().uid;
    for (const cluster::Pod& pod : job.pods) job_of_[pod.uid] = first;
    jobs_.emplace(first, Running{std::move(job), 0});
  }

  // The job that has run longest ends and is deleted; false when none runs.
  bool EndOne(bool gang) {
    Job job;
    {
      const MutexLock lock(mu_);
      std::deque<cluster::PodUid>& running = running_[gang ? 1 : 0];
      if (running.empty()) return false;
      const auto found = jobs_.find(running.front());
      running.pop_front();
      job = std::move(found->second.job);
      jobs_.erase(found);
      for (const cluster::Pod& pod : job.pods) job_of_.erase(pod.uid);
    }
    for (cluster::Pod& pod : job.pods) {
      pod.gates.clear();
      pod.phase = cluster::PodPhase::kSucceeded;
      pod.resource_version = 1'000'000;
      loop_.Apply(pod);
    }
    for (const cluster::Pod& pod : job.pods) loop_.Apply(engine::PodRemoved{pod.uid});
    if (!job.group.key.name.empty()) loop_.Apply(engine::PodGroupRemoved{job.group.uid});
    return true;
  }

  void Perform(const std::vector<engine::Action>& actions) {
    for (const engine::Action& action : actions) {
      if (const auto* nominate = std::get_if<engine::Nominate>(&action)) {
        nominated_[nominate->pod.uid] = nominate->node;
        loop_.Report({nominate->id, engine::OutcomeKind::kDone, ""});
      } else if (const auto* release = std::get_if<engine::RemoveGate>(&action)) {
        loop_.Report({release->id, engine::OutcomeKind::kDone, ""});
        const engine::BindCall call{release->pod.key, release->pod.uid,
                                    nominated_[release->pod.uid]};
        scheduler_.Bind(call, next_ticket_++, Now());
      } else if (const auto* bind = std::get_if<engine::BindPod>(&action)) {
        loop_.Report({bind->id, engine::OutcomeKind::kDone, ""});
        nominated_.erase(bind->pod.uid);
        NoteBound(bind->pod.uid);
      } else if (const auto* ask = std::get_if<engine::AskForNodes>(&action)) {
        Order(*ask);
      }
    }
  }

  int64_t bound() const { return bound_; }
  int64_t ordered() const { return ordered_; }  // nodes, for so many gangs
  bool Idle() { return loop_.idle() && scheduler_.NextWake() > Now(); }
  void AwaitIdle() {
    for (int quiet = 0; quiet < 20; quiet = Idle() ? quiet + 1 : 0)
      std::this_thread::sleep_for(milliseconds(5));
  }

 private:
  struct Running {
    Job job;
    size_t bound = 0;
  };

  // Nodes that never come.
  void Order(const engine::AskForNodes& ask) {
    loop_.Report({ask.id, engine::OutcomeKind::kDone, ""});
    cluster::ProvisioningRequest request;
    request.uid = cluster::ProvisioningRequestUid(ask.key.ToString());
    request.key = ask.key;
    request.resource_version = 1;
    request.gang = ask.gang;
    request.fingerprint = ask.fingerprint;
    request.attempt = ask.attempt;
    request.pod_sets = static_cast<int64_t>(ask.sets.size());
    request.class_name = ask.class_name;
    request.state = cluster::RequestState::kProvisioned;
    request.since = Now();
    loop_.Apply(request);
    ++ordered_;
  }

  void NoteBound(const cluster::PodUid& uid) {
    ++bound_;
    const MutexLock lock(mu_);
    const auto of = job_of_.find(uid);
    if (of == job_of_.end()) return;
    Running& running = jobs_.at(of->second);
    if (++running.bound == running.job.pods.size())
      running_[running.job.pods.size() > 1 ? 1 : 0].push_back(of->second);
  }

  const Clock::time_point start_ = Clock::now();
  engine::Scheduler scheduler_;
  EngineThread loop_;
  std::map<cluster::PodUid, std::string> nominated_;  // of the loop's thread
  uint64_t next_ticket_ = 1;                          // of the loop's thread
  std::atomic<int64_t> bound_{0};
  std::atomic<int64_t> ordered_{0};
  Mutex mu_;
  std::map<cluster::PodUid, cluster::PodUid> job_of_ MUSTER_GUARDED_BY(mu_);  // by its first pod
  std::map<cluster::PodUid, Running> jobs_ MUSTER_GUARDED_BY(mu_);
  std::deque<cluster::PodUid> running_[2] MUSTER_GUARDED_BY(mu_);  // alone, gangs
};

// Asks Filter about one pod, with its nominated node alone, once a millisecond until stopped.
class Caller {
 public:
  Caller(Stage& stage, cluster::Pod pod) : stage_(stage), pod_(std::move(pod)) {
    thread_ = std::thread([this] { Run(); });
  }
  Percentiles Stop() {
    stopping_ = true;
    thread_.join();
    return Of(std::move(times_));
  }

 private:
  void Run() {
    const engine::NodesQuestion question{pod_, {NodeName(0)}};
    while (!stopping_) {
      const auto begin = Clock::now();
      stage_.scheduler().Filter(question, stage_.Now());
      const auto end = Clock::now();
      // Calls made meanwhile would have waited, too.
      const double took = 1e-6 * static_cast<double>((end - begin).count());
      for (double wait = took; wait > 0; wait -= 1e-3 * kFilterEvery) times_.push_back(wait);
      std::this_thread::sleep_until(begin + microseconds(kFilterEvery));
    }
  }

  Stage& stage_;
  const cluster::Pod pod_;
  std::atomic<bool> stopping_{false};
  std::vector<double> times_;
  std::thread thread_;
};

void Print(const char* what, const Percentiles& one) {
  std::printf("  Filter %-28s p50 %7.3f ms  p99 %8.3f ms  p99.9 %8.3f ms  worst %8.3f ms  (%zu)\n",
              what, one.p50, one.p99, one.p999, one.most, one.calls);
}

Percentiles Idle(Stage& stage, const cluster::Pod& pod, int seconds) {
  Caller caller(stage, pod);
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  return caller.Stop();
}

// `waiting` pods, half of them in gangs; ten gangs and eighty pods end every second.
void WaitingPods(const char* title, const engine::Options& options, int nodes, int64_t waiting,
                 int seconds) {
  std::printf("%s: %d nodes, all full, %lld waiting pods\n", title, nodes,
              static_cast<long long>(waiting));
  Stage stage(options);
  for (int i = 0; i < nodes; ++i) stage.scheduler().Apply(MakeNode(i, 0), stage.Now());
  int64_t number = 0;
  const auto add = [&](bool gang) { stage.Add(MakeJob(number++, gang)); };
  stage.loop().Start();
  const int64_t room = int64_t{nodes} * kGpus / 2;  // a pod takes about two and a half GPUs
  for (int64_t pods = 0; pods < room; pods += 2 * kGangSize) {
    add(true);
    for (int i = 0; i < kGangSize; ++i) add(false);
  }
  stage.AwaitIdle();
  // Asked about throughout: the oldest that waits fits nowhere.
  Job never = MakeJob(number++, false);
  auto spec = std::make_shared<cluster::PodSpec>(*never.pods.front().spec);
  spec->gpus.count = kGpus;
  spec->constraints.node_selector["no"] = "node";
  never.pods.front().spec = spec;
  const cluster::Pod asked = never.pods.front();
  stage.Add(std::move(never));
  stage.AwaitIdle();
  Print("with nobody else waiting", Idle(stage, asked, std::max(seconds / 4, 1)));
  const auto filling = Clock::now();
  Caller beside_filling(stage, asked);
  for (int64_t pods = 0; pods < waiting; pods += 2 * kGangSize) {
    add(true);
    for (int i = 0; i < kGangSize; ++i) add(false);
  }
  stage.AwaitIdle();
  Print("while they come", beside_filling.Stop());
  std::printf("  they came and were judged within %.1f s\n",
              1e-9 * static_cast<double>((Clock::now() - filling).count()));
  Print("while they wait", Idle(stage, asked, std::max(seconds / 4, 1)));
  const int64_t bound_before = stage.bound();
  Caller caller(stage, asked);
  const auto begin = Clock::now();
  int64_t ended = 0;
  for (int tenth = 1; tenth <= 10 * seconds; ++tenth) {
    if (stage.EndOne(true)) ended += kGangSize, add(true);
    for (int i = 0; i < kGangSize; ++i) {
      if (stage.EndOne(false)) ++ended, add(false);
    }
    std::this_thread::sleep_until(begin + milliseconds(100) * tenth);
  }
  Print("with steady completions", caller.Stop());
  std::printf("  %lld pods ended, %lld were bound, in %d s\n", static_cast<long long>(ended),
              static_cast<long long>(stage.bound() - bound_before), seconds);
}

// All nodes go and come back under new UIDs, as fast as they can be told of.
void GoAndComeBack(int nodes, int per_node) {
  std::printf("%d nodes with %d pods each go and come back, 2,000 pods wait\n", nodes, per_node);
  Stage stage(engine::Options{});
  for (int i = 0; i < nodes; ++i) stage.scheduler().Apply(MakeNode(i, 0), stage.Now());
  int64_t number = 0;
  for (int i = 0; i < nodes * per_node; ++i) {
    Job job = MakeJob(number++, false);
    cluster::Pod& pod = job.pods.front();
    pod.gates.clear();
    pod.node_name = NodeName(i % nodes);
    pod.bound_by_muster = true;
    stage.scheduler().Apply(pod, stage.Now());
  }
  stage.loop().Start();
  Job first;
  for (int i = 0; i < 250; ++i) {
    Job job = MakeJob(number++, true);
    for (cluster::Pod& pod : job.pods) {  // two of a node's devices are taken at least
      auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
      spec->gpus.count = kGpus;
      spec->requests.cpu = cluster::MilliCpu(100'000 + i % kTemplates);
      pod.spec = spec;
    }
    if (i == 0) first = job;
    stage.Add(std::move(job));
  }
  stage.AwaitIdle();
  timespec before{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  Caller caller(stage, first.pods.front());
  const auto begin = Clock::now();
  const double telling = ThreadSeconds();
  for (int i = 0; i < nodes; ++i)
    stage.loop().Apply(engine::NodeRemoved{cluster::NodeUid(Uid(1, i))});
  for (int i = 0; i < nodes; ++i) stage.loop().Apply(MakeNode(i, 1));
  const double told = ThreadSeconds() - telling;
  while (!stage.Idle()) std::this_thread::sleep_for(milliseconds(1));
  const double wall = 1e-9 * static_cast<double>((Clock::now() - begin).count());
  const Percentiles times = caller.Stop();
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double spent = static_cast<double>(after.tv_sec - before.tv_sec) +
                       1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  std::printf(
      "  %.2f s of processor time in all, of it %.2f s for the facts; %.2f s by the clock\n", spent,
      told, wall);
  Print("meanwhile", times);
}

// Gangs for which nodes were ordered, on a cluster that is full but for what ends meanwhile: room
// is kept for them, found anew whenever some is freed or lost.
void OrderedNodes(int nodes, int gangs, int members, int seconds) {
  std::printf("%d nodes, all full, %d gangs of %d wait for nodes that they asked for\n", nodes,
              gangs, members);
  engine::Options options;
  options.autoscaling.scale_up = engine::ScaleUp::kProvisioningRequest;
  options.autoscaling.after = cluster::Duration(1);
  Stage stage(options);
  for (int i = 0; i < nodes; ++i) stage.scheduler().Apply(MakeNode(i, 0), stage.Now());
  int64_t number = 0;
  const auto whole = [](cluster::Pod& pod) {
    auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
    spec->gpus.count = kGpus;
    pod.spec = spec;
  };
  std::vector<cluster::Pod> running;
  for (int i = 0; i < nodes; ++i) {
    cluster::Pod pod = MakeJob(number++, false).pods.front();
    pod.gates.clear();
    pod.node_name = NodeName(i);
    pod.bound_by_muster = true;
    whole(pod);
    stage.scheduler().Apply(pod, stage.Now());
    running.push_back(std::move(pod));
  }
  stage.loop().Start();
  cluster::Pod asked;
  for (int i = 0; i < gangs; ++i) {
    Job job = MakeJob(number++, true);
    job.group.min_member = members;
    cluster::Pod like = job.pods.front();
    whole(like);
    job.pods.assign(static_cast<size_t>(members), like);
    for (int j = 0; j < members; ++j) {
      job.pods[static_cast<size_t>(j)].uid = cluster::PodUid(Uid(6, number * 1'000 + j));
      job.pods[static_cast<size_t>(j)].key.name = like.key.name + "-" + std::to_string(j);
    }
    asked = job.pods.front();
    stage.Add(std::move(job));
  }
  while (stage.ordered() < gangs) {
    stage.loop().Poke();
    std::this_thread::sleep_for(milliseconds(50));
  }
  Caller caller(stage, asked);
  const auto begin = Clock::now();
  for (int tenth = 0; tenth < 10 * seconds && tenth < static_cast<int>(running.size()); ++tenth) {
    cluster::Pod& pod = running[static_cast<size_t>(tenth)];
    pod.phase = cluster::PodPhase::kSucceeded;
    pod.resource_version = 2;
    stage.loop().Apply(pod);
    std::this_thread::sleep_until(begin + milliseconds(100) * (tenth + 1));
  }
  Print("while room becomes free", caller.Stop());
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using muster::bench::WaitingPods;
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  if (argc > 1 && std::string_view(argv[1]) == "--ordered-nodes") {  // that alone
    muster::bench::OrderedNodes(5'000, 100, 64, 20);
    return 0;
  }
  const int nodes = smoke ? 50 : 1'000;
  const int64_t waiting = smoke ? 1'000 : 100'000;
  const int seconds = smoke ? 1 : 20;
  muster::engine::Options options;
  WaitingPods("in order, any that fits", options, nodes, waiting, seconds);
  options.queues = muster::queues::OneQueue(muster::queues::Order::kStrictFifo);
  WaitingPods("strict order", options, nodes, waiting, seconds);
  options.queues = muster::queues::OneQueue(muster::queues::Order::kFifo,
                                            muster::queues::WithinQueue::kLowerPriority);
  WaitingPods("with preemption", options, nodes, waiting, seconds);
  muster::bench::GoAndComeBack(smoke ? 200 : 5'000, 4);
  smoke ? muster::bench::OrderedNodes(50, 4, 8, 1)
        : muster::bench::OrderedNodes(5'000, 100, 64, 20);
  return 0;
}
