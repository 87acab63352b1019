// Does memory follow what Muster uses of pods, or the bytes that they have? 5,000 pods are listed
// and then watched, as a played API server sends them, once thin and once fat: 32 KB of environment
// and 8 KB of managed fields each, 1.4 MB for every fiftieth, and sixty with 750,000 empty values
// in their node affinity. Each reader is a process of its own.
#include <httplib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state.hpp"
#include "http/server/allocator.hpp"
#include "kube/api/api_client.hpp"
#include "kube/watch/reflector.hpp"

namespace muster::bench {
namespace {

constexpr int kGoalMegabytes = 50;

struct Size {
  int pods = 5'000;
  int values = 750'000;  // in the affinity of a picky pod
};

enum class Weight { kThin, kFat };

// kB of a line of /proc/self/status.
int64_t Status(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoll(line.substr(name.size() + 1));
  }
  return 0;
}

// What a pod has that nobody here uses, and what picky ones demand.
class Ballast {
 public:
  explicit Ballast(Size size) : environment_(Environment(32'000)), large_(Environment(1'400'000)) {
    for (int field = 0; managed_.size() < 8'000; ++field) {
      managed_ += (field == 0 ? "" : ",") + ("\"f:field-" + std::to_string(field)) + "\":{}";
    }
    picky_ = R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
             R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)";
    for (int i = 0; i < size.values; ++i) picky_ += i == 0 ? R"("")" : R"(,"")";
    picky_ += "]}]}]}}},";
  }

  std::string Pod(int number, int version, Weight weight) const {
    const bool fat = weight == Weight::kFat;
    const std::string id = std::to_string(number);
    std::string pod =
        R"({"metadata":{"name":"worker-)" + id + R"(","namespace":"team","uid":"0c-)" + id +
        R"(-4e2f-9a3b-000000000000","resourceVersion":")" + std::to_string(version) +
        R"(","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"train",)" +
        R"("scheduling.x-k8s.io/pod-group":"g-)" + std::to_string(number / 8) + R"("})";
    if (fat) pod += R"(,"managedFields":[{"fieldsV1":{)" + managed_ + "}}]";
    pod += R"(},"spec":{"schedulerName":"muster",)";
    if (fat && number % 80 == 7) pod += picky_;
    pod += R"("containers":[{"name":"main","image":"registry/train:1")";
    if (fat) pod += R"(,"env":[)" + (number % 50 == 0 ? large_ : environment_) + "]";
    pod += R"(,"resources":{"limits":{"nvidia.com/gpu":"1"},"requests":{"cpu":"4",)"
           R"("memory":"16Gi"}}}]},"status":{"phase":"Pending"}})";
    return pod;
  }

 private:
  static std::string Environment(int bytes) {
    std::string env;
    for (int i = 0; static_cast<int>(env.size()) < bytes; ++i) {
      env += (i == 0 ? "" : ",") + (R"({"name":"VARIABLE_)" + std::to_string(i)) +
             R"(","value":")" + std::string(static_cast<size_t>(100 + bytes / 20), 'v') + R"("})";
    }
    return env;
  }

  std::string environment_;
  std::string large_;
  std::string managed_;
  std::string picky_;
};

// A list of `size.pods` pods in pages, then a watch in which each of them changes once.
class Server {
 public:
  explicit Server(Size size) : size_(size), ballast_(size) {
    http_.new_task_queue = [] { return new httplib::ThreadPool(8); };
    for (const Weight weight : {Weight::kThin, Weight::kFat}) {
      const std::string path = weight == Weight::kThin ? "/thin" : "/fat";
      http_.Get(path + "/api/v1/pods", [this, weight](const auto& request, auto& response) {
        if (request.has_param("watch")) {
          Watch(weight, response);
        } else {
          List(weight, request, response);
        }
      });
    }
  }
  int Bind() { return http_.bind_to_any_port("127.0.0.1"); }
  void Run() { http_.listen_after_bind(); }

 private:
  void List(Weight weight, const httplib::Request& request, httplib::Response& response) {
    const auto number = [&](const char* name) {
      return request.has_param(name) ? std::stoi(request.get_param_value(name)) : 0;
    };
    const int begin = number("continue");
    const int end = std::min(size_.pods, begin + number("limit"));
    const std::string token = end < size_.pods ? std::to_string(end) : "";
    response.set_chunked_content_provider(
        "application/json", [=, this](size_t, httplib::DataSink& sink) {
          Send(sink, R"({"kind":"PodList","metadata":{"resourceVersion":"1000","continue":")" +
                         token + R"("},"items":[)");
          for (int pod = begin; pod < end; ++pod) {
            Send(sink, (pod == begin ? "" : ",") + ballast_.Pod(pod, 1 + pod % 900, weight));
          }
          Send(sink, "]}");
          sink.done();
          return true;
        });
  }

  void Watch(Weight weight, httplib::Response& response) {
    response.set_chunked_content_provider(
        "application/json", [this, weight, next = 0](size_t, httplib::DataSink& sink) mutable {
          if (next == size_.pods) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return sink.is_writable();
          }
          Send(sink,
               R"({"type":"MODIFIED","object":)" + ballast_.Pod(next, 2000 + next, weight) + "}\n");
          ++next;
          return true;
        });
  }

  static void Send(httplib::DataSink& sink, const std::string& text) {
    sink.write(text.data(), text.size());
  }

  const Size size_;
  const Ballast ballast_;
  httplib::Server http_;
};

