// What hangs in one namespace, and what the events of others are to notice of it: nothing.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kube/api/step_thread.hpp"
#include "kube/write/events.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::PodGroupUid;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

TEST_CASE("a namespace in which events hang holds up no other", "[kube][events][fair]") {
  FakeApi api;
  cluster::Mutex mu;
  cluster::CondVar changed;
  bool let_go = false;
  int hanging = 0;
  int written = 0;
  api.Otherwise([&](const ApiRequest& request) -> FakeApi::Answer {
    const MutexLock lock(mu);
    const bool slow = request.path.find("/namespaces/slow/") != std::string::npos;
    ++(slow ? hanging : written);
    changed.NotifyAll();
    while (slow && !let_go) changed.Wait(mu);
    return Reply(201);
  });
  std::vector<std::unique_ptr<StepThread>> threads;
  const auto wake = [&] {
    for (auto& thread : threads) thread->Poke();
  };
  EventRecorder recorder(
      {.api = api,
       .find = [](const PodGroupUid&) { return std::optional<ServedPodGroups>(); },
       .may_write = [] { return true; },
       .warn = [](const std::string&) {},
       .wake = wake},
      {});
  for (int i = 0; i < EventRecorder::kThreads; ++i) {
    threads.push_back(
        std::make_unique<StepThread>([&](const Clocks& now) { return recorder.Step(now); }));
  }
  const auto record = [&](const std::string& ns, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "g" + std::to_string(i);
      recorder.Record({{ns, name}, ns + name, false, true, "GangQueued", "x"}, ReadClocks());
    }
    wake();
  };
  const auto wait_for = [&](const int& counter, int least) {
    const auto end = Steady::now() + milliseconds(5'000);
    const MutexLock lock(mu);
    while (counter < least && Steady::now() < end) changed.WaitFor(mu, milliseconds(50));
    return counter >= least;
  };
  record("slow", 20);
  REQUIRE(wait_for(hanging, 1));
  record("team", 20);
  CHECK(wait_for(written, 20));
  {
    const MutexLock lock(mu);
    CHECK(hanging == 1);
    let_go = true;
    changed.NotifyAll();
  }
  CHECK(wait_for(hanging, 20));
  for (auto& thread : threads) thread->Stop();
}

}  // namespace
}  // namespace muster::kube
