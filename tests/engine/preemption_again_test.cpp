// Preemption when things change on the way: nobody goes in vain, and who waits is tried again.
#include <catch2/catch.hpp>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::OutcomeKind;

TEST_CASE("what one preemptor leaves of a gang may be another one's victim",
          "[engine][preemption]") {
  Harness world(Preempting());
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("low", 2, 4, 1);
  world.ScheduleAll("low");
  REQUIRE(world.BoundIn("low") == 2);
  const auto submit = [&](const std::string& name) {
    world.Add(MakePod(name).Gpus(4).Priority(100));
    world.Settle();
  };
  submit("g1");
  REQUIRE(world.Gang("g1").state == GangState::kPreempting);
  submit("g2");
  CHECK(world.Gang("g2").state == GangState::kPreempting);
  CHECK(world.Pod("low-0").deleting);
  CHECK(world.Pod("low-1").deleting);
}

TEST_CASE("a gang may preempt once its least urgent member is gone", "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 4, 100);
  SECTION("no more urgent") { world.Add(MakePod("urgent-2").Gpus(4).InGroup("urgent").Gated()); }
  SECTION("never preempts") {
    cluster::Pod pod = MakePod("urgent-2").Gpus(4).Priority(100).InGroup("urgent").Gated();
    auto spec = *pod.spec;
    spec.preempts = false;
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    world.Add(pod);
  }
  world.Pass(cluster::Seconds(60));
  REQUIRE(world.Gang("urgent").state == GangState::kQueued);
  world.RemovePod("urgent-2");
  world.Pass(cluster::Seconds(60));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
}

TEST_CASE("a gang is not kept from preempting by one of its shape that may not",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("meek", 2, 4, 100);
  world.Add(MakePod("meek-2").Gpus(4).InGroup("meek").Gated());
  world.Pass(cluster::Seconds(60));
  REQUIRE(world.Gang("meek").state == GangState::kQueued);
  world.Submit("urgent", 2, 4, 100);
  world.Pass(cluster::Seconds(60));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
}

