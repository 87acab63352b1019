// The whole simulated cluster around the engine: determinism, restarts, what waiting costs, faults.
#include <catch2/catch.hpp>

#include "engine/scheduler.hpp"
#include "sim/api_server/random.hpp"
#include "sim/audit/auditor.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

Options Audited(uint64_t seed) {
  Options options;
  options.seed = seed;
  options.audit = true;
  return options;
}

// A busy hour: gangs and single pods of several sizes come at seeded times and end after seeded
// times.
void Crowd(Cluster& cluster, uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    GangSpec gang;
    gang.name = "gang" + std::to_string(i);
    gang.members = random.Between(1, 12);
    gang.gpus = static_cast<int32_t>(int64_t{1} << random.Below(4));
    gang.runs_for = Seconds(random.Between(10, 900));
    gang.priority = static_cast<int32_t>(random.Below(3));
    cluster.loop().Post(At(random.Between(0, 1800)),
                        [&cluster, gang] { gang.CreateAll(cluster.api()); });
  }
  for (int i = 0; i < 40; ++i) {
    const cluster::Pod pod =
        MakePod("solo" + std::to_string(i)).Gpus(1 + i % 4).Scheduler("muster");
    const auto runs_for = Seconds(random.Between(10, 900));
    cluster.loop().Post(At(random.Between(0, 1800)),
                        [&cluster, pod, runs_for] { Create(cluster.api(), pod, runs_for); });
  }
}

TEST_CASE("the same input and seed give the same decisions, another seed others", "[determinism]") {
  const auto decisions = [](uint64_t seed, bool faults) {
    Options options;
    options.seed = seed;
    if (faults) {
      options.muster.watch = {Seconds(0), Seconds(1), true, 50};
      options.muster.writes = {cluster::Duration(5), cluster::Duration(300), 50, 50};
    }
    Cluster cluster(options);
    cluster.AddNodes("node", 12, GpuNode(8));
    Crowd(cluster, 7);
    cluster.loop().RunUntil(At(4 * 3600));
    CHECK(cluster.api().decisions().count() > 100);
    return cluster.api().decisions().ToString();
  };
  const bool faults = GENERATE(false, true);
  CHECK(decisions(1, faults) == decisions(1, faults));
  if (faults) CHECK(decisions(1, true) != decisions(2, true));
}

TEST_CASE("all that fits runs and ends, and nothing is broken on the way", "[cluster]") {
  Options options = Audited(GENERATE(1U, 2U));
  options.api.gating = Gating::kAll;
  Cluster cluster(options);
  cluster.AddNodes("node", 12, GpuNode(8));
  Crowd(cluster, 11);
  CHECK(cluster.loop().RunUntilIdle(At(24 * 3600)));
  CHECK(cluster.auditor()->findings() == std::vector<std::string>{});
  for (const PodPtr& pod : cluster.api().Pods()) {
    INFO(pod->pod.key.ToString());
    CHECK(pod->pod.phase == cluster::PodPhase::kSucceeded);
    CHECK(pod->pod.bound_gpus.size() == static_cast<size_t>(pod->pod.spec->gpus.count));
  }
  CHECK(cluster.muster()->stats().gangs_started == 80);
  // One single-node Filter a pod: all were nominated before kube-scheduler looked at them.
  CHECK(cluster.scheduler().stats().filter_calls == cluster.api().decisions().count());
  CHECK(cluster.scheduler().stats().filter_names == cluster.api().decisions().count());
}

TEST_CASE("a waiting gang costs no write and no Filter call", "[cluster]") {
  Cluster cluster(Audited(1));
  cluster.AddNodes("node", 2, GpuNode(8));
  GangSpec{"runs", 2, 8, {}, 0}.CreateAll(cluster.api());
  cluster.loop().RunUntil(At(60));
  REQUIRE(BoundPods(cluster.api(), "runs") == 2);
  GangSpec{"waits", 2, 8, {}, 0}.CreateAll(cluster.api());
  cluster.loop().RunUntil(At(120));
  const int64_t writes = cluster.api().Writes(Actor::kMuster);
  const int64_t filters = cluster.scheduler().stats().filter_calls;
  // A day with something going on beside it.
  for (int i = 0; i < 24; ++i) {
    Create(cluster.api(),
           MakePod("other" + std::to_string(i)).Scheduler("somebody").BoundTo("node-0"));
    cluster.loop().RunUntil(At(120 + (i + 1) * 3600));
  }
  CHECK(cluster.api().Writes(Actor::kMuster) == writes);
  CHECK(cluster.scheduler().stats().filter_calls == filters);
  CHECK(cluster.api().FindPodGroup(Key("waits"))->state == "Queued");
  CHECK_FALSE(cluster.api().FindPodGroup(Key("waits"))->message.empty());
}

