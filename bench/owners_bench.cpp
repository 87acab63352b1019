// What do owners of pods cost? Bytes for each, while 300 Jobs of 1.35 MB have a pod that waits; and
// the time of other namespaces' Filter calls, while the 5,000 gated pods of a JobSet of 1,024 roles
// are listed, its owners are read, and are read again with changes. An API server is played.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engine_thread.hpp"
#include "bench/resident.hpp"
#include "cluster/base/check.hpp"
#include "cluster/base/mutex.hpp"
#include "config/policies/grouping_file.hpp"
#include "kube/watch/cluster_feed.hpp"

namespace muster::bench {
namespace {

using cluster::MutexLock;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int64_t kGoalBytes = 64 << 10;  // of an owner
constexpr double kGoalFilter = 20;        // milliseconds, p99
constexpr std::chrono::minutes kPatience{5};

// Objects by path, and watches on which events can be sent.
class PlayedServer : public kube::ApiCaller {
 public:
  using Make = std::function<std::string()>;

  void Serve(const std::string& path, Make object) {
    const MutexLock lock(mu_);
    objects_[path] = std::move(object);
  }
  void List(const std::string& path, std::vector<std::string> items) {
    const MutexLock lock(mu_);
    lists_[path] = std::move(items);
  }
  void Send(const std::string& path, const std::string& type, const std::string& object) {
    const MutexLock lock(mu_);
    events_[path].push_back(R"({"type":")" + type + R"(","object":)" + object + "}\n");
    changed_.NotifyAll();
  }
  int reads(const std::string& path) const {
    const MutexLock lock(mu_);
    const auto found = reads_.find(path);
    return found == reads_.end() ? 0 : found->second;
  }

  cluster::Result<kube::ApiReply> Call(const kube::ApiRequest& request) override {
    const std::string body = BodyOf(request.path);
    if (!request.take) return kube::ApiReply{200, body};
    // As it would come from a connection.
    constexpr size_t kPiece = size_t{16} << 10;
    for (size_t at = 0; at < body.size(); at += kPiece)
      if (!request.take(std::string_view(body).substr(at, kPiece))) break;
    return kube::ApiReply{200};
  }
  std::unique_ptr<kube::ApiStream> OpenStream() override { return std::make_unique<Watch>(*this); }

 private:
  class Watch : public kube::ApiStream {
   public:
    explicit Watch(PlayedServer& server) : server_(server) {}
    cluster::Result<kube::ApiReply> Run(const std::string& path,
                                        const std::function<bool(std::string_view)>& take,
                                        milliseconds /*silence*/) override {
      const std::string resource = path.substr(0, path.find('?'));
      while (true) {
        std::string lines;
        {
          const MutexLock lock(server_.mu_);
          std::deque<std::string>& events = server_.events_[resource];
          while (!stopped_ && events.empty()) server_.changed_.Wait(server_.mu_);
          if (stopped_) return cluster::Error{cluster::Code::kUnavailable, "stopped", ""};
          for (const std::string& event : events) lines += event;
          events.clear();
        }
        if (!take(lines)) return kube::ApiReply{200};
      }
    }
    void Stop() override {
      const MutexLock lock(server_.mu_);
      stopped_ = true;
      server_.changed_.NotifyAll();
    }

   private:
    PlayedServer& server_;
    bool stopped_ = false;
  };

  std::string BodyOf(const std::string& path) {
    if (path == "/version") return R"({"major":"1","minor":"37"})";
    if (path == "/apis") return R"({"kind":"APIGroupList","apiVersion":"v1","groups":[]})";
    Make make;
    {
      const MutexLock lock(mu_);
      if (const auto object = objects_.find(path); object != objects_.end()) {
        ++reads_[path];
        make = object->second;
      }
    }
    if (make) return make();
    const MutexLock lock(mu_);
    std::string body = R"({"metadata":{"resourceVersion":"9"},"items":[)";
    const std::vector<std::string>& items = lists_[path.substr(0, path.find('?'))];
    for (const std::string& item : items) body += (&item == items.data() ? "" : ",") + item;
    return body + "]}";
  }

