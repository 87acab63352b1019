// What hangs in one namespace, and what others are to notice of it: nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "kube/write/pod_writer.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kSoon{5'000};

// A writer on an API server that answers nothing about namespaces "slow…" until it is let go.
class PodWriterFairnessJam {
 public:
  PodWriterFairnessJam() {
    api_.Otherwise([this](const ApiRequest& request) -> FakeApi::Answer {
      const MutexLock lock(mu_);
      if (request.path.find("/namespaces/slow") == std::string::npos) return Reply(201);
      ++hanging_;
      changed_.NotifyAll();
      while (!let_go_) changed_.Wait(mu_);
      return Reply(201);
    });
    writer_.Start();
  }
  ~PodWriterFairnessJam() {
    {
      const MutexLock lock(mu_);
      let_go_ = true;
      changed_.NotifyAll();
    }
    writer_.Stop();
  }
  PodWriterFairnessJam(const PodWriterFairnessJam&) = delete;
  PodWriterFairnessJam& operator=(const PodWriterFairnessJam&) = delete;

  void Perform(const std::vector<engine::Action>& actions) { writer_.Perform(actions); }
  // False: not so many calls hang, or not so many outcomes were reported, before long.
  bool WaitForHanging(int calls) {
    return WaitUntil([&]() MUSTER_REQUIRES(mu_) { return hanging_ >= calls; });
  }
  bool WaitForReports(size_t reports) {
    return WaitUntil([&]() MUSTER_REQUIRES(mu_) { return reported_ >= reports; });
  }
  int hanging() {
    const MutexLock lock(mu_);
    return hanging_;
  }

 private:
  template <typename Met>
  bool WaitUntil(const Met& met) {
    const auto end = Steady::now() + kSoon;
    const MutexLock lock(mu_);
    while (!met() && Steady::now() < end) changed_.WaitFor(mu_, milliseconds(50));
    return met();
  }

  FakeApi api_;
  PodVersions versions_;
  cluster::Mutex mu_;
  cluster::CondVar changed_;
  bool let_go_ MUSTER_GUARDED_BY(mu_) = false;
  int hanging_ MUSTER_GUARDED_BY(mu_) = 0;
  size_t reported_ MUSTER_GUARDED_BY(mu_) = 0;
  PodWriter writer_{{.api = api_,
                     .versions = versions_,
                     .may_write = [] { return true; },
                     .report =
                         [this](const engine::Outcome&) {
                           const MutexLock lock(mu_);
                           ++reported_;
                           changed_.NotifyAll();
                         },
                     .epoch = [] { return "7 me"; },
                     .gang_status = [](const engine::PatchGang&) {},
                     .event = [](const engine::EmitEvent&) {},
                     .warn = [](const std::string&) {}},
                    PodWriterOptions{},
                    1};
};

engine::PodRef Ref(const std::string& ns, int i) {
  const std::string name = "p" + std::to_string(i);
  return {{ns, name}, cluster::PodUid(ns + name)};
}

std::vector<engine::Action> Releases(const std::string& ns, int count) {
  std::vector<engine::Action> actions;
  for (int i = 0; i < count; ++i) {
    actions.push_back(engine::RemoveGate{{static_cast<uint64_t>(i)}, Ref(ns, i)});
  }
  return actions;
}

std::vector<engine::Action> Bindings(const std::string& ns, int count) {
  std::vector<engine::Action> actions;
  for (int i = 0; i < count; ++i) {
    actions.push_back(engine::BindPod{{static_cast<uint64_t>(i)}, Ref(ns, i), "node-7", {}});
  }
  return actions;
}

TEST_CASE("a namespace in which writes hang holds up no other", "[kube][writer][fair]") {
  PodWriterFairnessJam jam;
  // Alone it may have more than its share, but never all.
  jam.Perform(Releases("slow", 256));
  REQUIRE(jam.WaitForHanging(PodWriterOptions{}.workers / 4 + 1));
  jam.Perform(Releases("team", 64));
  CHECK(jam.WaitForReports(64));
  // What comes to hang later gets its share at most, of what is left.
  jam.Perform(Releases("slow-too", 256));
  jam.Perform(Bindings("slow", 256));
  jam.Perform(Releases("slow", 256));
  jam.Perform(Bindings("team", 64));
  CHECK(jam.WaitForReports(128));
}

TEST_CASE("bindings wait for no other write", "[kube][writer][fair]") {
  PodWriterFairnessJam jam;
  for (int i = 0; i < 20; ++i) jam.Perform(Releases("slow-" + std::to_string(i), 64));
  REQUIRE(jam.WaitForHanging(PodWriterOptions{}.workers / 2));
  jam.Perform(Bindings("team", 64));
  CHECK(jam.WaitForReports(64));
  CHECK(jam.hanging() < PodWriterOptions{}.workers);
}

TEST_CASE("sets of evictions that hang hold up no other write", "[kube][writer][fair]") {
  PodWriterFairnessJam jam;
  for (int gang = 0; gang < 64; ++gang) {
    const uint64_t id = static_cast<uint64_t>(gang);
    jam.Perform({engine::EvictPod{{id}, Ref("slow", gang), "", {"x", std::to_string(gang)}}});
  }
  REQUIRE(jam.WaitForHanging(1));
  jam.Perform(Releases("team", 64));
  CHECK(jam.WaitForReports(64));
}

}  // namespace
}  // namespace muster::kube
