// Does memory follow what is alive? Gangs of eight are created, started, finished and deleted,
// 1,200 pods at a time, 200,000 in all: through the real reflectors, decoders, engine, loop and
// writers, against an API server and a kube-scheduler that are played in this process.
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engine_thread.hpp"
#include "cluster/base/check.hpp"
#include "cluster/base/mutex.hpp"
#include "http/server/allocator.hpp"
#include "kube/encode/encode.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/watch/cluster_feed.hpp"
#include "kube/write/events.hpp"
#include "kube/write/gang_status_writer.hpp"
#include "kube/write/pod_writer.hpp"

namespace muster::bench {
namespace {

using cluster::CondVar;
using cluster::Mutex;
using cluster::MutexLock;
using cluster::Result;
using kube::ApiReply;
using kube::ApiRequest;
using kube::Method;
using std::chrono::milliseconds;

constexpr int kGangSize = 8;
constexpr int kAtATime = 1'200;  // pods
constexpr int kNodes = 200;
constexpr std::string_view kGroups = "/apis/scheduling.x-k8s.io/v1alpha1";

// As the API server makes them, 36 characters.
std::string Uid(unsigned kind, int64_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-4c1d-4e2f-9a3b-%04x%08x", static_cast<unsigned>(number),
                kind, static_cast<unsigned>(number) * 2654435761U);
  return text;
}

// One resource's watch: lines that were told, and are told once.
class Channel {
 public:
  void Tell(const char* type, const std::string& object) {
    const MutexLock lock(mu_);
    lines_.push_back(std::string(R"({"type":")") + type + R"(","object":)" + object + "}\n");
    told_.NotifyAll();
  }
  // Nobody has lines to read.
  bool empty() const {
    const MutexLock lock(mu_);
    return lines_.empty();
  }
  // The lines so far, after at most a while.
  std::deque<std::string> Take() {
    const MutexLock lock(mu_);
    if (lines_.empty()) told_.WaitFor(mu_, milliseconds(20));
    return std::exchange(lines_, {});
  }

 private:
  mutable Mutex mu_;
  CondVar told_;
  std::deque<std::string> lines_ MUSTER_GUARDED_BY(mu_);
};

class PlayedStream final : public kube::ApiStream {
 public:
  explicit PlayedStream(std::function<Channel*(const std::string&)> find)
      : find_(std::move(find)) {}
  Result<ApiReply> Run(const std::string& path, const std::function<bool(std::string_view)>& take,
                       milliseconds) override {
    Channel* channel = find_(path);
    while (!stopping_) {
      if (channel == nullptr) {
        std::this_thread::sleep_for(milliseconds(20));
        continue;
      }
      for (const std::string& line : channel->Take()) {
        if (!take(line)) return ApiReply{200};
      }
    }
    return cluster::Error{cluster::Code::kUnavailable, "stopped", {}};
  }
  void Stop() override { stopping_ = true; }

 private:
  const std::function<Channel*(const std::string&)> find_;
  std::atomic<bool> stopping_{false};
};

// Keeps pods and PodGroups, does what it is asked, tells the watches, and says whom
// kube-scheduler would bind now.
class PlayedApi final : public kube::ApiCaller {
 public:
  Result<ApiReply> Call(const ApiRequest& request) override {
    const MutexLock lock(mu_);
    ++calls_;
    const std::string path = request.path.substr(0, request.path.find('?'));
    if (request.method == Method::kGet) return Delivered(Get(path), request);
    if (path.find("/events") != std::string::npos) return ApiReply{201, "{}"};
    if (path.starts_with(kGroups)) return PatchGroup(path);
    return WritePod(path, request);
  }
  std::unique_ptr<kube::ApiStream> OpenStream() override {
    return std::make_unique<PlayedStream>([this](const std::string& path) -> Channel* {
      if (path.starts_with("/api/v1/pods")) return &pods_told_;
      return path.starts_with(kGroups) ? &groups_told_ : nullptr;
    });
  }