  mutable cluster::Mutex mu_;
  cluster::CondVar changed_;
  std::map<std::string, Make> objects_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, std::vector<std::string>> lists_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, std::deque<std::string>> events_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, int> reads_ MUSTER_GUARDED_BY(mu_);
};

// A feed and an engine that it tells.
class Stage {
 public:
  Stage() {
    feed_ = std::make_unique<kube::ClusterFeed>(
        kube::ClusterFeed::Ports{
            .api = server,
            .versions = versions_,
            .apply = [this](std::span<const engine::Fact> facts) { Apply(facts); },
            .synced = [this] { synced_ = true; },
            .warn = [](const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }},
        kube::ClusterFeedOptions{}, 1);
    feed_->SetGrouping({config::ShippedGroupingRules(), {"muster"}});
  }
  ~Stage() {
    feed_->Stop();
    loop_.Stop();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void Start() {
    loop_.Start();
    feed_->Start();
  }
  void AwaitSynced() const {
    Await([this] { return synced_.load(); });
  }
  template <typename Condition>
  static void Await(const Condition& holds) {
    const auto until = Clock::now() + kPatience;
    while (!holds()) {
      MUSTER_CHECK(Clock::now() < until);
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  // What a Filter call does; in milliseconds.
  double Filter(const engine::NodesQuestion& question) {
    engine::NodesQuestion asked = question;
    const auto begin = Clock::now();
    if (feed_->AskGrouping(asked.pod).empty()) scheduler_.Filter(asked, Now());
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }
  // Of the gang that the engine was told of last, as its pods declare it.
  int64_t minimum() const { return minimum_; }
  double longest_apply() const { return longest_apply_.load(); }

  PlayedServer server;

 private:
  static cluster::Time Now() {
    return cluster::Time(std::chrono::duration_cast<milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count());
  }
  void Apply(std::span<const engine::Fact> facts) {
    for (const engine::Fact& fact : facts) {
      const auto* group = std::get_if<cluster::PodGroup>(&fact);
      if (group != nullptr && group->key.ns == "large") minimum_ = group->min_member;
    }
    const auto begin = Clock::now();
    scheduler_.Apply(facts, Now());
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    longest_apply_ = std::max(longest_apply_.load(), took);
    loop_.Poke();
  }

  kube::PodVersions versions_;
  engine::Scheduler scheduler_{engine::Options()};
  std::atomic<bool> synced_{false};
  std::atomic<int64_t> minimum_{0};
  std::atomic<double> longest_apply_{0};
  EngineThread loop_{scheduler_, [] { return Now(); }, [](const std::vector<engine::Action>&) {}};
  std::unique_ptr<kube::ClusterFeed> feed_;
};

std::string Meta(const std::string& ns, const std::string& name, const std::string& more) {
  return R"("metadata":{"name":")" + name + R"(","namespace":")" + ns + R"(","uid":"uid-)" + name +
         R"(",)" + more + "}";
}

std::string OwnedBy(const std::string& api_version, const std::string& kind,
                    const std::string& name) {
  return R"("ownerReferences":[{"apiVersion":")" + api_version + R"(","kind":")" + kind +
         R"(","name":")" + name + R"(","uid":"uid-)" + name + R"(","controller":true}])";
}

std::string PodOf(const std::string& ns, const std::string& job, int index,
                  const std::string& labels, bool gated) {
  const std::string name = job + "-" + std::to_string(index);
  return "{" +
         Meta(ns, name,
              R"("resourceVersion":"4","creationTimestamp":"2026-11-01T10:00:00Z","labels":{)" +
                  labels + R"("batch.kubernetes.io/job-name":")" + job + R"("},"annotations":{)" +
                  R"("batch.kubernetes.io/job-completion-index":")" + std::to_string(index) +
                  "\"}," + OwnedBy("batch/v1", "Job", job)) +
         R"(,"spec":{"schedulerName":"muster",)" +
         (gated ? R"("schedulingGates":[{"name":"muster.dev/gang"}],)" : "") +
         R"("containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"},)" +
         R"("requests":{"cpu":"4","memory":"16Gi"}}}]},"status":{"phase":"Pending"}})";
}

// As people who have their settings in the environment write them.
std::string Environment(size_t bytes) {
  std::string text = R"("env":[)";
  for (int i = 0; text.size() < bytes; ++i) {
    char one[64];
    std::snprintf(one, sizeof one, R"(%s{"name":"SET_%05d","value":"%d"})", i == 0 ? "" : ",", i,
                  i % 10);
    text += one;
  }
  return text + "]";
}

std::string JobOf(const std::string& ns, const std::string& name, const std::string& meta, int pods,
                  size_t bytes) {
  const std::string count = std::to_string(pods);
  return R"({"apiVersion":"batch/v1","kind":"Job",)" +
         Meta(ns, name,
              R"("resourceVersion":"3","creationTimestamp":"2026-11-01T10:00:00Z")" + meta) +
         R"(,"spec":{"completionMode":"Indexed","parallelism":)" + count + R"(,"completions":)" +
         count + R"(,"template":{"spec":{"containers":[{"name":"main",)" + Environment(bytes) +
         R"(}]}}},"status":{"ready":0}})";
}

