// Usage with memory, by hand: half of what is past counts after one half-life.
#include "queues/usage_memory.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

#include "queues/ledger.hpp"
#include "queues/rights.hpp"
#include "queues/tournament.hpp"
#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using cluster::Duration;
using cluster::Seconds;
using cluster::Time;
using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

constexpr Duration kHour = Seconds(3600);
constexpr Time kStart{1'800'000'000'000};

Time After(int64_t seconds) { return kStart + Seconds(seconds); }

TEST_CASE("usage decays by half in each half-life, and in between by its roots",
          "[queues][memory]") {
  constexpr uint64_t kOne = uint64_t{1} << 52U;
  CHECK(Decay(Duration(0), kHour) == kOne);
  CHECK(Decay(kHour, kHour) == kOne / 2);
  CHECK(Decay(Seconds(2 * 3600), kHour) == kOne / 4);
  CHECK(Decay(Seconds(53 * 3600), kHour) == 0);
  CHECK(Decay(Duration(INT64_MAX), kHour) == 0);
  // ⌊2^52 / √2⌉
  CHECK(Decay(Seconds(1800), kHour) == 3'184'525'836'262'886);
  uint64_t last = kOne + 1;
  for (int64_t passed = 0; passed < 20'000'000; passed += 9'973) {
    const uint64_t decay = Decay(Duration(passed), kHour);
    CHECK(decay < last);
    last = decay;
    const double exact = std::exp2(-static_cast<double>(passed) / 3'600'000.0);
    CHECK(static_cast<double>(decay) / static_cast<double>(kOne) == Approx(exact).epsilon(1e-12));
  }
}

TEST_CASE("what a queue has used goes, and what it uses comes, by the same law",
          "[queues][memory]") {
  UsageMemory memory;
  // A queue begins with what it uses then.
  memory.Use("a", kHour, {Whole(8)}, kStart);
  memory.Use("b", kHour, {0}, kStart);
  CHECK(memory.At("a", 1, After(1)) == Vector{Whole(8)});
  CHECK(memory.At("b", 1, After(1)) == Vector{0});
  memory.Use("a", kHour, {0}, kStart);
  memory.Use("b", kHour, {Whole(8)}, kStart);
  CHECK(memory.At("a", 1, After(3600)) == Vector{Whole(4)});
  CHECK(memory.At("b", 1, After(3600)) == Vector{Whole(4)});
  CHECK(memory.At("a", 1, After(7200)) == Vector{Whole(2)});
  CHECK(memory.At("b", 1, After(7200)) == Vector{Whole(6)});
  // An hour of 8 GPUs, an hour of none, an hour of 4: 0·1/8 + 8·1/8 + 0·1/4 + 4·1/2.
  memory.Use("c", kHour, {0}, kStart);
  memory.Use("c", kHour, {Whole(8)}, kStart);
  memory.Use("c", kHour, {0}, After(3600));
  memory.Use("c", kHour, {Whole(4)}, After(7200));
  CHECK(memory.At("c", 1, After(3 * 3600)) == Vector{Whole(3)});
  CHECK(memory.At("nobody", 1, kStart) == Vector{0});
}

TEST_CASE("without a half-life nothing is past, and another one counts from then",
          "[queues][memory]") {
  UsageMemory memory;
  memory.Use("a", Duration(0), {Whole(8)}, kStart);
  memory.Use("a", kHour, {0}, After(60));
  CHECK(memory.At("a", 1, After(60)) == Vector{Whole(8)});
  CHECK(memory.At("a", 1, After(3660)) == Vector{Whole(4)});
}

TEST_CASE("many small changes come to what one change comes to", "[queues][memory]") {
  UsageMemory memory;
  const Duration week = Seconds(168 * 3600);
  for (const char* queue : {"often", "once"}) {
    memory.Use(queue, week, {0}, kStart);
    memory.Use(queue, week, {Whole(1000)}, kStart);
  }
  // Each second a device more and one less, for a day.
  for (int64_t second = 1; second <= 86'400; ++second)
    memory.Use("often", week, {Whole(1000)}, After(second));
  const int64_t often = memory.At("often", 1, After(86'400)).front();
  const int64_t once = memory.At("once", 1, After(86'400)).front();
  CHECK(std::abs(often - once) <= 1);
}

TEST_CASE("a queue that is gone is remembered until nothing of it counts", "[queues][memory]") {
  const auto bare = TreeOf({MakeQueue("a").FairByNamespace()});
  const auto tree = bare->WithNamespace(*bare->Find("a"), "red");
  UsageMemory memory;
  memory.Use("a/red", kHour, {Whole(8)}, kStart);
  memory.LetGo(*tree, kStart);
  memory.LetGo(*bare, kStart);
  CHECK(memory.At("a/red", 1, After(3600)) == Vector{Whole(4)});
  memory.LetGo(*bare, After(3600));
  memory.LetGo(*tree, After(3600));  // it is back
  CHECK(memory.At("a/red", 1, After(7200)) == Vector{Whole(2)});
  memory.LetGo(*bare, After(7200));
  memory.LetGo(*bare, After(24 * 3600));
  CHECK(memory.size() == 0);
  for (int i = 0; i < 5'000; ++i) memory.Use("a/" + std::to_string(i), kHour, {Whole(8)}, After(i));
  memory.LetGo(*bare, After(5'000));
  CHECK(memory.size() == 4'096);
}

TEST_CASE("another policy may count other resources", "[queues][memory]") {
  const auto before = TreeOf({MakeQueue("a").Guarantee(1, testing::kT4)});
  const auto after =
      TreeOf({MakeQueue("a").Guarantee(1, testing::kT4).Guarantee(1, testing::kH100)});
  UsageMemory memory;
  memory.Use("a", kHour, {Whole(8), 0, 0, 0, Whole(3)}, kStart);
  memory.Reorder(before->resources(), after->resources());
  CHECK(memory.At("a", 6, kStart) == Vector{Whole(8), 0, 0, 0, 0, Whole(3)});
}

// Everything that a record can hold: queues that are there and such as are gone, a model's GPUs,
// means with digits after the point.
UsageMemory Rich(const Tree& tree) {
  UsageMemory memory;
  std::mt19937_64 random(3);
  for (int64_t second = 0; second < 50'000; second += 997) {
    for (const char* queue : {"a", "b", "gone", "a/red"}) {
      Vector used(tree.resources().size());
      for (int64_t& one : used) one = static_cast<int64_t>(random() % 1'000'000'000);
      memory.Use(queue, Seconds(3600 + second % 7), used, After(second));
    }
    if (second > 20'000) memory.LetGo(tree, After(second));
  }
  memory.Use("most", kHour, Vector(tree.resources().size(), kMostAmount), After(50'000));
  return memory;
}

TEST_CASE("who adopts a record remembers the same to the last digit", "[queues][memory]") {
  const auto tree = TreeOf({MakeQueue("a").Guarantee(1, testing::kT4), MakeQueue("b")});
  UsageMemory memory = Rich(*tree);
  const UsageRecord record = memory.All(tree->resources());
  CHECK(record.queues.size() == 5);
  UsageMemory next;
  REQUIRE(next.Adopt(record, *tree, After(50'000)).ok());
  CHECK(next.All(tree->resources()) == record);
  for (int64_t second = 50'000; second < 2'000'000; second = second * 21 / 20) {
    for (const auto& [queue, past] : record.queues)
      CHECK(next.At(queue, 5, After(second)) == memory.At(queue, 5, After(second)));
  }
  // Changes go on as they would have.
  for (UsageMemory* one : {&memory, &next}) {
    one->Use("a", kHour, {1, 2, 3, 4, 5}, After(51'000));
    one->LetGo(*tree, After(52'000));
  }
  CHECK(next.All(tree->resources()) == memory.All(tree->resources()));
  CHECK(UsageMemory().All(tree->resources()) == UsageRecord{});
}

TEST_CASE("a record is read by the names of resources, and holds for its queues alone",
          "[queues][memory]") {
  const auto before = TreeOf({MakeQueue("a").Guarantee(1, testing::kT4)});
  const auto after =
      TreeOf({MakeQueue("b").Guarantee(1, testing::kH100).Guarantee(1, testing::kT4)});
  UsageMemory memory;
  memory.Use("a", kHour, {Whole(8), 1, 2, 3, Whole(3)}, kStart);
  UsageMemory next;
  next.Use("a", kHour, {Whole(1), 0, 0, 0, 0, 0}, After(60));
  next.Use("b", kHour, {Whole(2), 0, 0, 0, 0, 0}, After(60));
  REQUIRE(next.Adopt(memory.All(before->resources()), *after, After(120)).ok());
  CHECK(next.At("a", 6, After(120)) == Vector{Whole(8), 1, 2, 3, 0, Whole(3)});
  CHECK(next.At("b", 6, After(120)) == Vector{Whole(2), 0, 0, 0, 0, 0});
  // a is gone, and is remembered as such.
  next.LetGo(*after, After(120));
  CHECK(next.At("a", 6, After(3720)).front() == Whole(4));
}

TEST_CASE("of the queues of a record that are gone those stay that used something last",
          "[queues][memory]") {
  const auto tree = TreeOf({MakeQueue("a")});
  UsageMemory memory;
  memory.Use("a", kHour, {Whole(8), 0, 0, 0}, kStart);
  memory.Use("uses", kHour, {Whole(8), 0, 0, 0}, kStart);
  for (int i = 0; i < 5'000; ++i) {
    const std::string name = "x/" + std::to_string(i);
    memory.Use(name, kHour, {Whole(8), 0, 0, 0}, kStart);
    memory.Use(name, kHour, {0, 0, 0, 0}, After(1 + i));
  }
  UsageMemory next;
  REQUIRE(next.Adopt(memory.All(tree->resources()), *tree, After(5'001)).ok());
  CHECK(next.size() == 4'097);
  const UsageRecord kept = next.All(tree->resources());
  CHECK(kept.queues.contains("a"));
  CHECK(kept.queues.contains("uses"));
  CHECK_FALSE(kept.queues.contains("x/904"));
  CHECK(kept.queues.contains("x/905"));
}

TEST_CASE("a record at fault is refused with its place, and changes nothing", "[queues][memory]") {
  const auto tree = TreeOf({MakeQueue("a"), MakeQueue("b")});
  UsageMemory memory = Rich(*tree);
  const UsageRecord good = memory.All(tree->resources());
  struct Case {
    const char* name;
    std::function<void(UsageRecord&)> change;
    const char* want;
  };
  const auto at = GENERATE(values<Case>({
      {"future", [](UsageRecord& record) { record.queues["a"].since = After(50'301); },
       "queues.a.since: 1800050301000 ms since 1970 is more than 5 minutes ahead"},
      {"past", [](UsageRecord& record) { record.queues["a"].since = Time(-1); }, "queues.a.since"},
      {"half-life", [](UsageRecord& record) { record.queues["a"].half_life = Duration(-1); },
       "queues.a.halfLife"},
      {"lacks", [](UsageRecord& record) { record.queues["a"].mean.pop_back(); }, "queues.a.used"},
      {"negative", [](UsageRecord& record) { record.queues["a"].used[1] = -1; }, "queues.a.used"},
      {"most", [](UsageRecord& record) { record.queues["a"].used[1] = kMostAmount + 1; },
       "queues.a.used"},
      {"mean", [](UsageRecord& record) { record.queues["a"].mean[1] = ~Uint128{0}; },
       "queues.a.mean"},
      {"twice", [](UsageRecord& record) { record.resources[1] = record.resources[0]; },
       "resources: a resource is there twice"},
      {"nameless", [](UsageRecord& record) { record.queues[""] = record.queues["a"]; }, "queues"},
  }));
  INFO(at.name);
  UsageRecord bad = good;
  at.change(bad);
  const cluster::Status adopted = memory.Adopt(bad, *tree, After(50'000));
  REQUIRE_FALSE(adopted.ok());
  CHECK_THAT(adopted.error().ToString(), Catch::StartsWith(at.want));
  CHECK(memory.All(tree->resources()) == good);
}

TEST_CASE("a clock that is behind by little takes a record as of now", "[queues][memory]") {
  const auto tree = TreeOf({MakeQueue("a")});
  UsageMemory memory;
  memory.Use("a", kHour, {0, 0, 0, 0}, After(0));
  memory.Use("a", kHour, {Whole(8), 0, 0, 0}, After(0));
  memory.Use("a", kHour, {0, 0, 0, 0}, After(3600));
  UsageMemory next;
  REQUIRE(next.Adopt(memory.All(tree->resources()), *tree, After(3300)).ok());
  next.Use("a", kHour, {0, 0, 0, 0}, After(3300));
  CHECK(next.At("a", 1, After(6900)) == Vector{Whole(2)});
}

// a and b use the same now; a has used more.
TEST_CASE("R2: b counts what a queue has used, and at least what it uses", "[queues][memory][R2]") {
  const auto tree = TreeOf({MakeQueue("a").Guarantee(4), MakeQueue("b")});
  Ledger ledger(tree);
  ledger.SetCapacity(Vector(tree->resources().size(), Whole(100)));
  const QueueIndex a = *tree->Find("a");
  const QueueIndex b = *tree->Find("b");
  const auto gpus = [&](int64_t count) {
    Vector some(tree->resources().size());
    some[0] = Whole(count);
    return some;
  };
  ledger.Set(a, gpus(10));
  ledger.Set(b, gpus(10));
  ledger.Remember(a, gpus(40));
  ledger.Remember(b, gpus(5));
  CHECK(Show(StandingOf(ledger, a, gpus(2)).b) == "0.380");  // 40 + 2 − 4
  CHECK(Show(StandingOf(ledger, b, gpus(2)).b) == "0.120");
  CHECK(Show(StandingOf(ledger, a, gpus(2), Past::kIgnored).b) == "0.080");
  // A guarantee is of what is used now, and so are limits.
  ledger.Set(a, gpus(1));
  CHECK(StandingOf(ledger, a, gpus(2)).within);
  CHECK_FALSE(ledger.Exceeds(a, gpus(50)));
}

// I1, and that memory gives nobody a right: a right by fair share needs the shares of now,
// and the order.
TEST_CASE("who may have another evicted goes first while both wait, with memory",
          "[queues][memory][R5][property]") {
  std::mt19937_64 random(5);
  const auto below = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  int64_t rights = 0;
  int64_t fewer = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<QueueSpec> specs = {MakeQueue("p").Weight(1 + below(3)),
                                    MakeQueue("x", "p").Weight(1 + below(3)),
                                    MakeQueue("z", "p").Weight(1 + below(3)),
                                    MakeQueue("y").Guarantee(below(3)).Weight(1 + below(3))};
    for (QueueSpec& spec : specs) spec.preemption.reclaim = Reclaim::kFairShare;
    const auto tree = TreeOf(specs);
    Ledger ledger(tree);
    ledger.SetCapacity(Vector(tree->resources().size(), Whole(20)));
    const auto gpus = [&](int64_t count) {
      Vector some(tree->resources().size());
      some[0] = Whole(count);
      return some;
    };
    for (const char* leaf : {"x", "y", "z"}) ledger.Set(*tree->Find(leaf), gpus(below(12)));
    Ledger now = ledger;
    for (uint32_t i = 1; i < tree->size(); ++i) ledger.Remember(QueueIndex{i}, gpus(below(12)));
    const QueueIndex x = *tree->Find("x");
    const QueueIndex holder = *tree->Find(round % 2 == 0 ? "y" : "z");
    const int64_t held = ledger.used(holder)[0] / 1000;
    if (held == 0) continue;
    const Holding victim{holder, 0, gpus(1 + below(held))};
    const Claimant claimant{x, 0, gpus(1 + below(6))};
    const Right right = Rights(ledger, claimant).JudgeAll({&victim}).front().right;
    if (Rights(now, claimant).JudgeAll({&victim}).front().right != Right::kNone) {
      fewer += right == Right::kNone ? 1 : 0;
    } else {
      CHECK(right == Right::kNone);
    }
    if (right == Right::kNone) continue;
    ++rights;
    Vector left = ledger.used(holder);
    for (size_t r = 0; r < left.size(); ++r) left[r] -= victim.held[r];
    ledger.Set(holder, left);
    // The victim is the older one: its age would bring it first.
    const OrderKey old{0, false, true, 1, {{"default", "old"}, false}};
    const OrderKey young{0, false, true, 2, {{"default", "young"}, false}};
    Tournament tournament(ledger);
    tournament.SetHead(x, &young, claimant.asks);
    tournament.SetHead(holder, &old, victim.held);
    CHECK(tournament.Winner() == x);
  }
  CHECK(rights > 100);
  CHECK(fewer > 100);
}

}  // namespace
}  // namespace muster::queues
