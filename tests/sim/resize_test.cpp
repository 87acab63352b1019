// Pods that are resized in place: what the simulated kubelet, kube-scheduler and auditor make of
// it.
#include "sim/api_server/resize.hpp"

#include <catch2/catch.hpp>

#include "sim/world/kubelet.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

using cluster::MiB;
using cluster::MilliCpu;

// One node of 16 CPUs with a pod of 4 and one of 2, and a kube-scheduler by itself.
struct ResizeBench : SchedulerBench {
  ResizeBench() : SchedulerBench(false), kubelet(loop, api, {}) {
    cluster::Node node = MakeNode("n").Gpus(8);
    node.allocatable.cpu = MilliCpu(16'000);
    Create(api, node);
    Create(api, MakePod("a").MilliCpu(4'000).BoundTo("n"));
    Create(api, MakePod("b").MilliCpu(2'000).BoundTo("n"));
    loop.RunUntil(At(2));
  }
  void Resize(const std::string& name, int64_t cpu) {
    const PodPtr pod = Pod(name);
    REQUIRE(api.ResizePod(Actor::kUser, {pod->pod.key, pod->pod.uid}, MilliCpu(cpu), MiB()).ok());
  }
  PodPtr Pod(const std::string& name) { return api.FindPod(Key(name)); }
  int64_t Held(const std::string& name) { return Pod(name)->pod.held().cpu.value(); }
  // What kube-scheduler still places there, "" or its node.
  std::string Takes(int64_t cpu) {
    const std::string name = "next" + std::to_string(asked_++);
    Create(api, MakePod(name).MilliCpu(cpu));
    loop.RunUntil(loop.now());
    const std::string node = NodeOf(api, name);
    const PodPtr pod = Pod(name);
    REQUIRE(api.DeletePod(Actor::kUser, {pod->pod.key, pod->pod.uid}, cluster::Duration()).ok());
    loop.RunUntil(loop.now());
    return node;
  }
  void Pass(int64_t seconds) { loop.RunUntil(loop.now() + Seconds(seconds)); }

  Kubelet kubelet;
  int asked_ = 0;
};

TEST_CASE("a resize to more counts at once, and is done by the kubelet where there is room",
          "[sim][resize]") {
  ResizeBench bench;
  bench.Resize("a", 10'000);
  CHECK(bench.Held("a") == 10'000);
  CHECK(bench.Takes(5'000).empty());
  CHECK(bench.Takes(4'000) == "n");
  bench.Pass(1);
  CHECK(bench.Pod("a")->resize->allocated.cpu == MilliCpu(10'000));
  CHECK(bench.Pod("a")->resize->in_force.cpu == MilliCpu(4'000));
  bench.Pass(1);
  CHECK_FALSE(bench.Pod("a")->resize);
}

TEST_CASE("a resize to less frees room when it is done, and pods that wait are tried again",
          "[sim][resize]") {
  ResizeBench bench;
  Create(bench.api, MakePod("waits").MilliCpu(13'000));
  bench.Resize("a", 1'000);
  CHECK(bench.Held("a") == 4'000);
  CHECK(bench.Takes(11'000).empty());
  bench.Pass(1);
  CHECK(bench.Held("a") == 4'000);  // allocated, but not in force
  CHECK(NodeOf(bench.api, "waits").empty());
  bench.Pass(10);
  CHECK(bench.Held("a") == 1'000);
  CHECK(NodeOf(bench.api, "waits") == "n");
}

TEST_CASE("a resize that does not fit beside the others is deferred until it does",
          "[sim][resize]") {
  ResizeBench bench;
  bench.Resize("a", 15'000);
  bench.Pass(60);
  CHECK(bench.Pod("a")->resize->pending == ResizePending::kDeferred);
  CHECK(bench.Held("a") == 15'000);
  CHECK(bench.Takes(1).empty());
  SECTION("one of them is made smaller") { bench.Resize("b", 1'000); }
  SECTION("one of them goes") {
    const PodPtr b = bench.Pod("b");
    CHECK(bench.api.DeletePod(Actor::kUser, {b->pod.key, b->pod.uid}, cluster::Duration()).ok());
  }
  SECTION("it is taken back") { bench.Resize("a", 4'000); }
  bench.Pass(10);
  CHECK_FALSE(bench.Pod("a")->resize);
  CHECK(bench.Held("a") == bench.Pod("a")->pod.spec->requests.cpu.value());
}

TEST_CASE("a resize to more than the node has is infeasible and counts no more", "[sim][resize]") {
  ResizeBench bench;
  bench.Resize("a", 17'000);
  CHECK(bench.Takes(1).empty());  // the kubelet has not said so yet
  bench.Pass(2);
  CHECK(bench.Pod("a")->resize->pending == ResizePending::kInfeasible);
  CHECK(bench.Held("a") == 4'000);
  CHECK(bench.Takes(10'000) == "n");
  bench.Resize("a", 5'000);
  bench.Pass(5);
  CHECK_FALSE(bench.Pod("a")->resize);
  CHECK(bench.Held("a") == 5'000);
}

TEST_CASE("a pod that does not run is not resized", "[sim][resize]") {
  ResizeBench bench;
  const PodPtr pod = Create(bench.api, MakePod("p").BoundTo("n"));
  CHECK(bench.api.ResizePod(Actor::kUser, {pod->pod.key, pod->pod.uid}, MilliCpu(1), MiB())
            .error()
            .code == cluster::Code::kInvalidArgument);
}

TEST_CASE("the auditor counts what pods hold that are resized", "[sim][resize][audit]") {
  ResizeBench bench;
  Auditor auditor(bench.loop, bench.api, nullptr, {});
  // Beside one of 2 CPUs, on a node of 16, Muster binds one.
  const auto bind = [&](int64_t cpu) {
    const PodPtr pod = Create(bench.api, MakePod("p").MilliCpu(cpu));
    REQUIRE(bench.api.BindPod(Actor::kMuster, {{pod->pod.key, pod->pod.uid}, "n", {}}).ok());
    return auditor.Check();
  };
  const std::vector<std::string> fault = {
      "pod default/p on node n: milli-CPU 16001 of 16000 taken"};
  SECTION("one to more counts at once") {
    bench.Resize("a", 6'000);
    CHECK(bind(8'001) == fault);
  }
  SECTION("and takes no more than it says") {
    bench.Resize("a", 6'000);
    CHECK(bind(8'000).empty());
  }
  SECTION("one to less counts when it is done") {
    bench.Resize("a", 2'000);
    CHECK(bind(10'001) == fault);
  }
  SECTION("and then") {
    bench.Resize("a", 2'000);
    bench.Pass(5);
    CHECK(bind(12'000).empty());
  }
  SECTION("one that is infeasible does not count") {
    bench.Resize("a", 20'000);
    bench.Pass(5);
    CHECK(bind(10'000).empty());
  }
}

}  // namespace
}  // namespace muster::sim::testing
