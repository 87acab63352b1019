// Who may be a victim: whole gangs or what they can spare, for one preemptor, and not in vain.
#include <catch2/catch.hpp>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/preemption_world.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::OutcomeKind;

TEST_CASE(
    "a victim that moves to another PodGroup before the evictions has its preemptor planned again",
    "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  world.Add(MakePodGroup("other").MinMember(1).CreatedAt(1));
  world.Change("old-0", [](cluster::Pod& pod) { pod.pod_group = "other"; });
  world.Settle();
  CHECK(world.Evicted().empty());
  held = false;
  world.Pass(cluster::Seconds(5));
  CHECK(world.Gang("urgent").plans == 2);
  CHECK(Describe(world.Gang("urgent").reason) ==
        "evicted pods are leaving room for it: 0 of 4 are gone: default/old, "
        "default/other");
  CHECK(world.Evicted() == kAllOld);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
}

TEST_CASE("a victim that moved to another PodGroup is nobody else's, and the engine comes to rest",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  world.Add(MakePodGroup("other").MinMember(1).CreatedAt(1));
  world.Change("old-0", [](cluster::Pod& pod) { pod.pod_group = "other"; });
  world.Submit("second", 1, 4, 100);
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Gang("second").state == GangState::kQueued);
  CHECK(world.Evicted() == kAllOld);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
  CHECK(world.Gang("second").state == GangState::kQueued);
}

TEST_CASE("every eviction names the gang that it is for", "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  world.Add(MakePodGroup("other").MinMember(1).CreatedAt(1));
  world.Change("old-0", [](cluster::Pod& pod) { pod.pod_group = "other"; });
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(5));
  for (const auto& action : world.log) {
    if (const auto* evict = std::get_if<engine::EvictPod>(&action)) {
      INFO(evict->pod.key.name);
      CHECK(evict->gang.name == "urgent");
    }
  }
}

TEST_CASE("nobody goes for a preemptor that is gone", "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  const auto nominations = HoldNominations(held, "urgent-1");
  bool failing = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict != nullptr && failing && evict->pod.key.name == "old-0")
      return engine::Outcome{{}, OutcomeKind::kRetry, "500"};
    return nominations(action);
  };
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  world.Add(MakePodGroup("other").MinMember(1).CreatedAt(1));
  world.Change("old-0", [](cluster::Pod& pod) { pod.pod_group = "other"; });
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(5));
  world.RemovePod("urgent-0");
  world.RemovePod("urgent-1");
  world.RemoveGroup("urgent");
  world.Pass(cluster::Seconds(60));
  failing = false;
  world.log.clear();
  world.Pass(cluster::Seconds(600));
  CHECK(world.Evicted().empty());
}

TEST_CASE("a gang that is still being bound goes whole or not at all", "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Submit("slow", 4, 4, 0);
  world.Settle();
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  int times = 0;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (bind == nullptr || bind->pod.key.name == "slow-0" || ++times > 3) return std::nullopt;
    return engine::Outcome{{}, OutcomeKind::kRetry, "timeout"};
  };
  world.ScheduleAll("slow");
  world.Pass(cluster::Seconds(5));
  UNSCOPED_INFO("bound in slow: " << world.BoundIn("slow"));
  const size_t evicted = world.Evicted().size();
  const bool whole_or_none = evicted == 0 || evicted == 4;
  CHECK(whole_or_none);
}

TEST_CASE("no elastic member joins a gang that is being evicted", "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Add(MakeNode("n2").Gpus(8));
  world.Start("low", 2, 8, 0);
  world.Add(MakePod("low-9").Gpus(8).InGroup("low").Gated());
  world.Settle();
  REQUIRE_FALSE(world.Gang("low").members.empty());
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  world.Bind("low-9");
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(5));
  CHECK(world.Evicted().size() == 2);
  const bool bound_though_evicted = world.Pod("low-9").bound() && !world.Pod("low-9").deleting;
  CHECK_FALSE(bound_though_evicted);
}

