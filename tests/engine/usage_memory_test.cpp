// Queues with usageHalfLife in the engine: what they have used counts for their turn, and for
// nothing else.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::Amount;
using queues::QueueSpec;
using queues::Resource;
using testing::MakeNode;
using testing::MakePod;

const Resource kUsageMemoryGpu{Resource::Kind::kGpu};  // NOLINT(cert-err58-cpp)
constexpr cluster::Duration kHour = Seconds(3600);

// a and b, and the root's half-life.
Options With(cluster::Duration half_life,
             std::vector<QueueSpec> queues = {{.name = "a"}, {.name = "b"}}) {
  Options options;
  options.queues = std::move(queues);
  options.queues.push_back({.name = "root", .usage_half_life = half_life});
  return options;
}

cluster::Pod UsageMemoryAsks(const std::string& name, const std::string& queue, int gpus,
                             int64_t created = 0) {
  cluster::Pod pod = MakePod(name).Gpus(gpus).CreatedAt(created).Gated().Build();
  pod.asked_queue = queue;
  return pod;
}

// In thousandths of a GPU.
std::optional<int64_t> Average(testing::Harness& world, const std::string& queue) {
  for (const QueueView& view : world.engine().Queues()) {
    if (view.name != queue) continue;
    for (const QueueAmounts& amounts : view.amounts) {
      if (amounts.resource == kUsageMemoryGpu) return amounts.average;
    }
  }
  return std::nullopt;
}

std::string UsageMemoryReserved(testing::Harness& world) {
  std::string names;
  for (const GangView& gang : world.engine().Gangs()) {
    if (gang.state == GangState::kReserved) names += gang.id.key.name + " ";
  }
  CHECK(world.engine().Audit(world.now()).empty());
  return names;
}

// a has a node of 8 GPUs for an hour; then a and b want it.
void Uses(testing::Harness& world) {
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Settle();
  world.Add(UsageMemoryAsks("used", "a", 8));
  world.Settle();
  world.Bind("used");
  world.Pass(kHour);
  world.Settle();
}

