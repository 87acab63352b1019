// Evictions that nobody answers, or that fail: a team's webhook is down, say.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::Outcome;
using engine::OutcomeKind;

// Evictions of pods whose names begin so fail; of those that go with them none is tried.
std::function<std::optional<Outcome>(const engine::Action&)> Failing(const bool& failing,
                                                                     const std::string& whose,
                                                                     bool spares = true) {
  return [&failing, whose, spares](const engine::Action& action) -> std::optional<Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr || !failing) return std::nullopt;
    const std::string& name = evict->pod.key.name;
    if (name == whose) return Outcome{{}, OutcomeKind::kRetry, "HTTP 500: webhook"};
    const bool goes_with = spares && name.starts_with(whose.substr(0, whose.find('-')));
    if (goes_with) return Outcome{{}, OutcomeKind::kRetry, "HTTP 500: webhook", true};
    return std::nullopt;
  };
}

int64_t Asked(const FullWorld& world, const std::string& pod) {
  const Names all = world.Evicted();
  return std::count(all.begin(), all.end(), pod);
}

TEST_CASE("an eviction that fails three times counts as refused, and others go",
          "[engine][preemption]") {
  engine::Options options = Preempting();
  if (GENERATE(true, false)) options.queues = {{.name = "all"}};
  FullWorld world(options);
  world.Add(MakeNode("n2").Gpus(8));
  world.Start("dear", 2, 4, 10);  // the next to go
  world.Pass(cluster::Seconds(10));
  bool failing = true;
  world.fault = Failing(failing, "old-3");
  world.log.clear();
  world.Submit("urgent", 1, 8, 100);
  world.Pass(cluster::Seconds(30));
  CHECK(Asked(world, "old-3") == 3);
  CHECK(world.BoundIn("old") == 4);
  for (const char* name : {"dear-0", "dear-1"}) CHECK(world.Pod(name).deleting);
  for (const std::string& name : kAllOld) CHECK_FALSE(world.Pod(name).deleting);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("where nobody else may go the gang says whose eviction fails, and it is tried later",
          "[engine][preemption]") {
  FullWorld world;
  bool failing = true;
  world.fault = Failing(failing, "old-0");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(Describe(world.Gang("urgent").reason) ==
        "evicted pods did not leave room for it: 0 of 4 are gone: HTTP 500: webhook");
  world.Pass(cluster::Seconds(30));
  CHECK(Asked(world, "old-0") == 3);
  CHECK(world.Gang("urgent").state == GangState::kQueued);
  world.Pass(cluster::Seconds(300));
  // Ever more rarely.
  CHECK(Asked(world, "old-0") > 3);
  CHECK(Asked(world, "old-0") <= 12);
  failing = false;
  world.Pass(cluster::Seconds(600));
  for (const std::string& name : kAllOld) CHECK(world.Pod(name).deleting);
}

TEST_CASE("an API server that is away for a moment costs nobody else", "[engine][preemption]") {
  FullWorld world;
  world.Add(MakeNode("n2").Gpus(8));
  world.Start("dear", 2, 4, 10);
  world.Pass(cluster::Seconds(10));
  bool failing = true;
  world.fault = Failing(failing, "old-3");
  world.log.clear();
  world.Submit("urgent", 1, 8, 100);
  world.Pass(cluster::Seconds(9));
  failing = false;
  world.Pass(cluster::Seconds(20));
  for (const std::string& name : kAllOld) CHECK(world.Pod(name).deleting);
  CHECK(world.BoundIn("dear") == 2);
}

TEST_CASE("one that stays beside others that went makes way for nobody, and others are looked for",
          "[engine][preemption]") {
  FullWorld world;
  world.Add(MakeNode("n2").Gpus(8));
  world.Start("dear", 1, 8, 10);
  world.Pass(cluster::Seconds(10));
  bool failing = true;
  world.fault = Failing(failing, "old-3", false);
  world.log.clear();
  world.Submit("urgent", 2, 8, 100);
  world.Pass(cluster::Seconds(8));
  for (const std::string name : {"old-0", "old-1", "old-2"}) {
    CHECK(world.Pod(name).deleting);
    world.RemovePod(name);
  }
  world.Pass(cluster::Seconds(22));
  CHECK(Asked(world, "old-3") == 3);
  CHECK(world.Pod("dear-0").deleting);
  world.RemovePod("dear-0");
  world.Pass(cluster::Seconds(5));
  world.ScheduleAll("urgent");
  CHECK(world.BoundIn("urgent") == 2);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("that others of its set failed says nothing of a pod", "[engine][preemption]") {
  FullWorld world;
  bool failing = true;
  world.fault = Failing(failing, "old-0");
  world.Submit("urgent", 2, 8, 100);
  world.Pass(cluster::Seconds(30));
  world.fault = nullptr;
  world.RemovePod("old-0");  // its own gang is lost with it
  world.Pass(cluster::Seconds(10));
  for (const std::string name : {"old-1", "old-2", "old-3"}) CHECK(world.Pod(name).deleting);
}

TEST_CASE("a partial gang whose eviction fails again and again says so and stays",
          "[engine][repair]") {
  FullWorld world;
  bool failing = true;
  world.fault = Failing(failing, "old-1");
  world.Add(MakeNode("n0").Gpus(4));
  world.RemovePod("old-0");
  world.Pass(cluster::Seconds(75));
  CHECK(Asked(world, "old-1") >= 3);
  CHECK_THAT(Describe(world.Gang("old").reason), Catch::Contains("HTTP 500: webhook"));
  CHECK(world.Gang("old").state == GangState::kDegraded);
  failing = false;
  world.Pass(cluster::Seconds(120));
  for (const std::string name : {"old-1", "old-2", "old-3"}) CHECK(world.Pod(name).deleting);
}

}  // namespace
}  // namespace muster::testing
