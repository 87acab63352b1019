#include "kube/lead/fence.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "tests/kube/fake_api.hpp"
#include "tests/support/builders.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::Seconds;
using cluster::Time;
using testing::MakePod;

cluster::Pod HandedOver(const std::string& name, const std::string& node = "n0") {
  cluster::Pod pod = MakePod(name).Gpus(1);
  pod.uid = cluster::PodUid("u-" + name);
  pod.nominated_node = node;
  pod.handed_over = true;
  pod.resource_version = 10;
  return pod;
}

std::string Patched(const std::string& name) {
  return "/api/v1/namespaces/default/pods/" + name + "/status";
}

std::string FencePodText(const std::string& name, int version, const std::string& node = "") {
  return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","uid":"u-)" +
         name + R"(","resourceVersion":")" + std::to_string(version) + R"("},"spec":{)" +
         (node.empty() ? "" : R"("nodeName":")" + node + "\"") + "}}";
}

// An API server, a new leader and what its engine receives.
class World {
 public:
  explicit World(FenceOptions options = {}) : options_(options) {}

  cluster::Status Raise(const std::vector<cluster::Pod>& pods) {
    std::vector<HandedOverPod> handed_over;
    for (const cluster::Pod& pod : pods) {
      versions.Note(pod.uid, pod.resource_version);
      if (const auto one = MayBeBound(pod)) handed_over.push_back(*one);
    }
    return fence.Raise(handed_over, "7 me");
  }
  // Lets time pass as the thread of the fence would.
  void Pass(cluster::Duration time) {
    const Time until = now + time;
    for (Time due = fence.Step({now, {}}); due <= until; due = fence.Step({now, {}})) {
      now = std::max(due, now + cluster::Duration(1));
    }
    now = until;
  }
  // "unfenced u-a on n0: why", "fenced u-a", "pod u-a on n0" (bound).
  std::vector<std::string> told() const {
    const MutexLock lock(mu_);
    return told_;
  }
  int Told(const std::string& line) const {
    const std::vector<std::string> all = told();
    return static_cast<int>(std::count(all.begin(), all.end(), line));
  }

  FakeApi api;
  PodVersions versions;
  std::atomic<bool> leads{true};
  std::vector<std::string> warnings;
  Time now{1000};

 private:
  void Tell(const engine::Fact& fact) {
    const MutexLock lock(mu_);
    if (const auto* held = std::get_if<engine::Unfenced>(&fact)) {
      told_.push_back("unfenced " + held->pod.text() + " on " + held->node + ": " + held->why);
    } else if (const auto* fenced = std::get_if<engine::Fenced>(&fact)) {
      told_.push_back("fenced " + fenced->pod.text());
    } else if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
      told_.push_back("pod " + pod->uid.text() + " on " + pod->node_name);
    }
  }

  const FenceOptions options_;
  mutable cluster::Mutex mu_;
  std::vector<std::string> told_ MUSTER_GUARDED_BY(mu_);

 public:
  Fence fence{{.api = api,
               .versions = versions,
               .leads = [this] { return leads.load(); },
               .tell = [this](const engine::Fact& fact) { Tell(fact); },
               .warn = [this](const std::string& line) { warnings.push_back(line); },
               .clock =
                   [this] {
                     return Clocks{now, {}};
                   }},
              options_};
};

TEST_CASE("the fence writes the new term into every pod that an earlier leader handed over",
          "[kube][fence]") {
  World world;
  world.api.On(Method::kPatch, Patched("a"), Reply(200, FencePodText("a", 30)));
  world.api.On(Method::kPatch, Patched("gone"), Refusal(404, "not found"));
  world.api.On(Method::kPatch, Patched("again"), Refusal(422, "uid: immutable"));
  world.api.On(Method::kGet, "/api/v1/namespaces/default/pods/again",
               Reply(200, R"({"kind":"Pod","metadata":{"name":"again","namespace":"default",)"
                          R"("uid":"another","resourceVersion":"31"},"spec":{}})"));
  // A Binding came in between: the engine learns of it before it decides anything.
  world.api.On(Method::kPatch, Patched("late"), Reply(200, FencePodText("late", 32, "n3")));
  REQUIRE(
      world.Raise({HandedOver("a"), HandedOver("gone"), HandedOver("again"), HandedOver("late")})
          .ok());
  CHECK(world.api.requests().front().body.find(R"("annotations":{"muster.dev/epoch":"7 me"})") !=
        std::string::npos);
  CHECK(world.versions.Find(cluster::PodUid("u-a")) == 30);
  CHECK(world.Told("pod u-late on n3") == 1);
  CHECK(world.told().size() == 2);  // and u-a; nobody is held back
  CHECK(world.fence.Step({world.now, {}}) == Time::Never());
}