std::string JobPath(const std::string& ns, const std::string& name) {
  return "/apis/batch/v1/namespaces/" + ns + "/jobs/" + name;
}

std::string Node(int number) {
  const std::string name = "node-" + std::to_string(number);
  return R"({"metadata":{"name":")" + name + R"(","uid":"uid-)" + name +
         R"(","resourceVersion":"3"},"status":{"allocatable":{"cpu":"192","memory":"2000Gi",)" +
         R"("pods":"110","nvidia.com/gpu":"8"},"conditions":[{"type":"Ready","status":"True"}]}})";
}

void MeasureMemory(int jobs, size_t bytes) {
  Stage stage;
  std::vector<std::string> pods;
  for (int i = 0; i < jobs; ++i) {
    const std::string ns = "team-" + std::to_string(i % 10);
    const std::string name = "train-" + std::to_string(i);
    pods.push_back(PodOf(ns, name, 0, "", true));
    stage.server.Serve(JobPath(ns, name), [=] { return JobOf(ns, name, "", 8, bytes); });
  }
  stage.server.List("/api/v1/pods", std::move(pods));
  const int64_t before = UsedBytes();
  stage.Start();
  stage.AwaitSynced();
  const int64_t each = (UsedBytes() - before) / jobs;
  std::printf("%d Jobs of %zu bytes, each with a pod\n", jobs, bytes);
  std::printf("goal %s: %ld bytes resident for each, at most %ld\n",
              each <= kGoalBytes ? "met" : "missed", static_cast<long>(each),
              static_cast<long>(kGoalBytes));
}

// The JobSet large/train and what it makes.
class LargeJobSet {
 public:
  LargeJobSet(PlayedServer& server, int roles, int pods) : server_(server), roles_(roles) {
    for (int i = 0; i < roles; ++i) sizes_.push_back(pods / roles + (i < pods % roles ? 1 : 0));
    for (int i = 0; i < roles; ++i) {
      const std::string job = Job(i);
      const std::string meta = "," + OwnedBy("jobset.x-k8s.io/v1alpha2", "JobSet", "train");
      server.Serve(JobPath("large", job), [job, meta, size = sizes_[static_cast<size_t>(i)]] {
        return JobOf("large", job, meta, size, 2'000);
      });
    }
    Serve(0);
  }
  std::vector<std::string> Pods() const {
    std::vector<std::string> pods;
    for (int i = 0; i < roles_; ++i)
      for (int pod = 0; pod < sizes_[static_cast<size_t>(i)]; ++pod) pods.push_back(Pod(i, pod));
    return pods;
  }
  int reads() const { return server_.reads(kPath); }
  // A pod of another role goes, and the JobSet wants one less of it: it is read again for that.
  void Shrink(int role) {
    Serve(role + 1);
    server_.Send("/api/v1/pods", "DELETED", Pod(role, 0));
  }

 private:
  static std::string Job(int role) { return "train-role-" + std::to_string(role) + "-0"; }
  static std::string Pod(int role, int pod) {
    return PodOf("large", Job(role), pod,
                 R"("jobset.sigs.k8s.io/jobset-name":"train",)"
                 R"("jobset.sigs.k8s.io/restart-attempt":"0",)"
                 R"("jobset.sigs.k8s.io/replicatedjob-name":"role-)" +
                     std::to_string(role) + "\",",
                 true);
  }
  // The first roles want one less.
  void Serve(int fewer) {
    std::string text = R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",)" +
                       Meta("large", "train",
                            R"("resourceVersion":")" + std::to_string(fewer + 1) +
                                R"(","creationTimestamp":"2026-11-01T10:00:00Z")") +
                       R"(,"spec":{"replicatedJobs":[)";
    for (int i = 0; i < roles_; ++i) {
      const std::string size = std::to_string(sizes_[static_cast<size_t>(i)] - (i < fewer ? 1 : 0));
      text.append(i == 0 ? "" : ",").append(R"({"name":"role-)").append(std::to_string(i));
      text.append(R"(","replicas":1,"template":{"spec":{"parallelism":)").append(size);
      text.append(R"(,"completions":)").append(size);
      text.append(R"(,"template":{"spec":{"containers":[{"name":"main",)");
      text.append(Environment(400)).append("}]}}}}}");
    }
    text += "]}}";
    server_.Serve(kPath, [text] { return text; });
  }

  static constexpr const char* kPath =
      "/apis/jobset.x-k8s.io/v1alpha2/namespaces/large/jobsets/train";

  PlayedServer& server_;
  const int roles_;
  std::vector<int> sizes_;
};

void Print(const char* what, std::vector<double> times) {
  MUSTER_CHECK(!times.empty());
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[std::min(times.size() - 1,
                          static_cast<size_t>(part * static_cast<double>(times.size())))];
  };
  std::printf("%s: %zu Filter calls, p50 %.2f ms, p99 %.2f ms, max %.2f ms; goal %s, p99 %.0f ms\n",
              what, times.size(), at(0.5), at(0.99), times.back(),
              at(0.99) <= kGoalFilter ? "met" : "missed", kGoalFilter);
}