  void CreateGang(int64_t number) {
    const MutexLock lock(mu_);
    const std::string name = "train-" + std::to_string(number);
    groups_[name] = {Uid(5, number), ++version_};
    groups_told_.Tell("ADDED", GroupObject(name));
    for (int i = 0; i < kGangSize; ++i) {
      cluster::PodSpec spec;
      spec.requests = {cluster::MilliCpu(1'000), cluster::MiB(1'024), 1};
      spec.gpus.count = 1;
      spec.scheduler_name = "muster";
      // What every job says otherwise than the others, as its own labels and names do.
      spec.constraints.node_selector["kubernetes.io/os"] = "linux";
      cluster::Pod pod;
      pod.uid = cluster::PodUid(Uid(2, number * kGangSize + i));
      pod.key = {"team", name + "-" + std::to_string(i)};
      pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
      pod.pod_group = name;
      pod.gates = {cluster::kGangGate};
      pod.created = cluster::Time(1'700'000'000'000 + number);
      pod.resource_version = ++version_;
      pods_told_.Tell("ADDED", kube::EncodePod(pod));
      pods_.emplace(pod.key.name, std::move(pod));
    }
  }

  // All of its pods succeed, and everything is deleted.
  void EndGang(int64_t number) {
    const MutexLock lock(mu_);
    const std::string name = "train-" + std::to_string(number);
    for (int i = 0; i < kGangSize; ++i) {
      const auto found = pods_.find(name + "-" + std::to_string(i));
      found->second.phase = cluster::PodPhase::kSucceeded;
      found->second.resource_version = ++version_;
      pods_told_.Tell("MODIFIED", kube::EncodePod(found->second));
      found->second.resource_version = ++version_;
      pods_told_.Tell("DELETED", kube::EncodePod(found->second));
      pods_.erase(found);
    }
    groups_told_.Tell("DELETED", GroupObject(name));
    groups_.erase(name);
    bound_.erase(number);
  }

  // Gangs all of whose pods were bound since.
  std::vector<int64_t> TakeStarted() {
    const MutexLock lock(mu_);
    return std::exchange(started_, {});
  }
  std::vector<engine::BindCall> TakeReleased() {
    const MutexLock lock(mu_);
    return std::exchange(released_, {});
  }
  bool Waits(const std::string& pod) const {
    const MutexLock lock(mu_);
    const auto found = pods_.find(pod);
    return found != pods_.end() && !found->second.bound();
  }
  int64_t calls() const {
    const MutexLock lock(mu_);
    return calls_;
  }
  // What its watches have still to tell is this program's memory and not Muster's.
  bool told() const { return pods_told_.empty() && groups_told_.empty(); }
  size_t pods() const {
    const MutexLock lock(mu_);
    return pods_.size();
  }

 private:
  struct Group {
    std::string uid;
    int64_t version = 0;
  };

  std::string GroupObject(const std::string& name) MUSTER_REQUIRES(mu_) {
    const Group& group = groups_[name];
    return R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"name":")" +
           name + R"(","namespace":"team","uid":")" + group.uid + R"(","resourceVersion":")" +
           std::to_string(group.version) +
           R"(","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"minMember":8}})";
  }

