// Evictions that go over PodDisruptionBudgets (engine::EvictPod::over_budgets).
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/write/pod_writer.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::MutexLock;
using engine::OutcomeKind;

const std::string kTeamPods = "/api/v1/namespaces/team/pods/";
constexpr const char* kViolates =
    "Cannot evict pod as it would violate the pod's disruption budget.";
constexpr const char* kMayNot =
    "pods a is forbidden: User muster cannot delete resource pods in API group";

engine::EvictPod Evict(const std::string& name, bool over_budgets) {
  const engine::PodRef pod{{"team", name}, cluster::PodUid("u-" + name)};
  return {{name == "a" ? 1U : 2U}, pod, "evicted for x", {"team", "x"}, {}, over_budgets};
}

// A writer on a fake server on which budgets let nobody go, and what it reports.
class Reclaimer {
 public:
  Reclaimer() {
    for (const char* name : {"a", "b"}) {
      api.On(Method::kPost, kTeamPods + name + "/eviction", Refusal(429, kViolates));
      api.On(Method::kPatch, kTeamPods + name + "/status", Reply(200, "{}"));
      api.On(Method::kDelete, kTeamPods + name, Reply(200, "{}"));
      api.On(Method::kGet, kTeamPods + name, Reply(404));
    }
    writer_.Start();
  }
  ~Reclaimer() { writer_.Stop(); }
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  std::vector<engine::Outcome> Do(const std::vector<engine::Action>& actions) {
    writer_.Perform(actions);
    const MutexLock lock(mu_);
    while (outcomes_.size() < actions.size()) reported_.Wait(mu_);
    std::vector<engine::Outcome> outcomes = std::exchange(outcomes_, {});
    std::sort(outcomes.begin(), outcomes.end(),
              [](const auto& x, const auto& y) { return x.id < y.id; });
    return outcomes;
  }
  // Without reads and what is tried dry.
  std::vector<std::string> Meant() const {
    std::vector<std::string> lines;
    for (const ApiRequest& request : api.requests()) {
      const bool dry = request.body.find("dryRun") != std::string::npos;
      if (request.method == Method::kGet || dry) continue;
      const char* verb = request.method == Method::kPost     ? "POST "
                         : request.method == Method::kDelete ? "DELETE "
                                                             : "PATCH ";
      lines.push_back(verb + request.path);
    }
    return lines;
  }

  FakeApi api;

 private:
  cluster::Mutex mu_;
  cluster::CondVar reported_;
  std::vector<engine::Outcome> outcomes_ MUSTER_GUARDED_BY(mu_);
  PodVersions versions_;
  PodWriter writer_{{.api = api,
                     .versions = versions_,
                     .may_write = [] { return true; },
                     .report =
                         [this](const engine::Outcome& outcome) {
                           const MutexLock lock(mu_);
                           outcomes_.push_back(outcome);
                           reported_.NotifyAll();
                         },
                     .epoch = [] { return "7 me"; },
                     .gang_status = [](const engine::PatchGang&) {},
                     .event = [](const engine::EmitEvent&) {},
                     .warn = [](const std::string&) {}},
                    {.workers = 4,
                     .attempts = 3,
                     .backoff_first = std::chrono::milliseconds(1),
                     .backoff_max = std::chrono::milliseconds(2)},
                    1};
};

TEST_CASE("who goes over budgets is asked to go, and deleted where a budget refuses that",
          "[kube][writer][budgets]") {
  Reclaimer desk;
  SECTION("the budget lets nobody go") {}
  SECTION("two budgets select the pod") {
    desk.api.On(Method::kPost, kTeamPods + "a/eviction",
                Refusal(500,
                        "This pod has more than one PodDisruptionBudget, which the eviction "
                        "subresource does not support."));
  }
  CHECK(desk.Do({Evict("a", true)}).front().kind == OutcomeKind::kDone);
  CHECK(desk.Meant() == std::vector<std::string>{"POST " + kTeamPods + "a/eviction",
                                                 "PATCH " + kTeamPods + "a/status",
                                                 "DELETE " + kTeamPods + "a"});
  CHECK_THAT(desk.api.requests().back().body, Catch::Contains(R"("uid":"u-a")"));
}

TEST_CASE("who goes over budgets is not deleted where no budget is in the way",
          "[kube][writer][budgets]") {
  Reclaimer desk;
  desk.api.On(Method::kPost, kTeamPods + "a/eviction", Reply(201));
  CHECK(desk.Do({Evict("a", true)}).front().kind == OutcomeKind::kDone);
  CHECK(desk.Meant() == std::vector<std::string>{"POST " + kTeamPods + "a/eviction"});
}

TEST_CASE("a budget that is kept spares all of a set, whoever else goes over budgets",
          "[kube][writer][budgets]") {
  Reclaimer desk;
  const std::vector<engine::Outcome> outcomes = desk.Do({Evict("a", true), Evict("b", false)});
  CHECK(outcomes[0].kind == OutcomeKind::kRetry);
  CHECK(outcomes[0].not_tried);
  CHECK(outcomes[1].kind == OutcomeKind::kConflict);
  CHECK(desk.Meant().empty());
}

TEST_CASE("without the right to delete pods a budget is a bar, and it is said",
          "[kube][writer][budgets]") {
  Reclaimer desk;
  desk.api.On(Method::kDelete, kTeamPods + "a", Refusal(403, kMayNot));
  const engine::Outcome outcome = desk.Do({Evict("a", true)}).front();
  CHECK(outcome.kind == OutcomeKind::kConflict);
  CHECK_THAT(outcome.message,
             Catch::Contains("a PodDisruptionBudget does not let it go, and deleting team/a is "
                             "refused, so none is evicted: ") &&
                 Catch::Contains("cannot delete resource"));
  CHECK(desk.Meant().empty());
}

TEST_CASE("a webhook that denies a deletion is no budget", "[kube][writer][budgets]") {
  Reclaimer desk;
  desk.api.On(Method::kDelete, kTeamPods + "a",
              Refusal(403, "admission webhook denied the request"));
  CHECK(desk.Do({Evict("a", true)}).front().kind == OutcomeKind::kRefused);
  CHECK(desk.Meant().empty());
}

}  // namespace
}  // namespace muster::kube
