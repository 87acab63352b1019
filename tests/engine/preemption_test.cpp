// A gang of higher priority takes room that others leave for it, whole or not at all.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::OutcomeKind;
using engine::ReasonCode;

TEST_CASE("a gang of higher priority has a whole gang evicted, waits for it and starts",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 4, 100);
  world.Settle();
  // Half of what `old` has would do, but a gang goes whole.
  CHECK(world.Evicted() == kAllOld);
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(Describe(world.Gang("urgent").reason) ==
        "evicted pods are leaving room for it: 0 of 4 are gone: default/old");
  CHECK(world.engine().Count().reservations == 0);
  CHECK_FALSE(world.Pod("urgent-0").nominated_node.empty());
  CHECK_FALSE(world.Pod("urgent-0").gates.empty());
  world.RemovePod("old-0");
  world.RemovePod("old-1");
  world.RemovePod("old-2");
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Gang("urgent").reason.have == 3);
  CHECK_FALSE(world.Pod("urgent-0").gates.empty());
  world.RemovePod("old-3");
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kReserved);
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
  CHECK(world.Count<engine::EvictPod>() == 4);
}

TEST_CASE("all members are nominated before the first victim is evicted", "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  int nominations = 0;
  for (const engine::Action& action : world.log) {
    if (std::holds_alternative<engine::Nominate>(action)) ++nominations;
    if (std::holds_alternative<engine::EvictPod>(action)) CHECK(nominations == 2);
  }
  CHECK(world.Count<engine::EvictPod>() == 4);
  CHECK(world.Count<engine::RemoveGate>() == 0);
}

