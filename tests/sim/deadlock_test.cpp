// The main promise: two gangs that each need more than half of the cluster, their pods interleaved.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "sim/api_server/random.hpp"
#include "sim/audit/auditor.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

constexpr int64_t kNodes = 16;
constexpr int64_t kMembers = 10;  // × 8 GPUs = 80 of 128

GangSpec Half(const std::string& name, std::optional<cluster::Duration> runs_for) {
  return {name, kMembers, 8, runs_for, 0};
}

// Creates the gangs' pods within two seconds, in an order and at times that the seed decides.
void CreateInterleaved(Cluster& cluster, const std::vector<GangSpec>& gangs, Random& random) {
  for (const GangSpec& gang : gangs) {
    Create(cluster.api(), gang.Group());
    for (int64_t i = 0; i < gang.members; ++i) {
      const Time at = cluster.loop().now() + cluster::Duration(random.Between(0, 2000));
      cluster.loop().Post(
          at, [&cluster, gang, i] { Create(cluster.api(), gang.Pod(i), gang.runs_for); });
    }
  }
}

TEST_CASE("pod by pod, both gangs stay half placed for ever", "[deadlock]") {
  Options options;
  options.with_muster = false;
  options.api.gating = Gating::kNone;
  options.seed = GENERATE(1U, 2U, 3U);
  Cluster cluster(options);
  cluster.AddNodes("node", kNodes, GpuNode(8));
  // One of each in turn. Members compute only when all of their gang run, so none of them ends.
  const GangSpec a = Half("a", Seconds(600));
  const GangSpec b = Half("b", Seconds(600));
  Create(cluster.api(), a.Group());
  Create(cluster.api(), b.Group());
  for (int64_t i = 0; i < kMembers; ++i) {
    Create(cluster.api(), a.Pod(i));
    Create(cluster.api(), b.Pod(i));
  }
  cluster.loop().RunUntil(At(24 * 3600));
  CHECK(BoundPods(cluster.api(), "a-") == kNodes / 2);
  CHECK(BoundPods(cluster.api(), "b-") == kNodes / 2);
  CHECK(PartialGangs(cluster.api()) == std::vector<ObjectKey>{Key("a"), Key("b")});
}

TEST_CASE("with muster one gang runs whole, the other holds nothing, then runs", "[deadlock]") {
  // Every seed is another interleaving. 1,000 of them unless told otherwise.
  const char* const wanted = std::getenv("MUSTER_INTERLEAVINGS");
  const uint64_t interleavings = wanted == nullptr ? 1000 : std::strtoull(wanted, nullptr, 10);
  const Gating gating = GENERATE(Gating::kGangs, Gating::kNone);
  for (uint64_t seed = 1; seed <= interleavings; ++seed) {
    INFO("seed " << seed << (gating == Gating::kNone ? ", ungated" : ", gated"));
    Random random(seed);
    Options options;
    options.seed = seed;
    options.api.gating = gating;
    // kube-scheduler takes its time, so that its Filter calls come between the members' creations
    // and nominations.
    options.scheduler.cycle_time = cluster::Duration(random.Between(1, 150));
    Cluster cluster(options);
    cluster.AddNodes("node", kNodes, GpuNode(8));
    Auditor auditor(cluster.loop(), cluster.api(), cluster.muster(), {});
    cluster.loop().RunUntil(At(1));
    CreateInterleaved(cluster, {Half("a", Seconds(600)), Half("b", Seconds(600))}, random);
    cluster.loop().RunUntil(At(300));
    const int64_t a = BoundPods(cluster.api(), "a-");
    const int64_t b = BoundPods(cluster.api(), "b-");
    REQUIRE(a + b == kMembers);
    REQUIRE((a == 0 || b == 0));
    cluster.loop().RunUntil(At(1500));
    for (const PodPtr& pod : cluster.api().Pods()) {
      REQUIRE(pod->pod.phase == cluster::PodPhase::kSucceeded);
    }
    REQUIRE(auditor.Check() == std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace muster::sim::testing