TEST_CASE("ten thousand pods of others cost the fence no write", "[kube][fence]") {
  World world;
  std::vector<cluster::Pod> pods;
  for (int i = 0; i < 10'000; ++i) {
    // As an agent that pins its pods makes them; half of them nominated by kube-scheduler's own
    // preemption.
    cluster::Pod pod = MakePod("foreign-" + std::to_string(i));
    auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
    cluster::PinTo("n" + std::to_string(i), &spec->constraints);
    pod.spec = std::move(spec);
    if (i % 2 == 0) pod.nominated_node = "n0";
    pods.push_back(std::move(pod));
  }
  // Muster's own that cannot be at Bind: gated, bound, ended.
  cluster::Pod gated = HandedOver("gated");
  gated.gates = {cluster::kGangGate};
  cluster::Pod bound = HandedOver("bound");
  bound.node_name = "n0";
  cluster::Pod ended = HandedOver("ended");
  ended.phase = cluster::PodPhase::kFailed;
  pods.insert(pods.end(), {gated, bound, ended});
  REQUIRE(world.Raise(pods).ok());
  CHECK(world.api.requests().empty());
  CHECK(world.told().empty());
}

TEST_CASE("a pod is fenced where it was nominated, pinned, or nowhere that is known",
          "[kube][fence]") {
  CHECK(MayBeBound(HandedOver("a", "n4"))->node == "n4");
  cluster::Pod pod = HandedOver("a", "");
  CHECK(MayBeBound(pod)->node.empty());
  auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
  cluster::PinTo("n5", &spec->constraints);
  pod.spec = std::move(spec);
  CHECK(MayBeBound(pod)->node == "n5");
  CHECK(MayBeBound(pod)->version == 10);
}

TEST_CASE("a pod that cannot be written keeps nobody from leading, and is tried again",
          "[kube][fence]") {
  World world;
  world.api.On(Method::kPatch, Patched("a"), Refusal(500, "webhook down"));
  world.api.On(Method::kPatch, Patched("b"), Reply(200, FencePodText("b", 31)));
  world.api.On(Method::kPatch, Patched("c"), NoConnection());
  REQUIRE(world.Raise({HandedOver("a"), HandedOver("b"), HandedOver("c", "n2")}).ok());
  const std::vector<std::string> told = world.told();
  REQUIRE(told.size() == 3);
  CHECK(world.Told("pod u-b on ") == 1);
  CHECK_THAT(told[1], Catch::StartsWith("unfenced u-a on n0: ") && Catch::Contains("webhook down"));
  CHECK_THAT(told[2],
             Catch::StartsWith("unfenced u-c on n2: ") && Catch::Contains("no connection"));
  REQUIRE(world.warnings.size() == 2);
  CHECK_THAT(world.warnings.front(), Catch::Contains("default/a") && Catch::Contains("webhook"));

  world.api.ForgetRequests();
  world.Pass(Seconds(20));
  // After 1, 3, 7 and 15 s.
  CHECK(world.api.requests().size() == 8);
  world.api.On(Method::kPatch, Patched("c"), Reply(200, FencePodText("c", 40)));
  world.Pass(Seconds(15));
  CHECK(world.Told("fenced u-c") == 1);
  CHECK(world.Told("fenced u-a") == 0);
  // A write of the leader before cannot be under way any more.
  world.Pass(Seconds(85));
  CHECK(world.Told("fenced u-a") == 1);
  CHECK_THAT(world.warnings.back(), Catch::Contains("default/a") && Catch::Contains("under way"));
  CHECK(world.fence.Step({world.now, {}}) == Time::Never());
}