  static std::string Last(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  // As the real one answers: who reads the body as it comes gets it so.
  static ApiReply Delivered(ApiReply reply, const ApiRequest& request) {
    if (request.take != nullptr && reply.ok()) request.take(std::exchange(reply.body, {}));
    return reply;
  }

  ApiReply Get(const std::string& path) MUSTER_REQUIRES(mu_) {
    if (path == "/apis") {
      return {200,
              R"({"groups":[{"versions":[{"groupVersion":"scheduling.x-k8s.io/v1alpha1"}]}]})"};
    }
    if (path == kGroups)
      return {200, R"({"resources":[{"name":"podgroups"},{"name":"podgroups/status"}]})"};
    if (path.find("/namespaces/team/") != std::string::npos) {
      const std::string name = Last(path);
      if (path.starts_with(kGroups) && groups_.contains(name)) return {200, GroupObject(name)};
      const auto pod = pods_.find(name);
      if (pod == pods_.end()) return {404, "{}"};
      return {200, kube::EncodePod(pod->second)};
    }
    std::string items;
    for (int i = 0; path == "/api/v1/nodes" && i < kNodes; ++i) {
      cluster::Node node;
      node.uid = cluster::NodeUid(Uid(1, i));
      node.name = "gpu-worker-" + std::to_string(i);
      node.labels["kubernetes.io/os"] = "linux";
      node.allocatable = {cluster::MilliCpu(64'000), cluster::MiB(500'000), 110};
      for (uint16_t gpu = 0; gpu < 8; ++gpu) {
        cluster::Gpu device;
        device.index = cluster::GpuIndex{gpu};
        node.gpus.push_back(device);
      }
      items += (i > 0 ? "," : "") + kube::EncodeNode(node);
    }
    return {200, R"({"metadata":{"resourceVersion":"1"},"items":[)" + items + "]}"};
  }

  ApiReply PatchGroup(const std::string& path) MUSTER_REQUIRES(mu_) {
    std::string name = path;
    if (name.ends_with("/status")) name.resize(name.size() - std::string_view("/status").size());
    name = Last(name);
    if (!groups_.contains(name)) return {404, "{}"};
    groups_[name].version = ++version_;
    groups_told_.Tell("MODIFIED", GroupObject(name));
    return {200, GroupObject(name)};
  }

  ApiReply WritePod(const std::string& path, const ApiRequest& request) MUSTER_REQUIRES(mu_) {
    const std::string what = Last(path);
    const bool whole = what != "status" && what != "binding";
    const std::string name = whole ? what : Last(path.substr(0, path.rfind('/')));
    const auto found = pods_.find(name);
    if (found == pods_.end()) return {404, "{}"};
    cluster::Pod& pod = found->second;
    const Result<kube::Json> body = kube::Json::Parse(request.body, 1 << 20, "body");
    MUSTER_CHECK(body.ok());
    kube::JsonProblems problems;
    const kube::JsonView json(body->root(), "body", problems);
    if (what == "status") {
      const kube::JsonView status = json.Get("status");
      pod.nominated_node = status.Get("nominatedNodeName").Text();
    } else if (what == "binding") {
      const kube::JsonView target = json.Get("target");
      pod.node_name = target.Get("name").Text();
      pod.bound_by_muster = true;
      pod.nominated_node.clear();
      pod.phase = cluster::PodPhase::kRunning;
      const int64_t number = std::stoll(pod.pod_group.substr(std::string_view("train-").size()));
      if (++bound_[number] == kGangSize) started_.push_back(number);
    } else if (!pod.bound()) {  // a write to a pod that waits makes kube-scheduler look again
      pod.gates.clear();
      released_.push_back({pod.key, pod.uid, pod.nominated_node});
    }
    pod.resource_version = ++version_;
    const std::string object = kube::EncodePod(pod);
    pods_told_.Tell("MODIFIED", object);
    return {200, object};
  }

  mutable Mutex mu_;
  int64_t version_ MUSTER_GUARDED_BY(mu_) = 1;
  int64_t calls_ MUSTER_GUARDED_BY(mu_) = 0;
  std::map<std::string, cluster::Pod> pods_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, Group> groups_ MUSTER_GUARDED_BY(mu_);
  std::map<int64_t, int> bound_ MUSTER_GUARDED_BY(mu_);  // pods, by gang
  std::vector<int64_t> started_ MUSTER_GUARDED_BY(mu_);
  std::vector<engine::BindCall> released_ MUSTER_GUARDED_BY(mu_);
  Channel pods_told_;
  Channel groups_told_;
};

// What serve puts together, without the servers.
class Muster {
 public:
  explicit Muster(PlayedApi& api)
      : api_(api),
        feed_({.api = api,
               .versions = versions_,
               .apply =
                   [this](std::span<const engine::Fact> facts) {
                     for (const engine::Fact& fact : facts) loop_.Apply(fact);
                   },
               .synced = [this] { synced_ = true; },
               .warn = Warn},
              {}, 1),
        statuses_({api, Find(), [] { return true; }, Warn}),
        events_({api, Find(), [] { return true; }, Warn}, {}),
        writer_({.api = api,
                 .versions = versions_,
                 .may_write = [] { return true; },
                 .report = [this](const engine::Outcome& outcome) { loop_.Report(outcome); },
                 .epoch = [] { return std::string("1 bench"); },
                 .gang_status =
                     [this](const engine::PatchGang& gang) {
                       statuses_.Want(gang, kube::ReadClocks().steady);
                       status_steps_.Poke();
                     },
                 .event =
                     [this](const engine::EmitEvent& event) {
                       events_.Record(event, kube::ReadClocks());
                       event_steps_.Poke();
                     },
                 .warn = Warn},
                {.workers = 4}, 1),
        loop_(
            scheduler_, [] { return kube::ReadClocks().wall; },
            [this](const std::vector<engine::Action>& actions) { writer_.Perform(actions); }),
        status_steps_([this](const kube::Clocks& now) { return statuses_.Step(now); }),
        event_steps_([this](const kube::Clocks& now) { return events_.Step(now); }) {
    writer_.Start();
    feed_.Start();
    WaitUntilSynced();
    loop_.Start();
  }
  ~Muster() {
    feed_.Stop();
    loop_.Stop();
    writer_.Stop();
    status_steps_.Stop();
    event_steps_.Stop();
  }
  Muster(const Muster&) = delete;
  Muster& operator=(const Muster&) = delete;

