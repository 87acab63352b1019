// Pods that are resized in place: what they hold is what Muster plans with.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::MilliCpu;
using engine::GangState;
using engine::ReasonCode;

// One node of 16 CPUs, of which a pod has 4.
struct ResizeWorld : Harness {
  ResizeWorld() {
    cluster::Node node = MakeNode("n0").Gpus(8).Build();
    node.allocatable.cpu = MilliCpu(16'000);
    Add(std::move(node));
    Add(MakePodGroup("runs").MinMember(1));
    Add(MakePod("runs-0").Gpus(1).MilliCpu(4'000).InGroup("runs").Gated());
    ScheduleAll("runs");
    REQUIRE(Pod("runs-0").bound());
  }
  // The spec says so, and its status comes to that.
  void Resize(int64_t asked, int64_t held) {
    Change("runs-0", [&](cluster::Pod& pod) {
      auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
      spec->requests.cpu = MilliCpu(asked);
      cluster::Resources holds = spec->requests;
      holds.cpu = MilliCpu(held);
      pod.spec = spec;
      pod.resized = asked == held ? nullptr : std::make_shared<const cluster::Resources>(holds);
    });
    Settle();
  }
  // A gang that needs so much.
  GangState Asks(int64_t cpu) {
    Add(MakePodGroup("next").MinMember(1));
    Add(MakePod("next-0").Gpus(1).MilliCpu(cpu).InGroup("next").Gated());
    Settle();
    CHECK(engine().Audit(now()).empty());
    return Gang("next").state;
  }
};

TEST_CASE("what a pod holds that is resized is what gangs are planned beside", "[engine][resize]") {
  ResizeWorld world;
  SECTION("a resize that the kubelet refuses closes no node") {
    world.Resize(100'000, 4'000);
    CHECK(world.Asks(12'000) == GangState::kReserved);
  }
  SECTION("one that is deferred will come") {
    world.Resize(8'000, 8'000);
    CHECK(world.Asks(12'000) == GangState::kQueued);
    CHECK(world.Gang("next").reason.code == ReasonCode::kNotEnoughCpu);
    SECTION("and when it is taken back the gang starts") {
      world.Resize(4'000, 4'000);
      CHECK(world.Gang("next").state == GangState::kReserved);
    }
  }
  SECTION("one to less is no free room before it is done") {
    world.Resize(1'000, 4'000);
    CHECK(world.Asks(15'000) == GangState::kQueued);
    world.Resize(1'000, 1'000);
    CHECK(world.Gang("next").state == GangState::kReserved);
  }
  SECTION("what runs is Muster's as before, after a restart, too") {
    world.Resize(1'000, 4'000);
    world.Restart();
    CHECK(world.Asks(15'000) == GangState::kQueued);
    CHECK(world.Gang("runs").state == GangState::kRunning);
  }
}

TEST_CASE("a pod that has grown beyond its node breaks no plan for devices beside it",
          "[engine][resize]") {
  ResizeWorld world;
  world.Resize(20'000, 20'000);
  world.Add(MakePodGroup("next").MinMember(1));
  world.Add(MakePod("next-0").Gpus(1).MilliCpu(0).InGroup("next").Gated());
  world.Settle();
  CHECK(world.Gang("next").state == GangState::kReserved);
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::testing
