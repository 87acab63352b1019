// Which victims are taken without queues, and how long they are waited for.
#include <catch2/catch.hpp>

#include "tests/engine/preemption_world.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using testing::FullWorld;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Names;

// On n0 `dear` has 4 GPUs for 8 hours; on n1 `cheap` has 4 GPUs for 4 hours, and the older `cpu`
// all of the CPUs that are left.
TEST_CASE("of one priority the loss of GPU-hours decides, not who started last",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : testing::kAllOld) world.RemovePod(name);
  for (const char* node : {"n0", "n1"})
    world.Add(MakeNode(node).Gpus(4).MilliCpu(10'000).Label("name", node));
  const auto start = [&](const std::string& name, const std::string& node, int gpus, int64_t cpu) {
    world.Harness::Add(MakePodGroup(name).MinMember(1));
    testing::PodBuilder pod = MakePod(name + "-0").MilliCpu(cpu).Select("name", node);
    if (gpus > 0) pod.Gpus(gpus);
    world.Harness::Add(pod.InGroup(name).Gated());
    world.ScheduleAll(name);
    REQUIRE(world.Gang(name).state == GangState::kRunning);
  };
  start("cpu", "n1", 0, 8'000);
  world.Pass(Seconds(60));
  start("dear", "n0", 4, 1'000);
  world.Pass(Seconds(4 * 3'600));
  start("cheap", "n1", 4, 1'000);
  world.Pass(Seconds(4 * 3'600));
  world.log.clear();
  world.Harness::Add(MakePodGroup("urgent").MinMember(1));
  world.Harness::Add(
      MakePod("urgent-0").Gpus(4).MilliCpu(9'000).Priority(100).InGroup("urgent").Gated());
  world.Settle();
  CHECK(world.Evicted() == Names{"cheap-0", "cpu-0"});
}

TEST_CASE("victims are waited for as long as the grace lasts that they were given",
          "[engine][preemption]") {
  FullWorld world;
  for (const std::string& name : testing::kAllOld) world.RemovePod(name);
  world.Start("slow", 1, 8, 0);
  world.Start("dear", 1, 8, 10);
  world.Submit("urgent", 1, 8, 100);
  world.Settle();
  REQUIRE(world.Evicted() == Names{"slow-0"});
  const cluster::Time gone = world.now() + Seconds(3'600);
  world.Change("slow-0", [&](cluster::Pod& pod) { pod.leaves_by = gone; });
  world.Pass(Seconds(3'599));
  CHECK(world.Gang("urgent").state == GangState::kPreempting);
  CHECK(world.Evicted() == Names{"slow-0"});
  SECTION("it goes, and the room is the gang's") {
    world.RemovePod("slow-0");
    world.Settle();
    CHECK(world.Gang("urgent").state == GangState::kReserved);
  }
  SECTION("it stays beyond that, and others are looked for") {
    world.Pass(Seconds(120));
    CHECK(world.Evicted() == Names{"dear-0", "slow-0"});
  }
}

TEST_CASE("a gang that is over a limit by itself is reported with what it asks for",
          "[engine][queues][R3]") {
  queues::QueueSpec q = testing::Queue("q", 0);
  q.limit.Set({queues::Resource::Kind::kGpu}, queues::Limit(3'000));
  testing::QueueWorld world({q});
  world.Start("runs", "q", 3);
  world.Submit("never", "q", 4);
  world.Submit("later", "q", 2);
  CHECK(world.Gang("never").reason.detail == "it asks for 4 of gpu, the limit of queue q is 3");
  CHECK(world.Gang("never").reason.need == 4);
  CHECK(world.Gang("later").reason.detail == "queue q would use 5 of gpu, its limit is 3");
}

}  // namespace
}  // namespace muster::engine