TEST_CASE("a victim may take as long as the policy's victimTimeout to end, whatever its grace",
          "[engine][preemption]") {
  FullWorld world;
  world.Change("old-0", [](cluster::Pod& pod) { pod.grace = cluster::Seconds(86'400); });
  world.Change("old-1", [](cluster::Pod& pod) { pod.grace = cluster::Seconds(600); });
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  int cut = 0;
  for (const engine::Action& action : world.log) {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr || !evict->grace) continue;
    ++cut;
    CHECK(evict->pod.key.name == "old-0");
    CHECK(evict->grace == cluster::Seconds(600));
  }
  CHECK(cut == 1);
}

TEST_CASE("what victims leave goes to nobody else", "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  world.Submit("thief", 1, 1, 100);
  world.Submit("stray", 1, 4, 0);
  world.RemovePod("old-0");
  world.RemovePod("old-2");
  world.Pass(cluster::Seconds(30));
  CHECK(world.Gang("thief").state == GangState::kQueued);
  CHECK(world.Gang("stray").state == GangState::kQueued);
  world.RemovePod("old-1");
  world.RemovePod("old-3");
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
  CHECK(world.Gang("thief").state == GangState::kQueued);
}

TEST_CASE("no pod is evicted that is not of lower priority, or in vain", "[engine][preemption]") {
  FullWorld world;
  SECTION("equal priority") { world.Submit("urgent", 2, 4, 0); }
  SECTION("one member is no more urgent") {
    world.Submit("urgent", 2, 4, 100);
    world.Add(MakePod("urgent-1").Gpus(4).InGroup("urgent").Gated());
  }
  SECTION("it would not fit either way") { world.Submit("urgent", 3, 8, 100); }
  SECTION("a member never preempts") {
    world.Submit("urgent", 1, 4, 100);
    world.Change("urgent-0", [](cluster::Pod& pod) {
      auto spec = *pod.spec;
      spec.preempts = false;
      pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    });
  }
  SECTION("the policy is that nobody ever is") {
    world.engine().SetOptions({});
    world.Submit("urgent", 2, 4, 100);
  }
  world.Pass(cluster::Seconds(3'600));
  CHECK(world.Evicted().empty());
  CHECK(world.Count<engine::Nominate>() == 0);
  CHECK(world.BoundIn("old") == 4);
}

TEST_CASE("a gang's surplus is enough where it is", "[engine][preemption]") {
  FullWorld world;
  world.Change("old-3", [](cluster::Pod& pod) { pod.created = cluster::Time(99); });
  world.Add(MakePodGroup("old").MinMember(3).CreatedAt(1));
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  CHECK(world.Evicted() == Names{"old-3"});
  CHECK(world.Gang("old").state == GangState::kRunning);
  world.RemovePod("old-3");
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
  CHECK(world.BoundIn("old") == 3);
}

TEST_CASE("of several, the one of lowest priority goes, then who started last",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Start("a", 1, 4, 10);
  world.Start("b", 1, 4, 20);
  world.Start("c", 1, 4, 10);
  world.Pass(cluster::Seconds(1));
  world.Start("d", 1, 4, 10);
  world.Submit("urgent", 1, 4, 100);
  world.Settle();
  CHECK(world.Evicted() == Names{"d-0"});
}

TEST_CASE("a gang that is being bound is nobody's victim until it is", "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  bool held = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (!held || bind == nullptr || bind->pod.key.name != "slow-1") return std::nullopt;
    return engine::Outcome{{}, OutcomeKind::kRetry, "500"};
  };
  world.Submit("slow", 2, 8, 0);
  world.ScheduleAll("slow");
  CHECK(world.Gang("slow").state == GangState::kBinding);
  world.Submit("urgent", 1, 8, 100);
  world.Pass(cluster::Seconds(5));
  CHECK(world.Evicted().empty());
  held = false;
  world.Pass(cluster::Seconds(5));
  CHECK(world.Evicted() == Names{"slow-0", "slow-1"});
}

TEST_CASE("a victim's eviction names the gang that needs its room", "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  for (const engine::Action& action : world.log) {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr) continue;
    CHECK(evict->why == "evicted for a gang that takes precedence: default/urgent");
    CHECK(evict->gang.name == "urgent");
  }
}

TEST_CASE("an eviction that a budget refuses spares all victims", "[engine][preemption]") {
  FullWorld world;
  world.fault = KeptByBudget("old-2");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kBackoff);
  CHECK(Describe(world.Gang("urgent").reason) ==
        "evicted pods did not leave room for it: 0 of 4 are gone: a budget");
  CHECK(world.Gang("old").state == GangState::kRunning);
  world.Pass(cluster::Seconds(60));
  CHECK(world.Pod("urgent-0").nominated_node.empty());
  CHECK(world.Gang("urgent").state == GangState::kQueued);
  SECTION("and it is not tried again for an hour") {
    world.log.clear();
    world.Pass(cluster::Seconds(3'500));
    // It is only told of, again.
    const bool told = std::all_of(world.log.begin(), world.log.end(), [](const auto& action) {
      return std::holds_alternative<engine::EmitEvent>(action) ||
             std::holds_alternative<engine::TellPod>(action);
    });
    CHECK(told);
    world.Pass(cluster::Seconds(100));
    CHECK(world.Evicted() == kAllOld);
  }
  SECTION("until a budget changes") {
    world.fault = nullptr;
    cluster::DisruptionBudget budget;
    budget.uid = cluster::DisruptionBudgetUid("budget");
    budget.key = {"default", "budget"};
    budget.disruptions_allowed = 4;
    world.engine().Apply(budget, world.now());
    world.Settle();
    CHECK(world.Evicted().size() == 4 + 4);
    CHECK(world.Gang("urgent").state == GangState::kPreempting);
  }
}

TEST_CASE("an eviction that fails after others were done is asked for again",
          "[engine][preemption]") {
  FullWorld world;
  bool failing = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr || evict->pod.key.name != "old-3" || !failing) return std::nullopt;
    return engine::Outcome{{}, OutcomeKind::kRetry, "500"};
  };
  world.Submit("urgent", 2, 8, 100);
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  failing = false;
  world.Pass(cluster::Seconds(5));
  for (const std::string& name : kAllOld) CHECK(world.Pod(name).deleting);
}

TEST_CASE("victims that do not leave in time are waited for no longer", "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Pass(cluster::Seconds(599));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  world.Pass(cluster::Seconds(1));
  CHECK(world.Gang("urgent").state == GangState::kBackoff);
  CHECK(world.Gang("urgent").reason.code == ReasonCode::kVictimsStay);
  CHECK(world.Pod("urgent-0").nominated_node.empty());
}

TEST_CASE("who did not leave in time is not asked again, but others are", "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Start("stuck", 1, 8, 0);
  world.Start("dear", 1, 8, 10);
  world.Submit("urgent", 1, 8, 100);
  world.Pass(cluster::Seconds(599));
  CHECK(world.Evicted() == Names{"stuck-0"});
  world.Pass(cluster::Seconds(10));
  CHECK(world.Evicted() == Names{"dear-0", "stuck-0"});
  world.Submit("later", 1, 8, 100);
  world.Pass(cluster::Seconds(60));
  CHECK(world.Gang("later").state == GangState::kQueued);
  world.RemovePod("stuck-0");
  world.Settle();
  CHECK(world.Gang("later").state == GangState::kReserved);
}

TEST_CASE("a preemptor that goes away lets its victims be", "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* nominate = std::get_if<engine::Nominate>(&action);
    if (!held || nominate == nullptr || nominate->pod.key.name != "urgent-1") return std::nullopt;
    return engine::Outcome{{}, OutcomeKind::kRetry, "500"};
  };
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  world.RemovePod("urgent-0");
  world.Pass(cluster::Seconds(60));
  CHECK(world.Gang("urgent").state == GangState::kForming);
  CHECK(world.Evicted().empty());
  CHECK(world.BoundIn("old") == 4);
}

