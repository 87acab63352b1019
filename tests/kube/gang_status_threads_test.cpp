// What hangs in one namespace, and what the statuses of others are to notice of it: nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/contract/gang_view.hpp"
#include "kube/api/step_thread.hpp"
#include "kube/write/gang_status_writer.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using cluster::PodGroupUid;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

const ServedPodGroups kServed{PodGroupFlavour::kVolcano, "scheduling.volcano.sh", "v1beta1", true};

engine::PatchGang Gang(const std::string& ns, int i, bool begun) {
  engine::PatchGang gang;
  gang.key = {ns, "g" + std::to_string(i)};
  gang.uid = PodGroupUid(ns + "." + gang.key.name);
  gang.state = ToString(engine::GangState::kRunning);
  gang.record.has_run = begun;
  gang.record.whole.members = begun ? 4 : 0;
  return gang;
}

// Statuses are written by as many threads as there may be, to an API server that does not answer
// patches of statuses in namespaces "slow…" until it is let go.
class Jam {
 public:
  Jam() {
    api_.Otherwise([this](const ApiRequest& request) { return Answer(request); });
    writer_.Begin(ReadClocks().steady);
    for (int i = 0; i < GangStatusWriter::kThreads; ++i) {
      threads_.push_back(
          std::make_unique<StepThread>([this](const Clocks& now) { return writer_.Step(now); }));
    }
  }
  ~Jam() {
    {
      const MutexLock lock(mu_);
      let_go_ = true;
      changed_.NotifyAll();
    }
    for (auto& thread : threads_) thread->Stop();
  }
  Jam(const Jam&) = delete;
  Jam& operator=(const Jam&) = delete;

  void Want(const engine::PatchGang& gang) {
    writer_.Want(gang, ReadClocks().steady);
    Wake();
  }
  // False: not so many before long.
  bool WaitForWritten(const std::string& what, int count) {
    const auto end = Steady::now() + milliseconds(5'000);
    const MutexLock lock(mu_);
    while (written_[what] < count && Steady::now() < end) changed_.WaitFor(mu_, milliseconds(50));
    return written_[what] >= count;
  }

 private:
  void Wake() {
    for (auto& thread : threads_) thread->Poke();
  }
  FakeApi::Answer Answer(const ApiRequest& request) {
    // /apis/scheduling.volcano.sh/v1beta1/namespaces/NS/podgroups/NAME[/status]
    const size_t begin = request.path.find("/namespaces/") + 12;
    const std::string ns = request.path.substr(begin, request.path.find('/', begin) - begin);
    const bool status = request.path.ends_with("/status");
    const MutexLock lock(mu_);
    if (request.method == Method::kGet) {
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      return Reply(200, R"({"metadata":{"name":")" + name + R"(","uid":")" + ns + "." + name +
                            R"(","resourceVersion":"1"}})");
    }
    ++written_[ns + (status ? " status" : " record")];
    changed_.NotifyAll();
    while (status && ns.starts_with("slow") && !let_go_) changed_.Wait(mu_);
    return Reply(200);
  }

  FakeApi api_;
  cluster::Mutex mu_;
  cluster::CondVar changed_;
  bool let_go_ MUSTER_GUARDED_BY(mu_) = false;
  std::map<std::string, int> written_ MUSTER_GUARDED_BY(mu_);
  GangStatusWriter writer_{{.api = api_,
                            .find = [](const PodGroupUid&) { return std::optional(kServed); },
                            .may_write = [] { return true; },
                            .warn = [](const std::string&) {},
                            .wake = [this] { Wake(); }}};
  std::vector<std::unique_ptr<StepThread>> threads_;
};

TEST_CASE("a namespace in which statuses hang holds up no other, nor any record",
          "[kube][status][fair]") {
  Jam jam;
  for (int i = 0; i < 60; ++i) jam.Want(Gang("slow", i, false));
  REQUIRE(jam.WaitForWritten("slow status", 2));
  for (int i = 0; i < 20; ++i) jam.Want(Gang("team", i, true));
  CHECK(jam.WaitForWritten("team status", 20));
  CHECK(jam.WaitForWritten("team record", 20));
  for (int i = 100; i < 120; ++i) jam.Want(Gang("slow", i, true));
  CHECK(jam.WaitForWritten("slow record", 20));
}

TEST_CASE("records are written while all statuses hang", "[kube][status][fair]") {
  Jam jam;
  for (int ns = 0; ns < 20; ++ns) {
    for (int i = 0; i < 3; ++i) jam.Want(Gang("slow-" + std::to_string(ns), i, false));
  }
  REQUIRE(jam.WaitForWritten("slow-0 status", 1));
  for (int i = 0; i < 20; ++i) jam.Want(Gang("team", i, true));
  CHECK(jam.WaitForWritten("team record", 20));
}

}  // namespace
}  // namespace muster::kube
