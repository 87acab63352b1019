// What a gang may hope for: the cluster without what can leave, but with what stays on its nodes.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

// n0 … with 8 cores each; on each of them an agent of one core that a DaemonSet keeps there.
void AddAgents(Harness& world, int nodes) {
  for (int i = 0; i < nodes; ++i) {
    const std::string node = "n" + std::to_string(i);
    world.Add(MakeNode(node).Cpu(8));
    world.Add(MakePod("agent-" + node).Daemon().Scheduler("default-scheduler").BoundTo(node));
  }
}

cluster::Pod Foreign(const std::string& name, const std::string& node) {
  return MakePod(name).Scheduler("default-scheduler").BoundTo(node);
}

cluster::Toleration Everything() {
  cluster::Toleration all;
  all.op = cluster::Toleration::Op::kExists;
  return all;
}

TEST_CASE("a gang that wants a whole node beside a DaemonSet's pods never fits",
          "[engine][stays]") {
  Harness world;
  AddAgents(world, 2);
  world.Add(MakePod("whole").MilliCpu(8000).Gated());
  world.Add(MakePod("nearly").MilliCpu(7000).Gated());
  world.Settle();
  CHECK(world.Gang("whole").state == GangState::kUnsatisfiable);
  CHECK(
      engine::Describe(world.Gang("whole").reason) ==
      "it would not fit this cluster even if only the pods ran that stay on its nodes: not "
      "enough free CPU: 0/2 nodes would have room: 2 with less than 8 CPU free (best: n0, 7 free)");
  CHECK(world.Gang("nearly").state == GangState::kReserved);
}

TEST_CASE("with strict order such a gang keeps nobody from starting", "[engine][stays]") {
  engine::Options options;
  options.queues = queues::OneQueue(queues::Order::kStrictFifo);
  Harness world(options);
  AddAgents(world, 2);
  world.Add(MakePod("whole").MilliCpu(8000).Gated().CreatedAt(1));
  world.Add(MakePod("small").Gated().CreatedAt(2));
  world.Settle();
  CHECK(world.Gang("whole").state == GangState::kUnsatisfiable);
  CHECK(world.Gang("small").state == GangState::kReserved);
}

TEST_CASE("what another scheduler placed stays only where it tolerates every taint",
          "[engine][stays]") {
  Harness world;
  world.Add(MakeNode("n0").Cpu(8));
  world.Add(Foreign("web", "n0"));
  world.Add(MakePod("whole").MilliCpu(8000).Gated());
  world.Settle();
  CHECK(world.Gang("whole").state == GangState::kQueued);
  world.RemovePod("web");
  world.Add(MakePod("proxy").Scheduler("default-scheduler").Tolerate(Everything()).BoundTo("n0"));
  world.Settle();
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("whole").state == GangState::kUnsatisfiable);
}

TEST_CASE("what Muster bound can leave whatever it tolerates", "[engine][stays]") {
  Harness world;
  world.Add(MakeNode("n0").Cpu(8));
  world.Add(MakePod("tolerant").Tolerate(Everything()));
  world.ScheduleAll("");
  REQUIRE(world.Pod("tolerant").bound());
  world.Add(MakePod("whole").MilliCpu(8000).Gated());
  world.Settle();
  CHECK(world.Gang("whole").state == GangState::kQueued);
}

TEST_CASE("a DaemonSet that comes and goes makes a gang impossible and possible again",
          "[engine][stays]") {
  Harness world;
  world.Add(MakeNode("n0").Cpu(8));
  world.Add(MakePod("busy"));
  world.ScheduleAll("");
  world.Add(MakePod("whole").MilliCpu(8000).Gated());
  world.Settle();
  REQUIRE(world.Gang("whole").state == GangState::kQueued);
  world.Pass(cluster::Seconds(60));
  // Nothing becomes free by it, so only what stays there calls for another look.
  world.Add(MakePod("agent").Daemon().Scheduler("default-scheduler").BoundTo("n0"));
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("whole").state == GangState::kUnsatisfiable);
  world.Change("agent", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("whole").state == GangState::kQueued);
  world.RemovePod("busy");
  world.Settle();
  CHECK(world.Gang("whole").state == GangState::kReserved);
}

TEST_CASE("devices that stay taken are not hoped for", "[engine][stays]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("dcgm").Daemon().Gpus(1).Scheduler("default-scheduler").BoundTo("n0"));
  world.Add(MakePod("eight").Gpus(8).Gated());
  world.Add(MakePod("seven").Gpus(7).Gated());
  world.Settle();
  CHECK(world.Gang("eight").state == GangState::kUnsatisfiable);
  CHECK(world.Gang("seven").state == GangState::kReserved);
}

TEST_CASE("a DaemonSet that is rolled out everywhere asks waiting gangs again a few times only",
          "[engine][stays]") {
  constexpr int kNodes = 1000;
  Harness world;
  AddAgents(world, kNodes);
  for (int i = 0; i < kNodes; ++i) {
    world.Add(MakePod("busy-" + std::to_string(i)).MilliCpu(7000).BoundTo("n" + std::to_string(i)));
  }
  for (int i = 0; i < 50; ++i)
    world.Add(MakePod("waits-" + std::to_string(i)).MilliCpu(2000 + i).Gated());
  world.Settle();
  world.Pass(cluster::Seconds(60));
  int64_t tried = 0;
  for (int i = 0; i < kNodes; ++i) {  // 20 nodes a second; the new pod is the larger one
    const std::string name = "agent-n" + std::to_string(i);
    world.Change(name, [](cluster::Pod& pod) {
      auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
      spec->requests.cpu += cluster::MilliCpu(1);
      pod.spec = std::move(spec);
    });
    tried += world.engine().Advance(world.now()).gangs_tried;
    if (i % 20 == 19) world.Pass(cluster::Seconds(1));
  }
  CHECK(tried < 10 * 50);
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("waits-0").state == GangState::kQueued);
}

}  // namespace
}  // namespace muster::testing
