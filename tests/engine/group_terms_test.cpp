// What a gang's PodGroup says of its priority and of how it may be taken apart.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/preemption_world.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::PodGroup;
using cluster::Seconds;
using testing::FullWorld;
using testing::kAllOld;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Names;
using testing::Preempting;
using testing::Queue;

cluster::PriorityClass Class(const std::string& name, int32_t value, bool preempts = true) {
  cluster::PriorityClass one;
  one.uid = cluster::PriorityClassUid("class-" + name);
  one.key.name = name;
  one.value = value;
  one.preempts = preempts;
  return one;
}

cluster::GroupPriority OfValue(int32_t value) {
  cluster::GroupPriority priority;
  priority.value = value;
  return priority;
}

cluster::GroupPriority OfClass(const std::string& name) {
  cluster::GroupPriority priority;
  priority.class_name = name;
  return priority;
}

// FullWorld, in which PodGroups are given a priority before their pods come.
struct TermsWorld : FullWorld {
  using FullWorld::FullWorld;
  // Of two pods of 8 GPUs with priority 0.
  void SubmitWith(const std::string& name, const cluster::GroupPriority& priority,
                  int32_t of_pods = 0) {
    PodGroup group = MakePodGroup(name).MinMember(2).CreatedAt(now().milliseconds());
    group.priority = priority;
    Harness::Add(group);
    for (int i = 0; i < 2; ++i)
      Harness::Add(MakePod(name + "-" + std::to_string(i)).Gpus(8).Priority(of_pods).InGroup(name));
    Settle();
  }
  int Told(const std::string& reason, const std::string& text) const {
    return static_cast<int>(std::count_if(log.begin(), log.end(), [&](const Action& action) {
      const auto* event = std::get_if<EmitEvent>(&action);
      return event != nullptr && event->reason == reason &&
             event->message.find(text) != std::string::npos;
    }));
  }
};

TEST_CASE("a plan at a gang's expense is given back when its PodGroup puts it first",
          "[engine][preemption]") {
  FullWorld world;
  bool held = true;
  world.fault = testing::HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 8, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  PodGroup group = MakePodGroup("old").MinMember(4);
  group.priority = OfValue(200);
  world.Add(group);
  world.Settle();
  CHECK(world.Gang("urgent").state != GangState::kPreempting);
  CHECK(world.Evicted().empty());
}

TEST_CASE("the priority of a PodGroup is that of all of its pods", "[engine][group-terms]") {
  TermsWorld world;
  SECTION("it has others evicted") {
    world.SubmitWith("urgent", OfValue(1000));
    CHECK(world.Gang("urgent").priority == 1000);
    CHECK(world.Evicted() == kAllOld);
  }
  SECTION("it protects those that run") {
    world.ChangeGroup("old", [](PodGroup& group) { group.priority.value = 2000; });
    world.SubmitWith("urgent", {}, 1000);
    CHECK(world.Gang("old").priority == 2000);
    CHECK(world.Evicted().empty());
  }
  SECTION("pods of higher priority do not help a group of low priority") {
    world.SubmitWith("modest", OfValue(0), 1000);
    CHECK(world.Evicted().empty());
  }
  SECTION("it makes a gang the next one") {
    TermsWorld keeps{Options{}};
    keeps.SubmitWith("low", OfValue(10));
    keeps.Pass(Seconds(1));
    keeps.SubmitWith("high", OfValue(1000));
    CHECK(keeps.Evicted().empty());
    for (const std::string& pod : kAllOld) keeps.Succeed(pod);
    keeps.Settle();
    CHECK(keeps.Gang("high").state == GangState::kReserved);
    CHECK(keeps.Gang("low").state == GangState::kQueued);
  }
}

TEST_CASE(
    "an operator's order takes precedence over the PodGroup's priority, and its queue caps it",
    "[engine][group-terms][orders]") {
  queues::QueueSpec capped = Queue("x", 16);
  capped.priority_cap = 100;
  testing::QueueWorld world({capped});
  PodGroup group = MakePodGroup("g").MinMember(1).CreatedAt(world.now().milliseconds());
  group.priority.value = 1000;
  group.queue = "x";
  world.Add(group);
  world.Add(MakePod("g-0").Gpus(16).Priority(7).InGroup("g").Gated());
  world.Settle();
  CHECK(world.Gang("g").priority == 100);
  CHECK(world.engine().Carry({"ann", SetPriority{{"default", "g"}, 50}}, world.now()).ok());
  world.Settle();
  CHECK(world.Gang("g").priority == 50);
  CHECK(world.engine()
            .Carry({"ann", SetPriority{{"default", "g"}, std::nullopt}}, world.now())
            ->is.find("1000") != std::string::npos);
}