TEST_CASE("restarted after any event, muster keeps every bound pod and starts the rest",
          "[restart]") {
  // How many events the undisturbed run has.
  const auto prepare = [](Cluster& cluster) {
    cluster.AddNodes("node", 4, GpuNode(8));
    GangSpec{"a", 3, 8, Seconds(100), 0}.CreateAll(cluster.api());
    GangSpec{"b", 6, 4, Seconds(100), 0}.CreateAll(cluster.api());
    GangSpec{"c", 1, 2, Seconds(100), 0}.CreateAll(cluster.api());
  };
  Cluster undisturbed(Audited(1));
  prepare(undisturbed);
  while (BoundPods(undisturbed.api()) < 7) undisturbed.loop().RunOne();
  const int64_t events = undisturbed.loop().events_run();
  REQUIRE(events > 20);
  for (int64_t cut = 0; cut <= events; ++cut) {
    INFO("restarted after event " << cut << " of " << events);
    Cluster cluster(Audited(1));
    prepare(cluster);
    for (int64_t i = 0; i < cut; ++i) cluster.loop().RunOne();
    std::map<std::string, std::string> bound;
    for (const PodPtr& pod : cluster.api().Pods()) {
      if (pod->pod.bound()) bound[pod->pod.key.name] = pod->pod.node_name;
    }
    cluster.muster()->Restart();
    cluster.loop().RunUntil(At(20));
    for (const auto& [pod, node] : bound) REQUIRE(NodeOf(cluster.api(), pod) == node);
    cluster.loop().RunUntil(At(600));
    for (const PodPtr& pod : cluster.api().Pods()) {
      REQUIRE(pod->pod.phase == cluster::PodPhase::kSucceeded);
    }
    REQUIRE(cluster.api().Writes(Actor::kMuster, Verb::kEvict) == 0);
    REQUIRE(cluster.auditor()->findings() == std::vector<std::string>{});
  }
}

TEST_CASE("kube-scheduler restarted after any event changes nothing but time", "[restart]") {
  const auto prepare = [](Cluster& cluster) {
    cluster.AddNodes("node", 3, GpuNode(8));
    GangSpec{"a", 3, 8, Seconds(100), 0}.CreateAll(cluster.api());
  };
  Cluster undisturbed(Audited(1));
  prepare(undisturbed);
  while (BoundPods(undisturbed.api()) < 3) undisturbed.loop().RunOne();
  for (int64_t cut = 0; cut <= undisturbed.loop().events_run(); ++cut) {
    INFO("restarted after event " << cut);
    Cluster cluster(Audited(1));
    prepare(cluster);
    for (int64_t i = 0; i < cut; ++i) cluster.loop().RunOne();
    cluster.scheduler().Restart();
    cluster.loop().RunUntil(At(600));
    REQUIRE(cluster.api().FindPodGroup(Key("a"))->state == "Finished");
    REQUIRE(cluster.auditor()->findings() == std::vector<std::string>{});
  }
}

TEST_CASE("with half of all writes lost or unclear everything still runs, whole", "[faults]") {
  Options options = Audited(GENERATE(1U, 2U, 3U));
  options.muster.writes = {cluster::Duration(2), cluster::Duration(50), 250, 250};
  Cluster cluster(options);
  cluster.AddNodes("node", 4, GpuNode(8));
  for (int i = 0; i < 4; ++i) {
    GangSpec{"gang" + std::to_string(i), 4, 8, Seconds(60), 0}.CreateAll(cluster.api());
  }
  cluster.loop().RunUntil(At(200'000));
  for (const PodPtr& pod : cluster.api().Pods())
    CHECK(pod->pod.phase == cluster::PodPhase::kSucceeded);
  CHECK(cluster.auditor()->findings() == std::vector<std::string>{});
}

// The questions themselves in random order, any number of times, with no kube-scheduler between.
TEST_CASE("Filter calls in any order never give parts to both gangs", "[deadlock]") {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    engine::Scheduler scheduler{engine::Options{}};
    std::vector<std::string> nodes;
    for (int i = 0; i < 16; ++i) {
      nodes.push_back("n" + std::to_string(i));
      scheduler.Apply(MakeNode(nodes.back()).Gpus(8).Build(), Time());
    }
    std::vector<cluster::Pod> pods;
    for (const std::string gang : {"a", "b"}) {
      scheduler.Apply(MakePodGroup(gang).MinMember(10).Build(), Time());
      for (int i = 0; i < 10; ++i) {
        pods.push_back(
            MakePod(gang + std::to_string(i)).InGroup(gang).Gpus(8).Scheduler("muster").Build());
      }
    }
    std::map<std::string, std::map<std::string, int>> answered;  // gang → node → members sent there
    for (int call = 0; call < 200; ++call) {
      const cluster::Pod& pod = pods[random.Below(pods.size())];
      const engine::FilterAnswer answer = scheduler.Filter({pod, nodes}, Time(call));
      if (!answer.node.empty()) ++answered[pod.pod_group][answer.node];
      if (random.Chance(300)) scheduler.Advance(Time(call));
    }
    // Every member has been asked for often enough, so one gang is planned, and only one was ever
    // given nodes.
    REQUIRE(answered.size() <= 1);
    const engine::Counts counts = scheduler.Count();
    REQUIRE((counts.reservations == 0 || counts.reservations == 10));
    REQUIRE(scheduler.Audit(Time(200)).empty());
  }
}

}  // namespace
}  // namespace muster::sim::testing
