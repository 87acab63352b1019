#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;

// A gang "train" whose owner says that four pods of eight GPUs start together.
struct OwnedWorld : Harness {
  explicit OwnedWorld(int nodes = 4, bool keeps_rest = false) : keeps_rest_(keeps_rest) {
    for (int i = 0; i < nodes; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  }
  void SayOwner() {
    cluster::PodGroup group = MakePodGroup("train").MinMember(4);
    group.declared = group.by_owner = true;
    group.keeps_rest = keeps_rest_;
    Add(group);
  }
  // As told before anybody knew its owner.
  void AddAlone(const std::string& name) { Add(MakePod(name).Gpus(8).Owner("job").Gated()); }
  void AddMember(const std::string& name) {
    Add(MakePod(name).Gpus(8).Owner("job").InGroup("train").Gated());
  }
  void AddMembers() {
    for (const char* name : {"a", "b", "c", "d"}) AddMember(name);
  }
  // What the owner says is known from now on.
  void Join(const std::vector<std::string>& names) {
    SayOwner();
    for (const std::string& name : names)
      Change(name, [](cluster::Pod& pod) { pod.pod_group = "train"; });
  }
  void Start(const std::string& name) {
    Settle();
    Bind(name);
    Settle();
    REQUIRE(Pod(name).bound());
  }
  bool keeps_rest_;
};

TEST_CASE("a gang by owner starts whole, and its bindings say in which gang", "[engine][owner]") {
  OwnedWorld world;
  world.SayOwner();
  world.AddMember("a");
  world.AddMember("b");
  world.Pass(Seconds(5));
  CHECK(world.Gang("train").state == GangState::kForming);
  world.AddMember("c");
  world.AddMember("d");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("a").bound_in == "train");
  CHECK(world.Gang("train").apart.empty());
  CHECK(world.Gang("train").min_member == 4);
}

TEST_CASE("pods that ran one by one before their owner was known lose nothing by it",
          "[engine][owner]") {
  OwnedWorld world(2);
  for (const char* name : {"a", "b", "c", "d"}) world.AddAlone(name);
  world.Start("a");
  world.Start("b");
  world.Join({"a", "b", "c", "d"});
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK_THAT(world.Gang("train").apart,
             Catch::StartsWith("its owner says 4 pods, but it began with 1"));
  SECTION("and the others start one by one as well") {
    world.Add(MakeNode("n2").Gpus(8));
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 3);
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
  }
  SECTION("also when all of them have run at once") {
    world.Add(MakeNode("n2").Gpus(8));
    world.Add(MakeNode("n3").Gpus(8));
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 4);
    world.RemovePod("d");
    world.RemoveNode("n3");
    world.AddMember("d2");
    world.Pass(Seconds(2'000));
    CHECK(world.Evictions() == 0);
  }
  SECTION("also when one of them fails and comes again") {
    world.RemovePod("b");
    world.AddMember("b2");
    world.ScheduleAll("train");
    CHECK(world.Pod("b2").bound());
    world.RemovePod("a");
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
  }
  SECTION("also after a restart") {
    world.Restart(Seconds(100));
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("and once none of them is bound it starts as a whole") {
    world.RemovePod("a");
    world.RemovePod("b");
    world.Settle();
    world.AddMember("a2");
    world.AddMember("b2");
    world.Pass(Seconds(5));
    CHECK(world.Gang("train").state != GangState::kReserved);
    CHECK(world.BoundIn("train") == 0);
    world.Add(MakeNode("n2").Gpus(8));
    world.Add(MakeNode("n3").Gpus(8));
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 4);
  }
}

TEST_CASE("a gang by owner that was bound in part by its own start is completed or taken back",
          "[engine][owner]") {
  OwnedWorld world;
  world.SayOwner();
  world.AddMembers();
  world.Change("a", [](cluster::Pod& pod) {
    pod.gates.clear();
    pod.node_name = "n2";
    pod.bound_by_muster = true;
    pod.bound_in = "train";
    pod.bound_gpus = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  });
  world.Restart();
  SECTION("completed") {
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("taken back, when the others do not come") {
    world.RemovePod("b");
    world.Pass(Seconds(61));
    CHECK(world.Pod("a").deleting);
  }
}

// What the watch may tell of a pod that is bound: how it was before.
cluster::Pod Unbound(cluster::Pod pod) {
  ++pod.resource_version;
  pod.node_name.clear();
  pod.bound_in.clear();
  pod.bound_gpus.clear();
  pod.bound_by_muster = pod.says_disruption = false;
  pod.bound_at = {};
  return pod;
}

TEST_CASE("a start that fails after the first binding is taken back, whatever is heard of first",
          "[engine][owner]") {
  OwnedWorld world;
  world.SayOwner();
  world.AddMembers();
  const bool write_before_is_told = GENERATE(false, true);
  // The other bindings are refused.
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (bind == nullptr || bind->pod.key.name == "a") return std::nullopt;
    if (write_before_is_told && world.Pod("a").bound())
      world.engine().Apply(Unbound(world.Pod("a")), world.now());
    return engine::Outcome{{}, engine::OutcomeKind::kRefused, "no"};
  };
  world.late_news = true;
  world.ScheduleAll("train");
  world.RemovePod("b");
  world.Pass(Seconds(120));
  CHECK(world.Evictions() > 0);
}