TEST_CASE("a queue that has used more comes after one that has used less",
          "[engine][queues][memory][R2]") {
  for (const bool remembers : {true, false}) {
    testing::Harness world(With(remembers ? kHour : Seconds(0)));
    Uses(world);
    world.Pass(kHour);
    world.RemovePod("used");
    for (int i = 0; i < 8; ++i) world.Add(UsageMemoryAsks("a" + std::to_string(i), "a", 1, 1));
    for (int i = 0; i < 8; ++i) world.Add(UsageMemoryAsks("b" + std::to_string(i), "b", 1, 2));
    world.Settle();
    // Two hours of 8 GPUs count for 6: b goes first until it has as many.
    CHECK(UsageMemoryReserved(world) ==
          (remembers ? "a0 a1 b0 b1 b2 b3 b4 b5 " : "a0 a1 a2 a3 b0 b1 b2 b3 "));
    if (remembers) CHECK(Average(world, "a") == 6'000);
  }
}

TEST_CASE("the one who goes first is the one who has used less", "[engine][queues][memory][R2]") {
  for (const bool remembers : {true, false}) {
    testing::Harness world(With(remembers ? kHour : Seconds(0)));
    Uses(world);
    world.RemovePod("used");
    world.Add(UsageMemoryAsks("old", "a", 8, 1));
    world.Add(UsageMemoryAsks("young", "b", 8, 2));
    world.Settle();
    CHECK(UsageMemoryReserved(world) == (remembers ? "young " : "old "));
  }
}

TEST_CASE("what was used decays, and is noted though nobody waits", "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  CHECK(Average(world, "a") == 4'000);
  CHECK_FALSE(Average(world, "b"));
  world.RemovePod("used");
  world.Settle();
  world.Pass(kHour);
  world.Settle();
  CHECK(Average(world, "a") == 2'000);
  world.Pass(kHour);
  world.Settle();
  CHECK(Average(world, "a") == 1'000);
}

TEST_CASE("guarantees and limits are of what is used now", "[engine][queues][memory][R3]") {
  QueueSpec a{.name = "a"};
  a.guarantee.Set(kUsageMemoryGpu, Amount(4'000));
  a.limit.Set(kUsageMemoryGpu, queues::Limit(8'000));
  testing::Harness world(With(kHour, {a, {.name = "b"}}));
  Uses(world);
  world.RemovePod("used");
  world.Add(UsageMemoryAsks("guaranteed", "a", 4, 2));
  world.Add(UsageMemoryAsks("borrows", "b", 8, 1));
  world.Settle();
  CHECK(UsageMemoryReserved(world) == "guaranteed ");
}

TEST_CASE("another policy keeps the past of the queues that it has, one without memory keeps none",
          "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  world.RemovePod("used");
  world.Settle();
  Options options = world.engine().options();
  options.queues[0].weight = 2;
  options.queues[1].guarantee.Set({Resource::Kind::kGpuModel, "t4"}, Amount(1'000));
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(Average(world, "a") == 4'000);
  options.queues.back().usage_half_life = Seconds(0);
  world.engine().SetOptions(options);
  world.Settle();
  CHECK_FALSE(Average(world, "a"));
  options.queues.back().usage_half_life = kHour;
  world.engine().SetOptions(options);
  world.Settle();
  CHECK_FALSE(Average(world, "a"));
}

// The next engine is given what this one remembers, as a new leader is, after a time without one.
void HandOver(testing::Harness& world, cluster::Duration away = Seconds(0)) {
  const std::optional<queues::UsageRecord> usage = world.engine().UsedSoFar();
  REQUIRE(usage);
  world.Restart(away);
  world.engine().Apply(*usage, world.now());
}

TEST_CASE("after a hand-over the same queue goes first", "[engine][queues][memory][R2]") {
  for (const bool handed_over : {false, true}) {
    testing::Harness world(With(kHour));
    Uses(world);
    world.Pass(kHour);
    if (handed_over) HandOver(world);
    world.RemovePod("used");
    for (int i = 0; i < 8; ++i) world.Add(UsageMemoryAsks("a" + std::to_string(i), "a", 1, 1));
    for (int i = 0; i < 8; ++i) world.Add(UsageMemoryAsks("b" + std::to_string(i), "b", 1, 2));
    world.Settle();
    CHECK(UsageMemoryReserved(world) == "a0 a1 b0 b1 b2 b3 b4 b5 ");
    CHECK(Average(world, "a") == 6'000);
  }
}

TEST_CASE("while nobody leads a queue counts as using what it used", "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  HandOver(world, kHour);
  world.RemovePod("used");
  world.Settle();
  CHECK(Average(world, "a") == 6'000);
  HandOver(world, kHour);
  world.Settle();
  CHECK(Average(world, "a") == 3'000);
}

TEST_CASE("namespaces are remembered over a hand-over, whether they have gangs or not",
          "[engine][queues][memory][namespaces]") {
  const Options options =
      With(kHour, {{.name = "a", .fair_by = queues::FairBy::kNamespace}, {.name = "b"}});
  testing::Harness world(options);
  Uses(world);
  HandOver(world);
  world.Settle();
  CHECK(Average(world, "a/default") == 4'000);
  world.RemovePod("used");
  world.Settle();
  HandOver(world);
  world.Settle();
  world.Add(UsageMemoryAsks("again", "a", 1, 3));
  world.Settle();
  CHECK(Average(world, "a/default").value_or(0) > 3'900);
}

TEST_CASE("a hand-over under another policy is like a change of the policy",
          "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  world.RemovePod("used");
  world.Settle();
  const std::optional<queues::UsageRecord> usage = world.engine().UsedSoFar();
  REQUIRE(usage);
  // Until now a's half-life was an hour, from now on it is two.
  testing::Harness next(With(kHour + kHour, {{.name = "c"}, {.name = "a"}}));
  next.Pass(world.now() - next.now() + kHour);
  next.engine().Apply(*usage, next.now());
  next.Settle();
  CHECK(Average(next, "a") == 2'000);
  next.Pass(kHour + kHour);
  next.Settle();
  CHECK(Average(next, "a") == 1'000);
  CHECK_FALSE(Average(next, "c"));
  testing::Harness none(With(Seconds(0)));
  none.Pass(world.now() - none.now());
  none.engine().Apply(*usage, none.now());
  none.Settle();
  CHECK_FALSE(none.engine().UsedSoFar());
}

TEST_CASE("late usage counts as if nobody had led until it came", "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  const std::optional<queues::UsageRecord> usage = world.engine().UsedSoFar();
  REQUIRE(usage);
  world.RemovePod("used");
  world.Restart();
  world.Settle();
  CHECK_FALSE(Average(world, "a"));
  world.Pass(kHour);
  world.engine().Apply(*usage, world.now());
  world.Settle();
  CHECK(Average(world, "a") == 6'000);
}

TEST_CASE("a record at fault changes nothing", "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  std::optional<queues::UsageRecord> usage = world.engine().UsedSoFar();
  REQUIRE(usage);
  usage->queues.at("a").since = world.now() + Seconds(301);
  world.Restart();
  world.engine().Apply(*usage, world.now());
  world.Settle();
  CHECK(Average(world, "a") == 8'000);
}

TEST_CASE("without a record a queue begins with what it uses", "[engine][queues][memory]") {
  testing::Harness world(With(kHour));
  Uses(world);
  world.Restart();
  world.Settle();
  CHECK(Average(world, "a") == 8'000);
}

TEST_CASE("a namespace that ended its gangs is remembered",
          "[engine][queues][memory][namespaces]") {
  testing::Harness world(
      With(kHour, {{.name = "a", .fair_by = queues::FairBy::kNamespace}, {.name = "b"}}));
  Uses(world);
  CHECK(Average(world, "a/default") == 4'000);
  world.RemovePod("used");
  world.Settle();
  world.Pass(Seconds(120));
  world.Settle();
  CHECK_FALSE(Average(world, "a/default"));  // there is no such queue
  world.Add(UsageMemoryAsks("again", "a", 1, 3));
  world.Settle();
  CHECK(Average(world, "a/default").value_or(0) > 3'500);
}

// By the shares of now x may have y evicted from the start; with memory only once y comes after it.
TEST_CASE("a right by fair share waits for the order, and comes with time",
          "[engine][queues][memory][R5]") {
  QueueSpec x{.name = "x"};
  x.preemption.reclaim = queues::Reclaim::kFairShare;
  QueueSpec y{.name = "y"};
  QueueSpec g{.name = "g"};  // fair share contends for what somebody is guaranteed
  g.guarantee.Set(kUsageMemoryGpu, Amount(1'000));
  testing::Harness world(With(kHour, {x, y, g}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Settle();
  world.Add(UsageMemoryAsks("past", "x", 8));
  world.Settle();
  world.Bind("past");
  world.Pass(Seconds(4 * 3600));
  world.Settle();
  world.RemovePod("past");
  for (const char* name : {"y0", "y1"}) world.Add(UsageMemoryAsks(name, "y", 4));
  world.Settle();
  world.Bind("y0");
  world.Bind("y1");
  world.Settle();
  world.Add(UsageMemoryAsks("wants", "x", 2, 5));
  world.Settle();
  CHECK(world.Evictions() == 0);  // x 7.5 + 2 against y 4 + 4
  world.Pass(Seconds(600));
  world.Settle();
  CHECK(world.Evictions() == 0);
  world.Pass(Seconds(600));
  world.Settle();
  CHECK(world.Evictions() == 1);  // x 7.5 / 2^(1/3) + 2 = 7.95
}

}  // namespace
}  // namespace muster::engine