TEST_CASE("what refuses a pod in the words of another one's holds its gang back", "[kube][fence]") {
  const int status = GENERATE(409, 422, 400, 403);
  World world;
  world.api.On(Method::kPatch, Patched("a"), Refusal(status, "a policy says no"));
  world.api.On(Method::kGet, "/api/v1/namespaces/default/pods/a",
               Reply(200, FencePodText("a", 10)));
  REQUIRE(world.Raise({HandedOver("a")}).ok());
  CHECK_THAT(world.told().back(),
             Catch::StartsWith("unfenced u-a") && Catch::Contains("a policy says no"));
}

TEST_CASE("whatever changes a pod fences it, and so does its end", "[kube][fence]") {
  World world;
  world.api.Otherwise([](const ApiRequest&) { return Refusal(500, "webhook down"); });
  REQUIRE(world.Raise({HandedOver("a"), HandedOver("b"), HandedOver("c")}).ok());
  world.Pass(Seconds(1));
  world.versions.Note(cluster::PodUid("u-a"), 11);
  world.versions.Forget(cluster::PodUid("u-b"));
  world.Pass(Seconds(2));
  CHECK(world.Told("fenced u-a") == 1);
  CHECK(world.Told("fenced u-b") == 1);
  CHECK(world.Told("fenced u-c") == 0);
}

TEST_CASE("the fence calls several at a time and gives up on those that are not answered in time",
          "[kube][fence]") {
  using std::chrono::milliseconds;
  World world({.calls = 8, .within = milliseconds(400), .timeout = milliseconds(100)});
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> too_long{0};
  world.api.Otherwise([&](const ApiRequest& request) -> cluster::Result<ApiReply> {
    if (request.timeout > milliseconds(100)) ++too_long;
    most = std::max(most.load(), ++running);
    std::this_thread::sleep_for(request.timeout);
    --running;
    return cluster::Error{cluster::Code::kUnavailable, "timed out", ""};
  });
  std::vector<cluster::Pod> pods;
  for (int i = 0; i < 500; ++i) pods.push_back(HandedOver("p" + std::to_string(i)));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(world.Raise(pods).ok());
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(2'000));
  CHECK(most <= 8);
  CHECK(most > 1);
  CHECK(too_long == 0);
  CHECK(world.told().size() == 500);
  CHECK(world.api.requests().size() < 100);
}

TEST_CASE("pods that hang keep those of other namespaces from no round", "[kube][fence]") {
  using std::chrono::milliseconds;
  World world({.calls = 4, .within = milliseconds(200), .timeout = milliseconds(100)});
  world.api.Otherwise([&](const ApiRequest& request) -> cluster::Result<ApiReply> {
    if (request.path.find("/namespaces/slow/") == std::string::npos) return Reply(200);
    std::this_thread::sleep_for(request.timeout);
    return NoConnection();
  });
  std::vector<cluster::Pod> pods;
  for (int i = 0; i < 100; ++i) {
    pods.push_back(HandedOver("a" + std::to_string(i)));
    pods.back().key.ns = "slow";
  }
  for (int i = 0; i < 3; ++i) pods.push_back(HandedOver("z" + std::to_string(i)));
  REQUIRE(world.Raise(pods).ok());
  for (const std::string& line : world.told()) CHECK(line.find("u-z") == std::string::npos);
  // Pods that had no turn yet come first in the next round, and all have had one in time.
  world.api.ForgetRequests();
  world.Pass(Seconds(2));
  for (const ApiRequest& request : world.api.requests()) {
    CHECK(request.path.find("/a0/") == std::string::npos);
  }
}

TEST_CASE("a fence ends with the term", "[kube][fence]") {
  World world;
  world.api.Otherwise([&](const ApiRequest&) {
    world.leads = false;
    return Refusal(500, "webhook down");
  });
  CHECK_FALSE(world.Raise({HandedOver("a")}).ok());
  CHECK(world.told().empty());
}

TEST_CASE("a lease that is renewed late costs the fence nothing but time", "[kube][fence]") {
  World world;
  world.api.On(Method::kPatch, Patched("a"), Refusal(500, "webhook down"));
  REQUIRE(world.Raise({HandedOver("a")}).ok());
  world.api.On(Method::kPatch, Patched("a"), Reply(200, FencePodText("a", 30)));
  world.leads = false;
  world.api.ForgetRequests();
  world.Pass(Seconds(10));
  CHECK(world.api.requests().empty());
  world.leads = true;
  world.Pass(Seconds(2));
  CHECK(world.Told("fenced u-a") == 1);
}

}  // namespace
}  // namespace muster::kube