TEST_CASE("a gang that arrives in parts after a restart waits for all of it", "[engine][owner]") {
  OwnedWorld world;
  world.SayOwner();
  world.AddMembers();
  world.ScheduleAll("train");
  world.Settle();
  // As when the owners of some pods are read later than those of others.
  for (const char* name : {"c", "d"})
    world.ChangeUnseen(name, [](cluster::Pod& pod) { pod.pod_group.clear(); });
  world.Restart();
  world.Settle();
  for (const char* name : {"c", "d"})
    world.Change(name, [](cluster::Pod& pod) { pod.pod_group = "train"; });
  world.Settle();
  for (const char* name : {"a", "b", "c", "d"}) world.RemovePod(name);
  world.RemoveNode("n0");
  world.RemoveNode("n1");
  for (const char* name : {"a2", "b2", "c2", "d2"}) world.AddMember(name);
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 0);
}

TEST_CASE("a gang by owner waits for its controller to replace a lost member", "[engine][owner]") {
  OwnedWorld world;
  world.SayOwner();
  world.AddMembers();
  world.ScheduleAll("train");
  const std::string node = world.Pod("b").node_name;
  world.RemovePod("b");
  world.Pass(Seconds(600));  // a Job makes the next one after up to ten minutes
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kDegraded);
  SECTION("and takes the replacement") {
    world.AddMember("b2");
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("but not for ever: 15 minutes") {
    world.Pass(Seconds(299));
    CHECK(world.Evictions() == 0);
    world.Pass(Seconds(2));
    CHECK(world.Evictions() == 3);
  }
  SECTION("and is taken back when that finds no room") {
    world.RemoveNode(node);
    world.AddMember("b2");
    world.Pass(Seconds(59));
    CHECK(world.Evictions() == 0);
    world.Pass(Seconds(2));
    CHECK(world.Evictions() == 3);
  }
}

TEST_CASE("a gang by owner does not wait for those that have ended before anybody looked",
          "[engine][owner]") {
  OwnedWorld world;
  cluster::PodGroup group = MakePodGroup("train").MinMember(4);
  group.declared = group.by_owner = true;
  group.ended = 3;
  world.Add(group);
  world.AddMember("d2");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("d2").bound());
}

TEST_CASE("those that have ended well count once, be they here or not", "[engine][owner]") {
  OwnedWorld world;
  world.SayOwner();
  world.AddMembers();
  world.ScheduleAll("train");
  world.Succeed("a");
  cluster::PodGroup group = MakePodGroup("train").MinMember(4);
  group.declared = group.by_owner = true;
  group.ended = 1;
  world.Add(group);
  world.RemovePod("a");
  world.RemovePod("b");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kDegraded);  // of the other three it lacks one
  world.AddMember("b2");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a gang that keeps its rest starts together again when none of it runs",
          "[engine][owner]") {
  OwnedWorld world(4, true);
  world.SayOwner();
  world.AddMembers();
  world.ScheduleAll("train");
  world.Succeed("a");
  world.Settle();
  const std::string node = world.Pod("b").node_name;
  for (const char* name : {"b", "c", "d"}) world.RemovePod(name);
  world.RemoveNode(node);
  world.RemoveNode(world.Pod("a").node_name);
  for (const char* name : {"b2", "c2", "d2"}) world.AddMember(name);
  const auto before = world.log.size();
  world.Pass(Seconds(60));
  for (const char* name : {"b2", "c2", "d2"}) CHECK(world.Pod(name).nominated_node.empty());
  CHECK(std::none_of(world.log.begin() + static_cast<std::ptrdiff_t>(before), world.log.end(),
                     [](const engine::Action& action) {
                       return std::holds_alternative<engine::Nominate>(action);
                     }));
  world.Add(MakeNode("n8").Gpus(8));
  world.ScheduleAll("train");
  for (const char* name : {"b2", "c2", "d2"}) CHECK(world.Pod(name).bound());
}

TEST_CASE("a gang that keeps its rest goes on without those that are lost", "[engine][owner]") {
  OwnedWorld world(4, true);
  world.SayOwner();
  world.AddMembers();
  world.ScheduleAll("train");
  const std::string node = world.Pod("b").node_name;
  world.RemovePod("b");
  world.RemovePod("c");
  world.RemoveNode(node);
  world.AddMember("b2");
  world.AddMember("c2");
  world.AddMember("late");
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  SECTION("and what comes in their place starts when it fits, one by one") {
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 3);
    CHECK(world.Gang("train").state == GangState::kDegraded);
    CHECK(world.Evictions() == 0);
  }
}

}  // namespace
}  // namespace muster::testing