struct Reading {
  int64_t peak_kb = 0;
  int64_t resident_kb = 0;
  int64_t pods = 0;
  int64_t defects = 0;
  double seconds = 0;
};

// Reads the list and the watch into a model of the cluster.
Reading ReadCluster(int port, Weight weight, Size size) {
  http::GiveFreedMemoryBack();  // as muster serve does
  kube::ClientConfig config;
  config.port = static_cast<std::uint16_t>(port);
  config.tls = false;
  config.path_prefix = weight == Weight::kThin ? "/thin" : "/fat";
  config.disable_compression = true;
  auto client = kube::ApiClient::Create(config, {});
  MUSTER_CHECK(client.ok());
  cluster::ClusterState state;
  int told = 0;
  int64_t defects = 0;
  std::atomic<bool> done = false;
  const auto began = std::chrono::steady_clock::now();
  kube::Reflector reflector(
      kube::PodResource(),
      {.api = **client,
       .apply =
           [&](const kube::News& news) {
             const auto* pod = std::get_if<cluster::Pod>(&std::get<engine::Fact>(news));
             MUSTER_CHECK(pod != nullptr);
             if (told < size.pods) defects += pod->defect.empty() ? 0 : 1;
             static_cast<void>(state.Upsert(*pod));
             done = ++told == 2 * size.pods;
           },
       .synced = [] {},
       .warn = [](const std::string& line) { std::printf("  %s\n", line.c_str()); }},
      {}, 1);
  std::thread thread([&] { reflector.Run(); });
  const auto patience = began + std::chrono::minutes(5);
  while (!done && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  reflector.Stop();
  thread.join();
  return {Status("VmHWM:"), Status("VmRSS:"), told / 2, defects, took.count()};
}

// `ReadCluster` in a process of its own.
Reading ReadApart(int port, Weight weight, Size size) {
  int ends[2];
  MUSTER_CHECK(::pipe(ends) == 0);
  const pid_t child = ::fork();
  MUSTER_CHECK(child >= 0);
  if (child == 0) {
    const Reading reading = ReadCluster(port, weight, size);
    const bool told = ::write(ends[1], &reading, sizeof reading) == sizeof reading;
    std::fflush(stdout);
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Reading reading;
  const bool whole = ::read(ends[0], &reading, sizeof reading) == sizeof reading;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!whole || status != 0) reading.pods = 0;
  return reading;
}

void Print(const char* name, const Reading& reading) {
  constexpr int64_t kKilo = 1024;
  std::printf(
      "%-6s %6lld pods  %4lld with a defect  %6.1f s  peak RSS %5lld MB, at the end %5lld MB\n",
      name, static_cast<long long>(reading.pods), static_cast<long long>(reading.defects),
      reading.seconds, static_cast<long long>(reading.peak_kb / kKilo),
      static_cast<long long>(reading.resident_kb / kKilo));
}

int Main(bool smoke) {
  const Size size = smoke ? Size{200, 20'000} : Size{};
  int ends[2];
  MUSTER_CHECK(::pipe(ends) == 0);
  const pid_t server = ::fork();
  MUSTER_CHECK(server >= 0);
  if (server == 0) {
    Server played(size);
    const int port = played.Bind();
    if (::write(ends[1], &port, sizeof port) == sizeof port) played.Run();
    ::_exit(1);
  }
  int port = 0;
  MUSTER_CHECK(::read(ends[0], &port, sizeof port) == sizeof port && port > 0);
  const Reading thin = ReadApart(port, Weight::kThin, size);
  const Reading fat = ReadApart(port, Weight::kFat, size);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  Print("thin", thin);
  Print("fat", fat);
  if (thin.pods != size.pods || fat.pods != size.pods) {
    std::printf("not all pods were read\n");
    return 1;
  }
  const int64_t more = (fat.peak_kb - thin.peak_kb) / 1024;
  std::printf("fat pods cost %lld MB more than thin ones at the peak; goal: at most %d MB, %s\n",
              static_cast<long long>(more), kGoalMegabytes,
              more <= kGoalMegabytes ? "met" : "MISSED");
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  return muster::bench::Main(argc > 1 && std::string_view(argv[1]) == "--smoke");
}
