// The same simulation with the engine called directly, through the wire codec and over sockets.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "extender/embedded/lockstep_extender.hpp"
#include "extender/embedded/wire_extender.hpp"
#include "sim/world/cluster.hpp"

namespace muster::extender::testing {
namespace {

enum class Way { kDirect, kWire, kHttp };

struct Outcome {
  std::string decisions;
  int64_t bound = 0;
  int64_t filters = 0;
  int64_t findings = 0;
};

sim::Options OptionsFor(Way way, sim::Gating gating) {
  sim::Options options;
  options.seed = 7;
  options.audit = true;
  options.api.gating = gating;
  if (way == Way::kWire) {
    options.extender = [](sim::EventLoop& loop, sim::MusterLink& link) {
      return std::make_unique<WireExtender>(loop, link);
    };
  } else if (way == Way::kHttp) {
    options.extender = [](sim::EventLoop& loop, sim::MusterLink& link) {
      return std::make_unique<LockstepExtender>(loop, link);
    };
  }
  return options;
}

void AddGang(sim::Cluster& cluster, const std::string& name, int pods, int gpus) {
  cluster::PodGroup group;
  group.key = {"default", name};
  group.min_member = pods;
  REQUIRE(cluster.api().CreatePodGroup(sim::Actor::kUser, group).ok());
  cluster::PodSpec spec;
  spec.requests = {cluster::MilliCpu(1000), cluster::MiB(1024), 1};
  spec.gpus.count = gpus;
  spec.scheduler_name = "muster";
  const auto shared = std::make_shared<const cluster::PodSpec>(spec);
  for (int i = 0; i < pods; ++i) {
    sim::PodRecord pod;
    pod.pod.key = {"default", name + "-" + std::to_string(i)};
    pod.pod.spec = shared;
    pod.pod.pod_group = name;
    pod.runs_for = cluster::Seconds(30);
    REQUIRE(cluster.api().CreatePod(sim::Actor::kUser, pod).ok());
  }
}

// Three gangs that do not fit together, and a Muster that dies while calls are held.
Outcome Run(Way way, sim::Gating gating) {
  sim::Cluster cluster(OptionsFor(way, gating));
  cluster.AddNodes("node", 8, sim::GpuNode(8));
  AddGang(cluster, "a", 6, 8);
  AddGang(cluster, "b", 20, 2);
  AddGang(cluster, "c", 5, 8);
  cluster.loop().RunUntil(cluster::Time(500));
  cluster.muster()->Restart();
  cluster.loop().RunUntilIdle(cluster::Time(3'600'000));
  Outcome outcome;
  outcome.decisions = cluster.api().decisions().ToString();
  outcome.bound = cluster.scheduler().stats().bound;
  outcome.filters = cluster.scheduler().stats().filter_calls;
  outcome.findings = static_cast<int64_t>(cluster.auditor()->findings().size());
  return outcome;
}

}  // namespace

TEST_CASE("wire codec and sockets change no decision", "[extender_port]") {
  const sim::Gating gating = GENERATE(sim::Gating::kGangs, sim::Gating::kNone);
  const Outcome direct = Run(Way::kDirect, gating);
  const Outcome wire = Run(Way::kWire, gating);
  const Outcome http = Run(Way::kHttp, gating);
  CHECK(direct.findings == 0);
  CHECK(direct.bound == 31);
  CHECK(wire.decisions == direct.decisions);
  CHECK(http.decisions == direct.decisions);
  CHECK(wire.filters == direct.filters);
  CHECK(http.filters == direct.filters);
}

TEST_CASE("a simulation may end while Bind calls are held", "[extender_port]") {
  const Way way = GENERATE(Way::kWire, Way::kHttp);
  sim::Cluster cluster(OptionsFor(way, sim::Gating::kGangs));
  cluster.AddNodes("node", 2, sim::GpuNode(8));
  AddGang(cluster, "a", 2, 8);
  // The second member never gets to Bind: the first call is held when everything ends.
  while (cluster.scheduler().binding() == 0 && cluster.loop().RunOne()) {
  }
  CHECK(cluster.scheduler().binding() == 1);
}

}  // namespace muster::extender::testing