TEST_CASE("victims that were never asked did not stay: nominations failed",
          "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  world.Pass(cluster::Seconds(601));
  CHECK(world.Evicted().empty());
  held = false;
  world.Pass(cluster::Seconds(7'200));
  CHECK(world.Evicted() == kAllOld);
}

TEST_CASE("victims that were never asked did not stay: silence", "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  world.engine().Apply(engine::WatchStale{"pods"}, world.now());
  held = false;
  world.Pass(cluster::Seconds(601));
  world.engine().Apply(engine::WatchStale{""}, world.now());
  world.Pass(cluster::Seconds(7'200));
  CHECK(world.Evicted() == kAllOld);
}

TEST_CASE("a victim that left is not protected, whatever stayed beside it",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Start("good", 2, 4, 0);
  world.Add(MakePodGroup("good").MinMember(1).CreatedAt(1));
  world.Settle();
  world.Start("stuck", 1, 8, 0);
  world.log.clear();
  world.Harness::Add(MakePodGroup("urgent").MinMember(2).CreatedAt(world.now().milliseconds()));
  world.Add(MakePod("urgent-0").Gpus(4).Priority(100).InGroup("urgent").Gated());
  world.Add(MakePod("urgent-1").Gpus(8).Priority(100).InGroup("urgent").Gated());
  world.Settle();
  REQUIRE(world.Evicted().size() == 2);  // the surplus of `good`, and `stuck`
  for (const std::string& name : world.Evicted()) {
    if (name != "stuck-0")
      world.Change(name, [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  world.Pass(cluster::Seconds(601));
  world.RemovePod("urgent-0");
  world.RemovePod("urgent-1");
  world.Pass(cluster::Seconds(60));
  world.log.clear();
  world.Submit("later", 1, 8, 100);  // fits beside `stuck` when what is left of `good` goes
  world.Pass(cluster::Seconds(60));
  CHECK(world.Gang("later").state == GangState::kPreempting);
}

TEST_CASE("pods that came after those that a budget kept may be victims", "[engine][preemption]") {
  FullWorld world;
  bool refusing = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!std::holds_alternative<engine::EvictPod>(action) || !refusing) return std::nullopt;
    return engine::Outcome{{}, OutcomeKind::kConflict, "a budget"};
  };
  world.Submit("urgent", 2, 8, 100);
  world.Pass(cluster::Seconds(60));
  refusing = false;
  world.log.clear();
  // Every pod is replaced, one after the other: none of those that a budget kept is left.
  for (const std::string& name : kAllOld) {
    world.RemovePod(name);
    world.Add(MakePod(name).Uid("again-" + name).Gpus(4).InGroup("old").Gated());
    world.Settle();
    world.Bind(name);
    world.Settle();
  }
  world.Pass(cluster::Seconds(60));
  CHECK_FALSE(world.Evicted().empty());
}

TEST_CASE("nobody is evicted for a device that will be withheld for a broken one",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.RemoveNode("n1");
  world.Start("a", 1, 1, 100);  // on GPU 0, no victim
  world.Start("b", 1, 7, 0);
  world.Add(MakeNode("n0").Gpus(8).Unhealthy(0));
  world.Settle();
  Names expected;  // nobody: kube-scheduler counts 7 healthy - 1 taken = 6
  SECTION("and nobody else is there") {}
  SECTION("but for one elsewhere, though it is dearer") {
    world.Add(MakeNode("n2").Gpus(8));
    world.Start("c", 1, 8, 10);
    expected = {"c-0"};
  }
  world.log.clear();
  world.Submit("urgent", 1, 7, 100);
  world.Settle();
  CHECK(world.Evicted() == expected);
}

TEST_CASE("a plan that the books do not bear has nobody evicted, node after node",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.RemoveNode("n0");
  world.RemoveNode("n1");
  for (int i = 0; i < 4; ++i) {
    const std::string at = std::to_string(i);
    world.Add(MakeNode("m" + at).Gpus(8));
    world.Start("a" + at, 1, 1, 100);
    world.Start("b" + at, 1, 7, 0);
    world.Add(MakeNode("m" + at).Gpus(8).Unhealthy(0));
  }
  world.Settle();
  world.log.clear();
  world.Submit("urgent", 1, 7, 100);
  for (int round = 0; round < 6; ++round) {
    world.Settle();
    for (const std::string& name : world.Evicted()) {
      if (world.Gang(name.substr(0, 2)).members.size() == 1) world.RemovePod(name);
    }
  }
  CHECK(world.Evicted().empty());
}

TEST_CASE("nobody is evicted for room that another scheduler's pod will have",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.RemoveNode("n1");
  world.Start("low", 1, 8, 0);
  // Over-committed: its devices are not known.
  world.Add(MakePod("stranger").Gpus(4).Scheduler("default-scheduler").BoundTo("n0"));
  world.Settle();
  world.log.clear();
  world.Submit("urgent", 1, 8, 100);
  world.Settle();
  CHECK(world.Evicted().empty());
}

TEST_CASE("nobody is evicted for a node that lost its GPUs meanwhile", "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  SECTION("fewer devices") { world.Add(MakeNode("n0").Gpus(4)); }
  SECTION("broken devices") { world.Add(MakeNode("n0").Gpus(8).Unhealthy(0)); }
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(30));
  CHECK(world.Evicted().empty());  // two pods of eight GPUs fit no more, whichever pod leaves
}

TEST_CASE("nobody is evicted for room whose free part is gone", "[engine][preemption]") {
  FullWorld world;
  for (const char* name : {"old-0", "old-1", "old-2", "old-3"}) world.RemovePod(name);
  world.RemoveNode("n1");
  world.Start("half", 1, 4, 0);
  bool held = true;
  world.fault = HoldNominations(held, "urgent-0");
  world.Submit("urgent", 1, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  world.Add(MakePod("stranger").Gpus(4).Scheduler("default-scheduler").BoundTo("n0"));
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(30));
  CHECK(world.Evicted().empty());
}

TEST_CASE("what forbids a preemption before the evictions has nobody evicted",
          "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  SECTION("the policy") { world.engine().SetOptions({}); }
  SECTION("a member of priority 0") {
    world.Add(MakePod("urgent-2").Gpus(8).InGroup("urgent").Gated());
  }
  SECTION("a member that never preempts") {
    cluster::Pod pod = MakePod("urgent-2").Gpus(8).Priority(100).InGroup("urgent").Gated();
    auto spec = *pod.spec;
    spec.preempts = false;
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    world.Add(pod);
  }
  SECTION("the namespace is being deleted") {
    cluster::Namespace ns;
    ns.uid = cluster::NamespaceUid("ns");
    ns.key = {"", "default"};
    ns.deleting = true;
    world.engine().Apply(ns, world.now());
  }
  world.Settle();
  held = false;
  world.Pass(cluster::Seconds(30));
  CHECK(world.Evicted().empty());
}

// What a restart forgets is who makes way for whom: of the gang that it had begun with some pods
// leave.
TEST_CASE("a preemption that a restart cut off takes the rest of its victim, and nobody else",
          "[engine][preemption]") {
  engine::Options options = Preempting();
  if (GENERATE(true, false)) options.queues = {{.name = "all"}};
  FullWorld world(options);
  world.Add(MakeNode("n2").Gpus(8));
  world.Start("other", 2, 4, GENERATE(0, -1));  // it would go first
  world.Pass(cluster::Seconds(10));
  world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    const bool cut = evict != nullptr && evict->pod.key.name >= "old-2";
    return cut ? std::optional(engine::Outcome{{}, engine::OutcomeKind::kRetry, "no answer"})
               : std::nullopt;
  };
  world.log.clear();
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Evicted() == kAllOld);
  world.fault = nullptr;
  world.log.clear();
  world.Restart();
  world.Pass(cluster::Seconds(30));
  CHECK(world.Evicted() == Names{"old-2", "old-3"});
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Pass(cluster::Seconds(5));
  world.ScheduleAll("urgent");
  CHECK(world.BoundIn("urgent") == 2);
  CHECK(world.BoundIn("other") == 2);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("who leaves anyway does not make up for others that were evicted in vain",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Evicted() == kAllOld);
  int generation = 0;
  // The old pods go, the preemptor does not come to Bind in time, and new ones of `old` run.
  const auto start_in_vain = [&] {
    ++generation;
    for (const std::string& name : kAllOld) {
      world.RemovePod(name);
      world.Add(
          MakePod(name).Uid(name + std::to_string(generation)).Gpus(4).InGroup("old").Gated());
    }
    world.Settle();
    REQUIRE(world.Gang("urgent").state == GangState::kReserved);
    world.Pass(cluster::Seconds(120));
    world.ScheduleAll("old");
    REQUIRE(world.Gang("old").state == GangState::kRunning);
  };
  start_in_vain();
  for (const std::string& name : kAllOld)
    world.Change(name, [](cluster::Pod& pod) { pod.deleting = true; });
  world.Pass(cluster::Seconds(120));  // it waits as long as it held room in vain
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  start_in_vain();
  world.Pass(cluster::Seconds(100));
  CHECK(world.Evicted() == kAllOld);
  CHECK(world.BoundIn("old") == 4);
}

TEST_CASE("a preemptor that never comes to Bind has others evicted ever more rarely",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  int generation = 0;
  for (int round = 0; round < 24 * 60; ++round) {
    world.Pass(cluster::Seconds(60));
    for (const std::string& name : kAllOld) {
      if (!world.Pod(name).deleting) continue;
      world.RemovePod(name);
      world.Add(
          MakePod(name).Uid(name + std::to_string(++generation)).Gpus(4).InGroup("old").Gated());
    }
    world.ScheduleAll("old");
  }
  UNSCOPED_INFO("evicted in a day: " << world.Evicted().size());
  CHECK(world.Evicted().size() < 40);
}

TEST_CASE("with handover pin members are nominated as long as they wait for victims",
          "[engine][preemption]") {
  engine::Options options = Preempting();
  options.hand_over = engine::HandOver::kPin;
  FullWorld world(options);
  world.Add(MakePodGroup("urgent").MinMember(2).CreatedAt(1));
  for (const char* name : {"urgent-0", "urgent-1"})
    world.Add(MakePod(name).Gpus(8).Priority(100).InGroup("urgent").Owner("job").Gated());
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Evicted() == kAllOld);
  CHECK_FALSE(world.Pod("urgent-0").nominated_node.empty());
}

TEST_CASE("new pods of a gang whose old ones still leave are planned like any others",
          "[engine][preemption]") {
  FullWorld world;
  world.Add(MakeNode("n2").Gpus(8));
  world.Add(MakeNode("n3").Gpus(8));
  world.Submit("urgent", 4, 8, 100);
  world.Settle();
  REQUIRE(world.Evicted() == kAllOld);
  world.Add(MakeNode("n4").Gpus(8));
  world.Add(MakeNode("n5").Gpus(8));
  for (int i = 4; i < 8; ++i)
    world.Add(MakePod("old-" + std::to_string(i)).Gpus(4).InGroup("old").Gated());
  world.ScheduleAll("old");
  CHECK(world.Gang("old").state == GangState::kRunning);
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
}

TEST_CASE("a gang that lost its launcher has nobody to spare: it goes whole",
          "[engine][preemption]") {
  engine::Options options = Preempting();
  options.partial_gang = engine::PartialGang::kHold;
  Harness world(options);
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.Add(MakePodGroup("mixed").MinMember(3).Role("worker", 2).Role("launcher", 1));
  for (int i = 0; i < 4; ++i) {
    world.Add(
        MakePod("mixed-" + std::to_string(i)).Gpus(4).InGroup("mixed").Role("worker").Gated());
  }
  world.Add(MakePod("mixed-launcher").InGroup("mixed").Role("launcher").Gpus(0).Gated());
  world.ScheduleAll("mixed");
  world.RemovePod("mixed-launcher");
  world.Settle();
  world.Add(MakePod("urgent").Gpus(4).Priority(100).Gated());
  world.Pass(cluster::Seconds(5));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  for (int i = 0; i < 4; ++i) CHECK(world.Pod("mixed-" + std::to_string(i)).deleting);
}

TEST_CASE("a gang that has run may have others evicted at once when it is to run again",
          "[engine][preemption]") {
  FullWorld world;
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.ScheduleAll("urgent");
  REQUIRE(world.Gang("urgent").state == GangState::kRunning);
  for (const char* name : {"urgent-0", "urgent-1"}) world.RemovePod(name);
  world.Start("low", 4, 4, 0);
  world.log.clear();
  for (const std::string name : {"urgent-0", "urgent-1"})
    world.Add(MakePod(name).Uid(name + "-again").Gpus(8).Priority(100).InGroup("urgent").Gated());
  world.Pass(cluster::Seconds(5));
  CHECK(world.Evicted().size() == 4);
}

TEST_CASE("a victim that is gone before its eviction is answered was evicted",
          "[engine][preemption]") {
  FullWorld world;
  bool failing = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr || !failing) return std::nullopt;
    if (evict->pod.key.name != "old-0")
      return engine::Outcome{{}, engine::OutcomeKind::kRetry, "500"};
    world.RemovePod("old-0");
    return engine::Outcome{{}, engine::OutcomeKind::kDone, ""};
  };
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
          const auto* event = std::get_if<engine::EmitEvent>(&action);
          return event != nullptr && event->reason == "GangPreempted";
        }) == 1);
  failing = false;
  world.Pass(cluster::Seconds(5));
  for (const std::string name : {"old-1", "old-2", "old-3"}) CHECK(world.Pod(name).deleting);
}

}  // namespace
}  // namespace muster::testing
