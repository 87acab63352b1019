// Members that another scheduler places count, and are never Muster's to move. PodGroups without a
// member of Muster's are left alone.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

// An MPI job whose launcher is the default scheduler's.
struct MixedWorld : Harness {
  explicit MixedWorld(int nodes) {
    for (int i = 0; i < nodes; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    Add(MakePodGroup("mpi").MinMember(3));
    Add(MakePod("launcher").InGroup("mpi").Scheduler("default-scheduler"));
    for (const char* name : {"w-0", "w-1"}) Add(MakePod(name).Gpus(8).InGroup("mpi").Gated());
    Settle();
  }
  void BindLauncher() {
    Change("launcher", [](cluster::Pod& pod) { pod.node_name = "n0"; });
    Settle();
  }
};

TEST_CASE("a launcher that another scheduler bound does not make its gang partial",
          "[engine][others]") {
  MixedWorld world(1);
  world.BindLauncher();
  CHECK(world.Gang("mpi").state == GangState::kUnsatisfiable);
  world.Add(MakeNode("n1").Gpus(4));
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  world.Add(MakeNode("n2").Gpus(8));
  world.ScheduleAll("mpi");
  CHECK(world.Gang("mpi").state == GangState::kRunning);
  CHECK(world.Gang("mpi").bound == 3);
}

TEST_CASE("the priority of a member that another scheduler places is not its gang's",
          "[engine][others][preemption]") {
  FullWorld world;
  world.Add(MakePodGroup("mpi").MinMember(3));
  world.Add(MakePod("launcher").InGroup("mpi").Scheduler("default-scheduler").BoundTo("n0"));
  for (const char* name : {"w-0", "w-1"})
    world.Add(MakePod(name).Gpus(8).Priority(100).InGroup("mpi").Gated());
  world.Settle();
  CHECK(world.Gang("mpi").state == GangState::kPreempting);
  CHECK(world.Evicted() == kAllOld);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Settle();
  world.ScheduleAll("mpi");
  CHECK(world.Gang("mpi").state == GangState::kRunning);
}

TEST_CASE("a group whose pods name another scheduler says so", "[engine][others]") {
  Harness world;
  world.Add(MakePodGroup("train").MinMember(4));
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kWaitingForMembers);
  for (int i = 0; i < 4; ++i)
    world.Add(
        MakePod("t-" + std::to_string(i)).InGroup("train").Scheduler("default-scheduler").Gated());
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kOtherScheduler);
  CHECK(Describe(world.Gang("train").reason) ==
        "not all members exist: 0 of 4 pods exist: 4 pods of this group name the scheduler "
        "default-scheduler, not muster: set schedulerName");
  world.Pass(Seconds(3600));
  CHECK(world.writes == 0);  // it may be none of Muster's business
  for (int i = 0; i < 3; ++i) world.RemovePod("t-" + std::to_string(i));
  world.Settle();
  CHECK_THAT(Describe(world.Gang("train").reason),
             Catch::Contains("1 pod of this group names the scheduler default-scheduler"));
  world.RemovePod("t-3");
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kWaitingForMembers);
}

TEST_CASE("nothing is held for a gang as long as another scheduler has not placed its member",
          "[engine][others]") {
  MixedWorld world(2);
  CHECK(world.Gang("mpi").state == GangState::kForming);
  CHECK(world.Gang("mpi").reason == engine::Because(ReasonCode::kPlacedByOthers, 2, 3));
  CHECK(world.engine().Count().reservations == 0);
  world.BindLauncher();
  CHECK(world.engine().Count().reservations == 2);
}

TEST_CASE("a partial gang gives back its own members and leaves the others' alone",
          "[engine][others]") {
  MixedWorld world(2);
  world.BindLauncher();
  world.ScheduleAll("mpi");
  REQUIRE(world.Gang("mpi").state == GangState::kRunning);
  world.RemovePod("w-0");
  world.Pass(Seconds(120));
  CHECK(world.Evictions() == 1);
  CHECK(world.Pod("w-1").deleting);
  CHECK_FALSE(world.Pod("launcher").deleting);
  world.RemovePod("w-1");
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("Muster's gate on a pod of another scheduler is taken off at once", "[engine][others]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("mpi").MinMember(3));
  world.Add(MakePod("launcher").InGroup("mpi").Scheduler("default-scheduler").Gated());
  world.Add(MakePod("w-0").Gpus(8).InGroup("mpi").Gated());
  world.Settle();
  CHECK(world.Pod("launcher").gates.empty());
  CHECK(world.Pod("launcher").nominated_node.empty());
  CHECK_FALSE(world.Pod("w-0").gates.empty());
}

TEST_CASE("nothing is written about a PodGroup that has no member of Muster's",
          "[engine][others]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("empty").MinMember(2));
  world.Add(MakePodGroup("foreign").MinMember(2));
  for (const char* name : {"a", "b"})
    world.Add(MakePod(name).Gpus(1).InGroup("foreign").Scheduler("volcano"));
  world.Pass(Seconds(60));
  world.Change("a", [](cluster::Pod& pod) { pod.node_name = "n0"; });
  world.Pass(Seconds(60));
  world.Restart();
  world.Pass(Seconds(60));
  CHECK(world.log.empty());
  SECTION("until it has one") {
    world.Add(MakePod("c").Gpus(1).InGroup("foreign").Gated());
    world.Pass(Seconds(60));
    CHECK_FALSE(world.log.empty());
  }
  SECTION("unless it is given to Muster before it has pods") {
    world.ChangeGroup("empty", [](cluster::PodGroup& group) { group.claimed = true; });
    world.Pass(Seconds(60));
    const bool told = std::any_of(world.log.begin(), world.log.end(), [](const auto& action) {
      const auto* patch = std::get_if<engine::PatchGang>(&action);
      return patch != nullptr && patch->key.name == "empty" && patch->state == "Forming";
    });
    CHECK(told);
  }
}

}  // namespace
}  // namespace muster::testing
