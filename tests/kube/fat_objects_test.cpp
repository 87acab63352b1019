// Objects that are far larger than what Muster uses of them: none of them costs the others their
// picture, and what is kept of them is small.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "kube/watch/reflector.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::Result;
using Texts = std::vector<std::string>;

// A pod of which `spec` is more than its containers.
std::string PodText(const std::string& name, int version, const std::string& spec = "") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name +
         R"(","namespace":"ns","uid":"u-)" + name + R"(","resourceVersion":")" +
         std::to_string(version) + R"(","labels":{"scheduling.x-k8s.io/pod-group":"g"}},"spec":{)" +
         spec + R"("schedulerName":"muster","containers":[{"name":"c",)" +
         R"("resources":{"requests":{"cpu":"2"}}}]},"status":{"phase":"Pending"}})";
}

// With an environment of `bytes` bytes.
std::string FatPod(const std::string& name, int version, size_t bytes) {
  return PodText(name, version,
                 R"("initContainers":[{"name":"i","env":[{"name":"E","value":")" +
                     std::string(bytes, 'x') + R"("}]}],)");
}

std::string Affinity(const std::string& values) {
  return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)" +
         values + "]}]}]}}},";
}

// A pod whose affinity has `count` empty values.
std::string PickyPod(const std::string& name, int version, int count) {
  std::string values = "\"\"";
  for (int i = 1; i < count; ++i) values += ",\"\"";
  return PodText(name, version, Affinity(values));
}

std::string PodList(const Texts& items, const std::string& token = "") {
  std::string text =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10","continue":")" +
      token + R"("},"items":[)";
  for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + items[i];
  return text + "]}";
}

std::string Event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

// An API server of pods with one watch, and a reader of it that keeps the records.
class Cluster {
 public:
  Cluster() {
    api.OnStream([this] { return std::make_unique<Stream>(*this); });
  }

  // Reads the list and what the first watch brings.
  void Read() {
    Reflector reflector(PodResource(),
                        {.api = api,
                         .apply = [this](const News& news) { Told(std::get<engine::Fact>(news)); },
                         .synced = [] {},
                         .warn = [this](const std::string& line) { warned.push_back(line); }},
                        {.page = 4,
                         .watch_for = std::chrono::seconds(300),
                         .silence = std::chrono::seconds(90),
                         .backoff_first = std::chrono::milliseconds(1),
                         .backoff_max = std::chrono::milliseconds(2)},
                        1);
    std::thread thread([&] { reflector.Run(); });
    {
      const MutexLock lock(mu_);
      // What is wrong may be that no list is ever read.
      for (int looks = 0; !played_ && looks < 100; ++looks) {
        changed_.WaitFor(mu_, std::chrono::milliseconds(100));
      }
    }
    reflector.Stop();
    thread.join();
    lists = reflector.lists();
  }

  FakeApi api;
  std::string watch;  // what the first watch brings
  // To be read after Read.
  int64_t lists = 0;
  Texts told;  // "+name@version", "-uid"
  std::vector<cluster::Pod> pods;
  Texts warned;

 private:
  class Stream final : public ApiStream {
   public:
    explicit Stream(Cluster& cluster) : cluster_(cluster) {}
    Result<ApiReply> Run(const std::string& /*path*/,
                         const std::function<bool(std::string_view)>& take,
                         std::chrono::milliseconds /*silence*/) override {
      const std::string body = std::exchange(cluster_.watch, {});
      if (!body.empty() && !take(body)) return ApiReply{.status = 200};
      const MutexLock lock(cluster_.mu_);
      cluster_.played_ = true;
      cluster_.changed_.NotifyAll();
      while (!stopped_) cluster_.changed_.Wait(cluster_.mu_);
      return ApiReply{.status = 200};
    }
    void Stop() override {
      const MutexLock lock(cluster_.mu_);
      stopped_ = true;
      cluster_.changed_.NotifyAll();
    }

   private:
    Cluster& cluster_;
    bool stopped_ = false;
  };

  void Told(const engine::Fact& fact) {
    if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
      told.push_back("+" + pod->key.name + "@" + std::to_string(pod->resource_version));
      pods.push_back(*pod);
    } else {
      told.push_back("-" + std::get<engine::PodRemoved>(fact).uid.text());
    }
  }

  cluster::Mutex mu_;
  cluster::CondVar changed_;
  bool played_ = false;
};

size_t ValuesOf(const cluster::Pod& pod) {
  size_t values = 0;
  for (const auto& term : pod.spec->constraints.affinity_terms) {
    for (const auto& requirement : term.match_expressions) values += requirement.values.size();
  }
  return values;
}