TEST_CASE("the class of a PodGroup counts as soon as there is one", "[engine][group-terms]") {
  TermsWorld world;
  world.SubmitWith("urgent", OfClass("high"), 0);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("urgent").not_honoured ==
        Names{"spec.priorityClassName: there is no PriorityClass \"high\""});
  CHECK(world.Told("GangNotHonoured", "there is no PriorityClass \"high\"") == 1);
  world.Pass(Seconds(600));
  CHECK(world.Told("GangNotHonoured", "") == 1);
  world.engine().Apply(Class("high", 1000), world.now());
  world.Settle();
  CHECK(world.Gang("urgent").not_honoured.empty());
  CHECK(world.Gang("urgent").priority == 1000);
  CHECK(world.Evicted() == kAllOld);
}

TEST_CASE("a class that changes or goes is followed", "[engine][group-terms]") {
  TermsWorld world;
  world.engine().Apply(Class("some", 5), world.now());
  world.ChangeGroup("old", [](PodGroup& group) { group.priority.class_name = "some"; });
  world.Settle();
  CHECK(world.Gang("old").priority == 5);
  cluster::PriorityClass changed = Class("some", 6);
  changed.resource_version = 2;
  world.engine().Apply(changed, world.now());
  world.Settle();
  CHECK(world.Gang("old").priority == 6);
  world.engine().Apply(PriorityClassRemoved{changed.uid}, world.now());
  world.Settle();
  CHECK(world.Gang("old").priority == 0);
}

TEST_CASE("the preemption policy of a PodGroup is that of all of its pods",
          "[engine][group-terms]") {
  TermsWorld world;
  SECTION("Never") {
    cluster::GroupPriority never = OfValue(1000);
    never.preempts = false;
    world.SubmitWith("urgent", never);
    CHECK(world.Evicted().empty());
  }
  SECTION("Never, by its class") {
    world.engine().Apply(Class("calm", 1000, false), world.now());
    SECTION("where admission would have said it") {
      cluster::GroupPriority calm = OfClass("calm");
      calm.policy_of_class = true;
      world.SubmitWith("urgent", calm);
      CHECK(world.Evicted().empty());
    }
    SECTION("and not where the pods' own counts") {
      world.SubmitWith("urgent", OfClass("calm"));
      CHECK(world.Evicted() == kAllOld);
    }
  }
  SECTION("PreemptLowerPriority, whatever its pods say") {
    PodGroup group = MakePodGroup("urgent").MinMember(1).CreatedAt(world.now().milliseconds());
    group.priority = OfValue(1000);
    group.priority.preempts = true;
    world.Harness::Add(group);
    cluster::Pod pod = MakePod("urgent-0").Gpus(8).InGroup("urgent").Gated();
    cluster::PodSpec spec = *pod.spec;
    spec.preempts = false;
    pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
    world.Harness::Add(pod);
    world.Settle();
    CHECK(world.Evicted() == kAllOld);
  }
}

TEST_CASE("KAI's label on the pods says the class of a gang whose PodGroup says none",
          "[engine][group-terms]") {
  TermsWorld world;
  world.engine().Apply(Class("inference", 125), world.now());
  const auto label = [&](const std::string& pod, const std::string& name) {
    world.Change(pod, [&](cluster::Pod& one) {
      cluster::PodSpec spec = *one.spec;
      spec.gang_class = name;
      one.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
    });
    world.Settle();
  };
  label("old-0", "inference");
  CHECK(world.Gang("old").priority == 125);
  label("old-1", "inferrence");
  CHECK(world.Gang("old").not_honoured.size() == 1);
  world.ChangeGroup("old", [](PodGroup& group) { group.priority.value = 3; });
  world.Settle();
  CHECK(world.Gang("old").priority == 3);
}

TEST_CASE("levels for another system that the policy does not name are told once",
          "[engine][group-terms]") {
  TermsWorld world;
  world.ChangeGroup("old", [](PodGroup& group) {
    group.topology = {"zone", "", {}, "spec.topologyConstraint"};
  });
  world.Settle();
  const std::string told = "spec.topologyConstraint: no level \"zone\"";
  REQUIRE(world.Gang("old").not_honoured.size() == 1);
  CHECK_THAT(world.Gang("old").not_honoured.front(), Catch::StartsWith(told));
  CHECK(world.Told("GangNotHonoured", told) == 1);
  world.Pass(Seconds(600));
  CHECK(world.Told("GangNotHonoured", "") == 1);
  Options named = Preempting();
  topology::FabricTree tree;
  tree.name = "dc";
  tree.levels = {{"zone", {"zone"}, topology::Unlabelled::kOutside}};
  named.placement.fabric.trees = {tree};
  world.engine().SetOptions(named);
  world.Settle();
  CHECK(world.Gang("old").not_honoured.empty());
}