TEST_CASE("a surplus that is none any more stays", "[engine][preemption]") {
  FullWorld world;
  world.Add(MakePodGroup("old").MinMember(3).CreatedAt(1));
  bool held = true;
  world.fault = HoldNominations(held, "urgent-0");
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  SECTION("the minimum rises") { world.Add(MakePodGroup("old").MinMember(4).CreatedAt(1)); }
  SECTION("another member fails") {
    world.Change("old-1", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(5));
  for (const auto& name : world.Evicted()) UNSCOPED_INFO(name);
  const size_t evicted = world.Evicted().size();
  const bool whole_or_none = evicted == 0 || evicted >= 3;
  CHECK(whole_or_none);
}

TEST_CASE("a gang whose minimum is not known goes whole", "[engine][preemption]") {
  FullWorld world;
  SECTION("removed") { world.RemoveGroup("old"); }
  SECTION("unserved") {
    world.engine().Apply(engine::PodGroupUnserved{cluster::PodGroupUid("group-old")}, world.now());
  }
  SECTION("invalid") { world.Add(MakePodGroup("old").MinMember(0).CreatedAt(1)); }
  world.Settle();
  world.log.clear();
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  CHECK(world.Evicted() == kAllOld);
}

TEST_CASE("a gang with required segments goes whole, also when it has pods beyond its minimum",
          "[engine][preemption]") {
  FullWorld world(WithFabric(Preempting()));
  const bool required = GENERATE(true, false);
  cluster::PodGroup group = MakePodGroup("old").MinMember(2).CreatedAt(1);
  group.topology.segments = {{"rack", 2, required}};
  world.Add(group);
  world.Settle();
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  CHECK(world.Evicted().size() == (required ? 4 : 1));
}

TEST_CASE("a gang whose subgroup has required segments goes whole", "[engine][preemption]") {
  FullWorld world(WithFabric(Preempting()));
  const bool required = GENERATE(true, false);
  cluster::PodGroup group = MakePodGroup("old").MinMember(2).CreatedAt(1);
  cluster::TopologySubgroup workers{"workers", {""}, "block"};
  workers.segments = {{"rack", 2, required}};
  group.topology.subgroups = {workers};
  world.Add(group);
  world.Settle();
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  CHECK(world.Evicted().size() == (required ? 4 : 1));
}

TEST_CASE("a gang part of which is on a node that is gone goes whole or not at all",
          "[engine][preemption]") {
  // Other pods of the victim's gang run on a node that is gone: never deleted as far as Muster
  // knows.
  FullWorld world;
  world.RemoveNode("n1");
  world.Settle();
  world.log.clear();
  world.Submit("urgent", 1, 8, 100);
  world.Settle();
  for (const auto& name : world.Evicted()) UNSCOPED_INFO(name);
  const size_t evicted = world.Evicted().size();
  const bool whole_or_none = evicted == 0 || evicted == 4;
  CHECK(whole_or_none);
}

TEST_CASE("a bystander on a broken GPU stays", "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.RemoveNode("n1");
  world.Start("a", 1, 1, 0);  // on GPU 0, the cheapest
  world.Start("b", 1, 7, 10);
  world.Add(MakeNode("n0").Gpus(8).Unhealthy(0));
  world.Settle();
  world.log.clear();
  world.Submit("urgent", 1, 6, 100);
  world.Settle();
  CHECK(world.Evicted() == Names{"b-0"});
}

TEST_CASE("a room is not given up because the first of the evictions failed",
          "[engine][preemption]") {
  FullWorld world;
  bool failing = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr || evict->pod.key.name != "old-0" || !failing) return std::nullopt;
    return engine::Outcome{{}, OutcomeKind::kRetry, "500"};
  };
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  world.Submit("thief", 1, 8, 0);
  for (const char* name : {"old-1", "old-2", "old-3"})
    if (world.Pod(name).deleting) world.RemovePod(name);
  world.Settle();
  CHECK(world.Gang("thief").state == GangState::kQueued);
}

TEST_CASE("a budget that refuses after one left by itself is asked rarely",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Start("leaver", 1, 8, 0);
  world.Start("kept", 1, 8, 0);
  world.Change("leaver-0", [](cluster::Pod& pod) { pod.deleting = true; });
  bool held = true;
  const auto nominations = HoldNominations(held, "urgent-1");
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (std::holds_alternative<engine::EvictPod>(action))
      return engine::Outcome{{}, OutcomeKind::kConflict, "a budget"};
    return nominations(action);
  };
  world.log.clear();
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  world.RemovePod("leaver-0");
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(500));
  CHECK(world.Gang("urgent").state != GangState::kPreempting);
  CHECK(world.Evicted().size() < 20);
}

