// What do the claims, volumes and CSINodes of a large cluster cost in memory, of which no pod of a
// gang names one yet? 20,000 claims with their volumes and 5,000 CSINodes are listed by the readers
// of kube/ and told to an engine, as in a process that leads.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/resident.hpp"
#include "cluster/base/check.hpp"
#include "cluster/base/mutex.hpp"
#include "engine/scheduler.hpp"
#include "kube/watch/reflector.hpp"
#include "kube/watch/storage_kinds.hpp"

namespace muster::bench {
namespace {

constexpr int kGoalMegabytes = 20;
constexpr int64_t kBytesPerMegabyte = 1'000'000;

std::string Uid(int number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-4c1d-4e2f-9a3b-%012x", static_cast<unsigned>(number),
                static_cast<unsigned>(number) * 2654435761U);
  return text;
}

// As provisioners name them; a StatefulSet's claim has its template's name, the set's and a number.
std::string VolumeName(int number) { return "pvc-" + Uid(number); }
std::string ClaimName(int number) { return "data-training-job-worker-" + std::to_string(number); }
std::string Namespace(int number) { return "team-" + std::to_string(number % 50); }

std::string Meta(const std::string& name, const std::string& ns, int number) {
  return R"("metadata":{"name":")" + name + "\"" +
         (ns.empty() ? "" : R"(,"namespace":")" + ns + "\"") + R"(,"uid":")" + Uid(number) +
         R"(","resourceVersion":")" + std::to_string(number + 1) +
         R"(","annotations":{"pv.kubernetes.io/bind-completed":"yes"}})";
}

std::string Claim(int number) {
  return "{" + Meta(ClaimName(number), Namespace(number), number) +
         R"(,"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast-ssd","volumeName":")" +
         VolumeName(number) + R"(","resources":{"requests":{"storage":"1Ti"}}},)" +
         R"("status":{"phase":"Bound"}})";
}

std::string Volume(int number) {
  return "{" + Meta(VolumeName(number), "", number) +
         R"(,"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Ti"},)" +
         R"("storageClassName":"fast-ssd","csi":{"driver":"csi.example.com",)" +
         R"("volumeHandle":"vol-)" + Uid(number) + R"("},"claimRef":{"namespace":")" +
         Namespace(number) + R"(","name":")" + ClaimName(number) +
         R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[)" +
         R"({"key":"topology.kubernetes.io/zone","operator":"In","values":["zone-)" +
         std::to_string(number % 3) + R"("]}]}]}}},"status":{"phase":"Bound"}})";
}

// As a kubelet writes it for two drivers.
std::string NodeDrivers(int number) {
  const std::string node = "ip-10-0-0-" + std::to_string(number) + ".eu-central-1.compute.internal";
  return "{" + Meta(node, "", number) +
         R"(,"spec":{"drivers":[{"name":"csi.example.com","nodeID":")" + Uid(number) +
         R"(","topologyKeys":["topology.kubernetes.io/zone"],"allocatable":{"count":25}},)" +
         R"({"name":"files.csi.example.com","nodeID":")" + Uid(number) +
         R"(","topologyKeys":[]}]}})";
}

// Answers lists, and keeps watches open.
class PlayedServer : public kube::ApiCaller {
 public:
  explicit PlayedServer(int claims) : claims_(claims) {}

  cluster::Result<kube::ApiReply> Call(const kube::ApiRequest& request) override {
    const std::string& path = request.path;
    int begin = 0;
    if (const size_t at = path.find("continue="); at != std::string::npos)
      begin = std::stoi(path.substr(at + 9));
    const int end = std::min(Count(path), begin + kPage);
    std::string body = R"({"metadata":{"resourceVersion":"9")";
    if (end < Count(path)) body += R"(,"continue":")" + std::to_string(end) + "\"";
    body += R"(},"items":[)";
    for (int i = begin; i < end; ++i) body += (i == begin ? "" : ",") + One(path, i);
    body += "]}";
    if (!request.take) return kube::ApiReply{200, std::move(body)};
    request.take(body);
    return kube::ApiReply{200};
  }
  std::unique_ptr<kube::ApiStream> OpenStream() override { return std::make_unique<Silence>(); }

 private:
  static constexpr int kPage = 500;
  class Silence : public kube::ApiStream {
   public:
    cluster::Result<kube::ApiReply> Run(const std::string& /*path*/,
                                        const std::function<bool(std::string_view)>& /*take*/,
                                        std::chrono::milliseconds /*silence*/) override {
      const cluster::MutexLock lock(mu_);
      while (!stopped_) changed_.Wait(mu_);
      return cluster::Error{cluster::Code::kUnavailable, "stopped", ""};
    }
    void Stop() override {
      const cluster::MutexLock lock(mu_);
      stopped_ = true;
      changed_.NotifyAll();
    }

   private:
    cluster::Mutex mu_;
    cluster::CondVar changed_;
    bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  };

  int Count(const std::string& path) const {
    if (path.find("csinodes") != std::string::npos) return claims_ / 4;
    return path.find("persistentvolume") != std::string::npos ? claims_ : 0;
  }
  static std::string One(const std::string& path, int number) {
    if (path.find("csinodes") != std::string::npos) return NodeDrivers(number);
    return path.find("persistentvolumeclaims") != std::string::npos ? Claim(number)
                                                                    : Volume(number);
  }

  const int claims_;
};

int Run(int claims) {
  PlayedServer server(claims);
  engine::Scheduler engine{engine::Options()};
  cluster::Mutex mu;
  const int64_t before = UsedBytes();
  std::vector<std::unique_ptr<kube::Reflector>> readers;
  std::vector<std::thread> threads;
  for (const kube::StorageKindNames& names : kube::StorageKinds()) {
    readers.push_back(std::make_unique<kube::Reflector>(
        kube::StorageResource(names.kind),
        kube::Reflector::Ports{
            .api = server,
            .apply =
                [&](const kube::News& news) {
                  const cluster::MutexLock lock(mu);
                  engine.Apply(std::get<engine::Fact>(news), cluster::Time(1));
                },
            .synced = [] {},
            .warn = [](const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }},
        kube::ReflectorOptions(), 1));
    threads.emplace_back([reader = readers.back().get()] { reader->Run(); });
  }
  const auto synced = [&] {
    return std::all_of(readers.begin(), readers.end(),
                       [](const auto& reader) { return reader->synced(); });
  };
  while (!synced()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  engine.Apply(engine::StorageReadable{true}, cluster::Time(1));
  const int64_t bytes = UsedBytes() - before;
  for (const auto& reader : readers) reader->Stop();
  for (std::thread& thread : threads) thread.join();
  const int64_t megabytes = bytes / kBytesPerMegabyte;
  std::printf("%d claims with their volumes, %d CSINodes\n", claims, claims / 4);
  std::printf("goal %s: %ld MB resident, at most %d\n",
              megabytes <= kGoalMegabytes ? "met" : "missed", static_cast<long>(megabytes),
              kGoalMegabytes);
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  return smoke ? muster::bench::Run(200) : muster::bench::Run(20'000);
}