  // kube-scheduler at Bind, for all whose gates went, and once more for whom it was told "no".
  void BindReleased() {
    const cluster::Time now = kube::ReadClocks().wall;
    std::vector<engine::BindCall> calls = api_.TakeReleased();
    for (; !refused_.empty() && refused_.front().first <= now; refused_.pop_front()) {
      calls.push_back(std::move(refused_.front().second));
    }
    for (const engine::BindCall& call : calls) {
      const auto receipt = scheduler_.Bind(call, next_ticket_++, now);
      const bool gone = !receipt.held && !api_.Waits(call.pod.name);
      if (!receipt.error.empty() && !gone) refused_.emplace_back(now + cluster::Seconds(1), call);
      loop_.Poke();
    }
  }
  const engine::Scheduler& scheduler() const { return scheduler_; }

 private:
  void WaitUntilSynced() {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!synced_) {
      MUSTER_CHECK(std::chrono::steady_clock::now() < latest);
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  static void Warn(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }
  std::function<std::optional<kube::ServedPodGroups>(const cluster::PodGroupUid&)> Find() {
    return [this](const cluster::PodGroupUid& uid) { return feed_.FindServed(uid); };
  }

  PlayedApi& api_;
  engine::Scheduler scheduler_{engine::Options{}};
  kube::PodVersions versions_;
  std::atomic<bool> synced_{false};
  uint64_t next_ticket_ = 1;
  std::deque<std::pair<cluster::Time, engine::BindCall>> refused_;  // by when they are asked again
  kube::ClusterFeed feed_;
  kube::GangStatusWriter statuses_;
  kube::EventRecorder events_;
  kube::PodWriter writer_;
  EngineThread loop_;
  kube::StepThread status_steps_;
  kube::StepThread event_steps_;
};

struct Memory {
  double resident = 0;  // megabytes
  double in_use = 0;    // of the allocator's
};

Memory Measure() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  constexpr double kPage = 4096e-6;
  const struct mallinfo2 info = mallinfo2();
  return {static_cast<double>(resident) * kPage,
          1e-6 * static_cast<double>(info.uordblks + info.hblkhd)};
}

bool Run(int64_t pods, int64_t step) {
  PlayedApi api;
  Muster muster(api);
  int64_t created = 0;
  int64_t ended = 0;
  int64_t next_report = kAtATime;
  Memory middle;
  std::printf("%10s %10s %12s %10s %10s %12s\n", "pods ended", "RSS, MB", "in use, MB", "pods now",
              "gangs now", "API calls");
  while (ended < pods) {
    while (kGangSize * created - ended < kAtATime) api.CreateGang(created++);
    muster.BindReleased();
    const std::vector<int64_t> started = api.TakeStarted();
    if (started.empty()) std::this_thread::sleep_for(milliseconds(1));
    for (const int64_t gang : started) {
      api.EndGang(gang);
      ended += kGangSize;
    }
    if (ended < next_report) continue;
    next_report += step;
    while (!api.told()) std::this_thread::sleep_for(milliseconds(1));
    const Memory now = Measure();
    const engine::Counts counts = muster.scheduler().Count();
    int64_t gangs = 0;
    for (const int64_t of_state : counts.gangs) gangs += of_state;
    std::printf("%10lld %10.1f %12.1f %10lld %10lld %12lld\n", static_cast<long long>(ended),
                now.resident, now.in_use, static_cast<long long>(counts.pods),
                static_cast<long long>(gangs), static_cast<long long>(api.calls()));
    std::fflush(stdout);
    if (middle.resident == 0 && ended >= pods / 2) middle = now;
  }
  const Memory last = Measure();
  const double grown = last.resident - middle.resident;
  std::printf("the second half: %+.1f MB resident, %+.1f MB in use\n", grown,
              last.in_use - middle.in_use);
  malloc_trim(0);  // what stays then is not the allocator's own reserve
  std::printf("without the allocator's free pages: %.1f MB resident\n", Measure().resident);
  return true;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  muster::http::GiveFreedMemoryBack();  // as muster serve does
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  return muster::bench::Run(smoke ? 2'400 : 200'000, smoke ? 600 : 20'000) ? 0 : 1;
}
