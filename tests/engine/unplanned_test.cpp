// Pods that ask for devices which Muster does not plan are refused, never planned without them.
#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

const char* const kMig = "nvidia.com/mig-1g.10gb";

TEST_CASE("a gang with a member that asks for devices which are not planned says so",
          "[engine][unplanned]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("g").MinMember(2));
  world.Add(MakePod("ok").Gpus(1).InGroup("g").Gated());
  world.Add(MakePod("odd").InGroup("g").Gated().Unplanned(kMig));
  world.Settle();
  CHECK(world.Gang("g").state == GangState::kInvalid);
  CHECK(world.Gang("g").reason.code == ReasonCode::kUnplannedDevices);
  CHECK(Describe(world.Gang("g").reason) ==
        "a member requests devices that cannot be planned: pod odd: Muster does not plan "
        "nvidia.com/mig-1g.10gb; request nvidia.com/gpu, or use another scheduler");
  CHECK(world.engine().Count().reservations == 0);
  CHECK(world.Pod("ok").gates.size() == 1);
  SECTION("and runs when that member is gone") {
    world.RemovePod("odd");
    world.Add(MakePod("even").Gpus(1).InGroup("g").Gated());
    world.ScheduleAll("g");
    CHECK(world.Gang("g").state == GangState::kRunning);
  }
}

TEST_CASE("such a pod without a gate is refused by Filter", "[engine][unplanned]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("alone").Unplanned(cluster::kResourceClaims));
  world.Settle();
  CHECK(world.Filter("alone").node.empty());
  CHECK_THAT(world.Filter("alone").refusal, Catch::Contains("spec.resourceClaims"));
}

TEST_CASE("such a pod beside a gang that runs is left out", "[engine][unplanned]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("train", 2, 4, 2);
  world.ScheduleAll("train");
  world.Add(MakePod("odd").InGroup("train").Gated().Unplanned(kMig));
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("odd").gates.size() == 1);
  CHECK(std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
          const auto* event = std::get_if<engine::EmitEvent>(&action);
          return event != nullptr && event->reason == "GangMemberLeftOut" &&
                 event->message.find(kMig) != std::string::npos;
        }) == 1);
}

TEST_CASE("such pods that have a node, or that another scheduler places, hold nobody up",
          "[engine][unplanned]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("mpi").MinMember(3));
  world.Add(MakePod("bound").InGroup("mpi").Unplanned(kMig).BoundTo("n0"));
  world.Add(MakePod("theirs").InGroup("mpi").Scheduler("default-scheduler").Unplanned(kMig));
  world.Add(MakePod("w").Gpus(8).InGroup("mpi").Gated());
  world.Settle();
  CHECK(world.Gang("mpi").state != GangState::kInvalid);
  world.Change("theirs", [](cluster::Pod& pod) { pod.node_name = "n0"; });
  world.ScheduleAll("mpi");
  CHECK(world.Pod("w").bound());
}

}  // namespace
}  // namespace muster::testing