TEST_CASE("a pod of many megabytes does not break the watch", "[kube][fat]") {
  Cluster cluster;
  cluster.api.On(Method::kGet, "/api/v1/pods?limit=4", Reply(200, PodList({PodText("a", 3)})));
  cluster.watch =
      Event("MODIFIED", FatPod("a", 11, size_t{9} << 20)) + Event("ADDED", PodText("b", 12));
  cluster.Read();
  CHECK(cluster.told == Texts{"+a@3", "+a@11", "+b@12"});
  CHECK(cluster.lists == 1);
  CHECK(cluster.warned.empty());
  for (const cluster::Pod& pod : cluster.pods) {
    CHECK(pod.defect.empty());
    CHECK(pod.spec->requests.cpu == cluster::MilliCpu(2000));
  }
}

TEST_CASE("a pod with constraints beyond all measure is a small member with a defect",
          "[kube][fat]") {
  Cluster cluster;
  const int count = GENERATE(3'000, 750'000);
  cluster.api.On(Method::kGet, "/api/v1/pods?limit=4",
                 Reply(200, PodList({PickyPod("a", 3, count), PickyPod("b", 4, 1'000)})));
  cluster.watch = Event("MODIFIED", PickyPod("b", 11, count));
  cluster.Read();
  CHECK(cluster.told == Texts{"+a@3", "+b@4", "+b@11"});
  CHECK(cluster.lists == 1);
  REQUIRE(cluster.pods.size() == 3);
  for (const size_t picky : {size_t{0}, size_t{2}}) {
    const cluster::Pod& pod = cluster.pods[picky];
    CHECK(ValuesOf(pod) == 0);
    CHECK_THAT(pod.defect, Catch::StartsWith("Pod.spec"));
    CHECK(pod.defect.size() < 200);
    CHECK(pod.pod_group == "g");
    CHECK(pod.spec->scheduler_name == "muster");
    CHECK(pod.spec->requests.cpu == cluster::MilliCpu(2000));
  }
  CHECK(ValuesOf(cluster.pods[1]) == 1'000);
  CHECK(cluster.pods[1].defect.empty());
}

TEST_CASE("a page that is too large is asked for in halves", "[kube][fat]") {
  Cluster cluster;
  const int status = GENERATE(504, 413);
  const auto pods = [](const std::string& query) { return "/api/v1/pods?limit=" + query; };
  cluster.api.On(Method::kGet, pods("4"), Refusal(status, "too large"));
  cluster.api.On(Method::kGet, pods("2"), Refusal(status, "too large"));
  cluster.api.On(Method::kGet, pods("1"), Reply(200, PodList({PodText("a", 3)}, "t")));
  cluster.api.On(Method::kGet, pods("1&continue=t"), Reply(200, PodList({PodText("b", 4)})));
  cluster.Read();
  CHECK(cluster.told == Texts{"+a@3", "+b@4"});
  CHECK(cluster.lists == 1);
}

TEST_CASE("a page that breaks off is asked for in halves, and nothing of it is lost",
          "[kube][fat]") {
  Cluster cluster;
  const std::string page = PodList({PodText("a", 3), PodText("b", 4)});
  cluster.api.On(Method::kGet, "/api/v1/pods?limit=4", [&](const ApiRequest& request) {
    request.take(std::string_view(page).substr(0, page.size() / 2 + 100));
    return FakeApi::Answer(NoConnection());
  });
  cluster.api.On(Method::kGet, "/api/v1/pods?limit=2", Reply(200, page));
  cluster.Read();
  CHECK(cluster.told == Texts{"+a@3", "+a@3", "+b@4"});
  CHECK(cluster.lists == 1);
  REQUIRE(cluster.warned.size() == 1);
  CHECK_THAT(cluster.warned[0], Catch::Contains("asked for with at most 2 objects"));
}

TEST_CASE("where there is no server pages stay as they are", "[kube][fat]") {
  Cluster cluster;
  cluster.api.Once(Method::kGet, "/api/v1/pods?limit=4", NoConnection());
  cluster.api.Once(Method::kGet, "/api/v1/pods?limit=4", Refusal(503, "not ready"));
  cluster.api.On(Method::kGet, "/api/v1/pods?limit=4", Reply(200, PodList({})));
  cluster.Read();
  CHECK(cluster.lists == 1);
  CHECK(cluster.api.requests().size() == 3);
}

}  // namespace
}  // namespace muster::kube
