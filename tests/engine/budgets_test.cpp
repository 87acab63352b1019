// PodDisruptionBudgets in the choice of victims: where they are kept, and where the fewest are
// violated.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::DisruptionBudget;
using testing::Queue;

// Queue x is guaranteed eight GPUs, queue y has borrowed them.
struct BudgetWorld : testing::QueueWorld {
  explicit BudgetWorld(int gpus = 12) : QueueWorld({Queue("x", 8), {.name = "y"}}, gpus) {}

  // Its containers run, with this label.
  void Runs(const std::string& pod, const std::string& app) {
    Change(pod, [&](cluster::Pod& one) {
      one.phase = cluster::PodPhase::kRunning;
      one.running_since = now();
      one.labels = cluster::PodLabels(cluster::Labels{{"app", app}});
    });
    Settle();
  }
  void Budget(const std::string& name, const std::string& app, int64_t allowed) {
    DisruptionBudget budget;
    budget.uid = cluster::DisruptionBudgetUid(name);
    budget.key = {"default", name};
    budget.selector = {{"app", cluster::SelectorOperator::kIn, {app}}};
    budget.disruptions_allowed = allowed;
    budget.resource_version = ++version;
    engine().Apply(budget, now());
    Settle();
  }
  bool OverBudgets(const std::string& pod) const {
    for (const Action& action : log) {
      const auto* evict = std::get_if<EvictPod>(&action);
      if (evict != nullptr && evict->pod.key.name == pod) return evict->over_budgets;
    }
    return false;
  }

  int64_t version = 0;
};

TEST_CASE("the fewest budgets are violated, also where gangs share one", "[engine][budgets]") {
  BudgetWorld world;
  world.Start("dear", "y", 4, 100);
  for (const char* pod : {"a", "b"}) {
    world.Start(pod, "y", 4);
    world.Runs(pod, "shared");
  }
  SECTION("it lets both go") {
    world.Budget("keep", "shared", 2);
    world.Submit("x0", "x", 8);
    CHECK(world.Evicted() == "a b");
  }
  SECTION("it lets one go: the one of higher priority violates none") {
    world.Budget("keep", "shared", 1);
    world.Submit("x0", "x", 8);
    CHECK(world.Evicted() == "b dear");
  }
  SECTION("nobody is held to it whose containers do not run") {
    world.Change("a", [](cluster::Pod& pod) { pod.running_since = {}; });
    world.Budget("keep", "shared", 1);
    world.Submit("x0", "x", 8);
    CHECK(world.Evicted() == "a b");
  }
}

TEST_CASE("who takes back a guarantee goes over budgets, and who only has priority does not",
          "[engine][budgets]") {
  BudgetWorld world(8);
  world.Start("y0", "y", 8);
  world.Runs("y0", "db");
  world.Budget("one", "db", 0);
  const bool two = GENERATE(false, true);
  if (two) world.Budget("two", "db", 9);  // Kubernetes evicts no such pod
  world.Submit("y1", "y", 8, 100);
  CHECK(world.Evicted().empty());
  const Reason kept = world.Gang("y1").reason;
  CHECK(kept.code == ReasonCode::kDisruptionBudget);
  CHECK(kept.detail == (two ? "gang default/y0: kept by PodDisruptionBudgets default/one and "
                              "default/two: Kubernetes evicts no pod that has two"
                            : "gang default/y0: kept by PodDisruptionBudget default/one, which "
                              "allows 0 disruptions"));
  world.Submit("x0", "x", 8);
  CHECK(world.Evicted() == "y0");
  CHECK(world.OverBudgets("y0"));
  CHECK_THAT(world.Told("GangPreempted"), Catch::Contains("in spite of PodDisruptionBudget"));
}

TEST_CASE("of a gang's surplus as much goes as its budget allows", "[engine][budgets]") {
  BudgetWorld world(3);
  world.SubmitGang("wide", "y", 3, 1);
  world.ScheduleAll("wide");
  world.Settle();
  for (const char* pod : {"wide-0", "wide-1", "wide-2"}) world.Runs(pod, "wide");
  world.Budget("keep", "wide", 1);
  world.Submit("two", "y", 2, 100);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("two").reason.code == ReasonCode::kDisruptionBudget);
  world.Submit("one", "y", 1, 100);
  CHECK(world.Evicted() == "wide-2");
  CHECK_FALSE(world.OverBudgets("wide-2"));
}

TEST_CASE("a budget that lets more go has those tried again whom it kept waiting",
          "[engine][budgets]") {
  BudgetWorld world(8);
  world.Start("y0", "y", 8);
  world.Runs("y0", "db");
  world.Budget("keep", "db", 0);
  world.Submit("y1", "y", 8, 100);
  REQUIRE(world.Evicted().empty());
  world.Budget("keep", "db", 1);
  CHECK(world.Evicted() == "y0");
  CHECK_FALSE(world.OverBudgets("y0"));
}

TEST_CASE("where Muster may delete no pods budgets are kept for an hour, and it is said",
          "[engine][budgets]") {
  BudgetWorld world(8);
  world.Start("y0", "y", 8);
  world.Runs("y0", "db");
  world.Budget("keep", "db", 0);
  world.fault = [](const Action& action) -> std::optional<Outcome> {
    const auto* evict = std::get_if<EvictPod>(&action);
    if (evict == nullptr) return std::nullopt;
    return Outcome{evict->id, OutcomeKind::kConflict, "cannot delete resource pods"};
  };
  world.Submit("x0", "x", 8);
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("x0").reason.detail ==
        "gang default/y0: kept by PodDisruptionBudget default/keep, which allows 0 disruptions, "
        "and Muster may not delete pods");
  const int asked = world.Evictions();
  world.Pass(cluster::Seconds(3'000));
  CHECK(world.Evictions() == asked);
  world.fault = nullptr;
  world.Pass(cluster::Seconds(700));
  CHECK(world.Evictions() == asked + 1);
}

TEST_CASE("a pod that was deleted with a long grace is cut short for who could have it evicted",
          "[engine][budgets]") {
  BudgetWorld world(8);
  world.Start("y0", "y", 8);
  const auto leaves = world.now() + cluster::Seconds(36'000);
  world.Change("y0", [&](cluster::Pod& pod) {
    pod.deleting = true;
    pod.leaves_by = leaves;
  });
  world.Settle();
  SECTION("its queue takes back a guarantee") {
    world.Submit("x0", "x", 8);
    CHECK(world.Evictions() == 1);
    const auto* evict = std::get_if<EvictPod>(&*std::find_if(
        world.log.begin(), world.log.end(),
        [](const Action& action) { return std::holds_alternative<EvictPod>(action); }));
    CHECK(evict->grace == cluster::Seconds(600));
    CHECK(world.Gang("x0").state == GangState::kPreempting);
  }
  SECTION("it is of the same priority in the same queue") {
    world.Submit("y1", "y", 8);
    world.Pass(cluster::Seconds(10));
    CHECK(world.Evictions() == 0);
  }
}

}  // namespace
}  // namespace muster::engine
