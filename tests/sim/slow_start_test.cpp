// Many gangs that start at once beside a kube-scheduler that takes its time: no gang runs out of
// the time that a held Bind call has, because too many are on their way together.
#include <catch2/catch.hpp>

#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

constexpr int64_t kGangs = 40;
constexpr int64_t kMembers = 16;
constexpr int64_t kPods = kGangs * kMembers;

Options SlowWorld(uint64_t seed, cluster::Duration cycle) {
  Options options;
  options.seed = seed;
  options.scheduler.cycle_time = cycle;
  // Gates go in an order of chance.
  options.muster.writes.latency = cluster::Duration(20);
  options.muster.writes.jitter = Seconds(8);
  return options;
}

// Until all pods are bound; nothing: an hour was not enough.
std::optional<cluster::Duration> TimeToStart(Options options) {
  Cluster cluster(std::move(options));
  cluster.AddNodes("node", kPods / 8, GpuNode(8));
  cluster.loop().RunUntil(At(1));
  for (int64_t i = 0; i < kGangs; ++i)
    GangSpec{"g" + std::to_string(i), kMembers, 1, std::nullopt, 0}.CreateAll(cluster.api());
  for (int64_t second = 1; second < 3600; ++second) {
    cluster.loop().RunUntil(At(second));
    if (BoundPods(cluster.api()) == kPods) return Seconds(second - 1);
  }
  return std::nullopt;
}

TEST_CASE("40 gangs of 16 start at once, and none waits for its Bind calls in vain", "[start]") {
  const uint64_t seed = GENERATE(1U, 2U, 3U);
  // 640 pods in 192 s: four times as long as a Bind call may be held.
  const cluster::Duration cycle(300);
  Options alone = SlowWorld(seed, cycle);
  alone.with_muster = false;
  alone.api.gating = Gating::kNone;
  const auto without = TimeToStart(alone);
  const auto with = TimeToStart(SlowWorld(seed, cycle));
  REQUIRE(without);
  REQUIRE(with);
  INFO("seed " << seed << ": " << with->value() << " ms, the pods alone " << without->value());
  CHECK(with->value() * 10 <= without->value() * 13);
}

}  // namespace
}  // namespace muster::sim::testing