TEST_CASE("what pods say to other systems is reported once, however often they are made anew",
          "[engine][group-terms]") {
  TermsWorld world;
  world.Harness::Add(MakePodGroup("g").MinMember(1).CreatedAt(world.now().milliseconds()));
  const auto add = [&](const std::string& name, const std::string& text) {
    cluster::Pod pod = MakePod(name).Gpus(1).InGroup("g");
    pod.gang_words = std::make_shared<const cluster::GangWords>(
        cluster::GangWords{{}, cluster::Duration(0), text});
    world.Harness::Add(pod);
    world.Settle();
  };
  add("g-0", "word: nothing");
  add("g-1", "word: nothing");
  CHECK(world.Gang("g").not_honoured == Names{"word: nothing"});
  CHECK(world.Told("GangNotHonoured", "word: nothing") == 1);
  for (const char* pod : {"g-0", "g-1"}) world.RemovePod(pod);
  world.Settle();
  add("g-2", "word: nothing");
  CHECK(world.Told("GangNotHonoured", "") == 1);
  add("g-3", "another: nothing");
  CHECK(world.Told("GangNotHonoured", "has no effect: word: nothing; another: nothing") == 1);
}

TEST_CASE("a group of system priority is nobody's victim", "[engine][group-terms][R14]") {
  TermsWorld world;
  world.ChangeGroup("old", [](PodGroup& group) { group.priority.value = 2'000'000'000; });
  world.Settle();
  CHECK(world.Gang("old").non_preemptible);
}

// --- How it may be taken apart.

// `old` of four pods runs with a minimum of 1: three of them are surplus.
struct WholeWorld : TermsWorld {
  explicit WholeWorld(bool whole, Options options = Preempting()) : TermsWorld(options) {
    ChangeGroup("old", [&](PodGroup& group) {
      group.min_member = 1;
      group.disrupted_whole = whole;
    });
    Settle();
    Pass(Seconds(600));
    log.clear();
  }
};

TEST_CASE("of a group that is disrupted as a whole all pods are evicted, or none",
          "[engine][group-terms][whole]") {
  SECTION("one that is not loses its surplus alone") {
    WholeWorld world(false);
    world.Submit("urgent", 1, 8, 1000);
    world.Settle();
    CHECK(world.Evicted().size() == 2);
  }
  SECTION("all of it goes") {
    WholeWorld world(true);
    world.Submit("urgent", 1, 8, 1000);
    world.Settle();
    CHECK(world.Evicted() == kAllOld);
  }
  SECTION("none goes where one may not") {
    WholeWorld world(true);
    world.fault = testing::KeptByBudget("old-2");
    world.Submit("urgent", 1, 8, 1000);
    world.Settle();
    CHECK(world.BoundIn("old") == 4);
    CHECK(world.Gang("urgent").state != GangState::kReserved);
  }
  SECTION("none goes while another one of it has a plan") {
    WholeWorld world(true);
    world.Add(MakeNode("n2").Gpus(4));
    world.Harness::Add(MakePod("old-4").Gpus(4).Priority(0).InGroup("old").Gated());
    world.Settle();
    REQUIRE(world.Gang("old").members.back().planned_node == "n2");
    world.Submit("urgent", 1, 8, 1000);
    world.Settle();
    CHECK(world.Evicted().empty());
    world.Bind("old-4");
    world.Settle();
    CHECK(world.Evicted().size() == 5);
  }
}

TEST_CASE("an operator who takes GPUs back gets a group that is disrupted as a whole",
          "[engine][group-terms][whole][orders]") {
  testing::QueueWorld world({Queue("x", 16)});
  PodGroup group = MakePodGroup("g").MinMember(1).CreatedAt(world.now().milliseconds());
  group.disrupted_whole = true;
  group.queue = "x";
  world.Add(group);
  for (const char* pod : {"g-0", "g-1", "g-2"})
    world.Add(MakePod(pod).Gpus(2).InGroup("g").Gated());
  world.ScheduleAll("g");
  REQUIRE(world.BoundIn("g") == 3);
  world.Pass(Seconds(600));
  const auto effect =
      world.engine().Carry({"ann", ReclaimGpus{.queue = "x", .gpus = 2}}, world.now());
  REQUIRE(effect.ok());
  world.Settle();
  CHECK(world.Evictions() == 3);
}

}  // namespace
}  // namespace muster::engine