TEST_CASE("no pod is evicted for a gang that turns out to need no more", "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Start("mixed", 2, 8, 100);
  world.Change("mixed-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
  world.Start("low", 1, 8, 0);
  world.RemovePod("mixed-1");
  world.Start("low-2", 1, 8, 0);
  world.Add(MakePod("mixed-2").Gpus(8).Priority(100).InGroup("mixed").Gated());
  world.Settle();
  REQUIRE(world.Gang("mixed").state == GangState::kPreempting);
  world.Add(MakePodGroup("mixed").MinMember(1).CreatedAt(1));
  world.Settle();
  CHECK(world.Gang("mixed").state == GangState::kRunning);
  CHECK(world.Pod("mixed-2").nominated_node.empty());
}

TEST_CASE("a preemption under way is taken up after a restart, without further evictions",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  world.RemovePod("old-1");
  const std::string node = world.Pod("urgent-0").nominated_node;
  // Older, and of the same priority: what is left is not its all the same.
  world.Add(MakePod("a-thief").Gpus(1).Priority(100).CreatedAt(0));
  world.log.clear();
  world.Restart();
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Pod("urgent-0").nominated_node == node);
  CHECK(world.Count<engine::Nominate>() == 0);
  CHECK(world.Evicted().empty());
  for (const char* name : {"old-0", "old-2", "old-3"}) world.RemovePod(name);
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
}

TEST_CASE("an ungated member is refused until its victims are gone, then woken",
          "[engine][preemption]") {
  FullWorld world;
  world.Add(MakePod("single").Gpus(4).Priority(100));
  world.Settle();
  CHECK(world.Gang("single").state == GangState::kPreempting);
  CHECK(world.Filter("single").node.empty());
  CHECK(world.Filter("single").refusal ==
        "muster: gang is Preempting: evicted pods are leaving room for it");
  world.Bind("single", world.Pod("single").nominated_node);
  CHECK(world.bind_answers.rbegin()->second.find("has no reservation") != std::string::npos);
  world.Pass(cluster::Seconds(30));
  CHECK(world.Count<engine::WakePod>() == 0);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Settle();
  CHECK(world.Count<engine::WakePod>() == 1);
  world.Bind("single");
  world.Settle();
  CHECK(world.Pod("single").bound());
}

TEST_CASE("the victims' gang is notified, and starts again when there is room",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  const auto told = std::find_if(world.log.begin(), world.log.end(), [](const auto& action) {
    const auto* event = std::get_if<engine::EmitEvent>(&action);
    return event != nullptr && event->reason == "GangPreempted";
  });
  REQUIRE(told != world.log.end());
  CHECK(std::get<engine::EmitEvent>(*told).message ==
        "4 pods are evicted for gang default/urgent of higher priority");
  for (const std::string& name : kAllOld) {
    world.RemovePod(name);
    world.Add(MakePod(name).Uid("again-" + name).Gpus(4).InGroup("old").Gated());
  }
  world.ScheduleAll("urgent");
  CHECK(world.Gang("old").state == GangState::kQueued);
  for (const char* name : {"urgent-0", "urgent-1"}) {
    world.Change(name, [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
  }
  world.ScheduleAll("old");
  CHECK(world.Gang("old").state == GangState::kRunning);
}

TEST_CASE("a node that is lost under a preemption has the gang planned again",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 1, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  const std::string lost = world.Pod("urgent-0").nominated_node;
  world.Add(MakeNode(lost).Gpus(8).Cordoned());
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kBackoff);
  world.Pass(cluster::Seconds(1));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Pod("urgent-0").nominated_node != lost);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
}

TEST_CASE(
    "a gang that was only reserved when one of higher priority came can be its victim once it runs",
    "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Submit("slow", 2, 8, 0);
  world.Settle();
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kQueued);
  world.ScheduleAll("slow");
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
}

}  // namespace
}  // namespace muster::testing
