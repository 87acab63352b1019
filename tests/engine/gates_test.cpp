// Groups of which kube-scheduler looks at no pod as long as one has a gate: Kubernetes' own, from
// 1.37 on.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;

// A gang "g" of pods of eight GPUs, of which `min` start together.
struct GatesTogether : Harness {
  GatesTogether(int nodes, int count, int min) {
    for (int i = 0; i < nodes; ++i) AddNode(i);
    AddGang("g", count, 8, min);
    ChangeGroup("g", [](cluster::PodGroup& group) { group.gates_together = true; });
  }
  void AddNode(int i) { Add(MakeNode("n" + std::to_string(i)).Gpus(8)); }
  int Gated(int pods) const {
    int gated = 0;
    for (int i = 0; i < pods; ++i) gated += Pod("g-" + std::to_string(i)).gates.empty() ? 0 : 1;
    return gated;
  }
};

TEST_CASE("gates of members beyond the minimum go with those of the others", "[engine][gates]") {
  GatesTogether world(2, 4, 2);
  world.Settle();
  CHECK(world.Gated(4) == 0);
  int nominated = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "g-" + std::to_string(i);
    const bool planned = !world.Pod(name).nominated_node.empty();
    nominated += planned ? 1 : 0;
    CHECK(world.Filter(name).node.empty() == !planned);
  }
  CHECK(nominated == 2);
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
  world.AddNode(2);
  world.AddNode(3);
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 4);
}

TEST_CASE("a group whose pods start one by one opens all gates with the first", "[engine][gates]") {
  GatesTogether world(1, 3, 1);
  world.Settle();
  CHECK(world.Gated(3) == 0);
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 1);
}

TEST_CASE("the gate of a pod that comes later goes when another one of its group may start",
          "[engine][gates]") {
  GatesTogether world(1, 3, 1);
  world.ScheduleAll("g");
  REQUIRE(world.BoundIn("g") == 1);
  world.Add(MakePod("g-3").Gpus(8).InGroup("g").Gated());
  world.Pass(Seconds(60));
  CHECK(world.Gated(4) == 1);  // nobody may start: no autoscaler is to see it
  world.AddNode(1);
  world.Settle();
  CHECK(world.Gated(4) == 0);
  CHECK(world.Filter("g-3").node.empty());
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
}

TEST_CASE("a pod that comes while its group starts does not hold it up", "[engine][gates]") {
  GatesTogether world(2, 2, 2);
  world.Settle();
  REQUIRE(world.Gated(2) == 0);
  REQUIRE(world.BoundIn("g") == 0);
  world.Add(MakePod("g-2").Gpus(8).InGroup("g").Gated());
  world.Settle();
  CHECK(world.Gated(3) == 0);
  CHECK(world.Filter("g-2").node.empty());
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
}

TEST_CASE("as long as the gang waits its gates stay", "[engine][gates]") {
  GatesTogether world(1, 4, 2);
  world.Pass(Seconds(600));
  CHECK(world.Gated(4) == 4);
  world.Restart();
  world.Pass(Seconds(60));
  CHECK(world.Gated(4) == 4);
  world.AddNode(1);
  world.Settle();
  CHECK(world.Gated(4) == 0);
}

TEST_CASE("no gate goes before the victims do", "[engine][gates]") {
  FullWorld world;
  world.Submit("urgent", 2, 4, 100);
  world.ChangeGroup("urgent", [](cluster::PodGroup& group) { group.gates_together = true; });
  world.Add(MakePod("urgent-2").Gpus(16).InGroup("urgent").Priority(100).Gated());
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Count<engine::RemoveGate>() == 0);
  for (const char* victim : {"old-0", "old-1", "old-2", "old-3"}) world.RemovePod(victim);
  world.Settle();
  CHECK(world.Count<engine::RemoveGate>() == 3);
  CHECK(world.Filter("urgent-2").node.empty());
  world.ScheduleAll("urgent");
  CHECK(world.BoundIn("urgent") == 2);
}

TEST_CASE("a leader that finds gates of some members gone opens the others", "[engine][gates]") {
  GatesTogether world(2, 4, 2);
  world.Settle();
  world.Add(MakePod("g-4").Gpus(8).InGroup("g").Gated());
  world.Restart();
  world.Settle();
  CHECK(world.Gated(5) == 0);
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
}

int64_t Nominations(const Harness& world) {
  return std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
    return std::holds_alternative<engine::Nominate>(action);
  });
}

// Gangs by owner are switched on while pods wait by themselves.
TEST_CASE("a pod that is withdrawn keeps nothing, and comes back in its gang",
          "[engine][membership]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("a").Gpus(8).Gated());
  world.Add(MakePod("b").Gpus(8).Gated());
  const cluster::PodUid a = world.Pod("a").uid;
  const int64_t version = world.Pod("a").resource_version;
  for (const char* name : {"a", "b"})
    world.engine().Apply(engine::PodWithdrawn{world.Pod(name).uid}, world.now());
  world.Settle();
  CHECK(world.engine().Count().reservations == 0);
  CHECK(Nominations(world) == 0);
  CHECK_FALSE(world.engine().FindGang({"default", "a"}).has_value());
  cluster::PodGroup group = MakePodGroup("train").MinMember(2);
  group.declared = group.by_owner = true;
  world.Add(group);
  for (const char* name : {"a", "b"}) {
    cluster::Pod pod = world.Pod(name);  // of the same version
    pod.pod_group = "train";
    world.engine().Apply(pod, world.now());
  }
  world.Settle();
  CHECK(world.Pod("a").uid == a);
  CHECK(world.Pod("a").resource_version == version);
  CHECK(world.Gang("train").members.size() == 2);
  CHECK(Nominations(world) == 0);  // it fits nowhere as a whole
  CHECK(world.engine().Count().reservations == 0);
}

TEST_CASE("a pod that is bound is not withdrawn", "[engine][membership]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("a").Gpus(8).BoundTo("n0", {0, 1, 2, 3, 4, 5, 6, 7}));
  world.AddGang("g", 1, 8, 1);
  world.engine().Apply(engine::PodWithdrawn{world.Pod("a").uid}, world.now());
  world.Settle();
  CHECK(world.engine().Count().reservations == 0);
}

}  // namespace
}  // namespace muster::testing