// Another namespace's Filter calls, which come every ten milliseconds whether those before are
// answered or not.
class Asker {
 public:
  Asker(Stage& stage, engine::NodesQuestion question)
      : thread_([this, &stage, question = std::move(question)] {
          for (auto due = Clock::now(); !stopping_; due += milliseconds(10)) {
            std::this_thread::sleep_until(due);
            stage.Filter(question);
            const std::chrono::duration<double, std::milli> took = Clock::now() - due;
            const MutexLock lock(mu_);
            calls_.push_back({due, took.count()});
          }
        }) {}
  ~Asker() {
    stopping_ = true;
    thread_.join();
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  // How long those took that came in this time; all of them are answered.
  std::vector<double> Times(Clock::time_point from, Clock::time_point to) const {
    Stage::Await([&] {
      const MutexLock lock(mu_);
      return !calls_.empty() && calls_.back().due >= to;
    });
    const MutexLock lock(mu_);
    std::vector<double> times;
    for (const Call& call : calls_)
      if (call.due >= from && call.due < to) times.push_back(call.milliseconds);
    return times;
  }

 private:
  struct Call {
    Clock::time_point due;
    double milliseconds = 0;
  };
  mutable cluster::Mutex mu_;
  std::vector<Call> calls_ MUSTER_GUARDED_BY(mu_);
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses all of the above
};

void MeasureFilter(int roles, int pods, int changes) {
  Stage stage;
  LargeJobSet jobset(stage.server, roles, pods);
  std::vector<std::string> listed = jobset.Pods();
  listed.push_back(PodOf("other", "asks", 0, "", false));
  stage.server.Serve(JobPath("other", "asks"), [] { return JobOf("other", "asks", "", 1, 0); });
  stage.server.List("/api/v1/pods", std::move(listed));
  std::vector<std::string> nodes;
  engine::NodesQuestion question;
  for (int i = 0; i < 100; ++i) {
    nodes.push_back(Node(i));
    question.nodes.push_back("node-" + std::to_string(i));
  }
  stage.server.List("/api/v1/nodes", std::move(nodes));
  const auto asking = kube::DecodePod(PodOf("other", "asks", 0, "", false));
  MUSTER_CHECK(asking.ok());
  question.pod = *asking;
  Asker asker(stage, std::move(question));
  const auto begin = Clock::now();
  stage.Start();
  stage.AwaitSynced();
  Stage::Await([&] { return stage.minimum() == pods; });
  const auto known = Clock::now();
  const std::chrono::duration<double> took = known - begin;
  std::printf("a JobSet of %d roles with %d gated pods; %.1f s until all is known\n", roles, pods,
              took.count());
  Print("listed and read", asker.Times(begin, std::max(known, begin + milliseconds(100))));
  std::vector<double> again;
  for (int i = 0; i < changes; ++i) {
    const int reads = jobset.reads();
    jobset.Shrink(i);
    Stage::Await([&] { return jobset.reads() > reads; });
    const auto read = Clock::now();
    Stage::Await([&] { return stage.minimum() == pods - i - 1; });
    // The others of its pods are judged, too, and the engine follows.
    const auto times = asker.Times(read, std::max(Clock::now(), read + milliseconds(500)));
    again.insert(again.end(), times.begin(), times.end());
  }
  Print("read again with changes", std::move(again));
  std::printf("the longest of the engine's Apply calls: %.1f ms\n", stage.longest_apply());
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  muster::bench::MeasureMemory(smoke ? 10 : 300, smoke ? 100'000 : 1'350'000);
  muster::bench::MeasureFilter(smoke ? 16 : 1'024, smoke ? 64 : 5'000, smoke ? 1 : 5);
  return 0;
}