TEST_CASE("what one preemptor waits for is not given away for another one's surplus",
          "[engine][preemption]") {
  Harness world(Preempting());
  world.Add(MakeNode("n0").Cpu(16).Gpus(8));
  const auto start = [&](const std::string& name, int64_t milli, int gpus, int priority) {
    world.Add(MakePod(name).MilliCpu(milli).Gpus(gpus).Priority(priority));
    world.Settle();
  };
  const auto run = [&](const std::string& name) {
    world.Bind(name);
    world.Settle();
    REQUIRE(world.Pod(name).bound());
  };
  start("v1", 4000, 4, 0);
  run("v1");
  start("v2", 8000, 4, 0);
  run("v2");
  start("g1", 8000, 4, 200);  // 4 free cores and v1's (or v2's)
  start("g2", 4000, 4, 100);
  CHECK(world.Gang("g1").state == GangState::kPreempting);
  CHECK(world.Gang("g2").state == GangState::kPreempting);
  start("thief", 4000, 0, 0);
  CHECK(world.Gang("thief").state == GangState::kQueued);
  std::string who;
  for (const auto& action : world.log)
    if (const auto* evict = std::get_if<engine::EvictPod>(&action))
      who += evict->pod.key.name + " for " + evict->gang.name + "; ";
  UNSCOPED_INFO(who);
  world.RemovePod("v1");
  world.Settle();
  UNSCOPED_INFO(ToString(world.Gang("g1").state) << " " << ToString(world.Gang("g2").state));
  world.RemovePod("v2");
  world.Settle();
  CHECK(world.Gang("g1").state == GangState::kReserved);
  CHECK(world.Gang("g2").state == GangState::kReserved);
}

TEST_CASE("room that is kept is not shown as free where others wait for more",
          "[engine][preemption]") {
  Harness world(Preempting());
  world.Add(MakeNode("n0").Cpu(16).Gpus(8));
  const auto submit = [&](const std::string& name, int64_t milli, int gpus, int priority) {
    world.Add(MakePod(name).MilliCpu(milli).Gpus(gpus).Priority(priority));
    world.Settle();
  };
  const auto run = [&](const std::string& name, int64_t milli, int gpus, int priority) {
    submit(name, milli, gpus, priority);
    world.Bind(name);
    world.Settle();
    REQUIRE(world.Pod(name).bound());
  };
  run("v1", 4000, 4, 0);
  run("v2", 8000, 4, 10);
  submit("g1", 8000, 4, 200);  // the 4 free cores and v1's
  submit("g2", 4000, 4, 100);  // v2's
  REQUIRE(world.Pod("v1").deleting);
  REQUIRE(world.Pod("v2").deleting);
  submit("thief", 4000, 0, 0);
  CHECK(world.Gang("thief").state == GangState::kQueued);
  world.RemovePod("v1");  // v2 takes its time
  world.Settle();
  CHECK(world.Gang("g1").state == GangState::kReserved);
}

TEST_CASE("victims that were refused a moment ago are asked about with all others",
          "[engine][preemption]") {
  FullWorld world;
  world.fault = KeptByBudget("old-2");
  world.Submit("first", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Evicted() == kAllOld);
  // Nobody was evicted, and no Event says that anybody was.
  for (const engine::Action& action : world.log) {
    const auto* event = std::get_if<engine::EmitEvent>(&action);
    if (event != nullptr) CHECK(event->reason != "GangPreempted");
  }
  world.fault = nullptr;
  cluster::DisruptionBudget budget;
  budget.uid = cluster::DisruptionBudgetUid("budget");
  budget.key = {"default", "budget"};
  world.engine().Apply(budget, world.now());
  world.log.clear();
  world.Submit("second", 2, 8, 200);
  world.Settle();
  CHECK(world.Evicted() == kAllOld);
}

TEST_CASE("a gang with a pod of another scheduler is nobody's victim", "[engine][preemption]") {
  FullWorld world;
  world.Change("old-0", [](cluster::Pod& pod) {
    pod.bound_by_muster = false;
    cluster::PodSpec spec = *pod.spec;
    spec.scheduler_name = "default-scheduler";
    pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
  });
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("urgent").state == GangState::kQueued);
}

TEST_CASE("a pod that names Muster and its node by itself is a victim as others are",
          "[engine][preemption]") {
  SECTION("without queues") {
    FullWorld world;
    for (int i = 0; i < 4; ++i) {
      world.Change("old-" + std::to_string(i),
                   [](cluster::Pod& pod) { pod.bound_by_muster = false; });
    }
    world.Submit("urgent", 2, 8, 100);
    world.Settle();
    CHECK(world.Evicted() == kAllOld);
  }
  SECTION("of the queue to which it is charged") {
    QueueWorld world({Queue("x", 8), Queue("y", 0)});
    cluster::Pod pod = MakePod("by-itself").Gpus(8).BoundTo("n0");
    pod.asked_queue = "y";
    world.Add(pod);
    world.Settle();
    world.Submit("claims", "x", 8);
    CHECK(world.Evicted() == "by-itself");
  }
}

}  // namespace
}  // namespace muster::testing
