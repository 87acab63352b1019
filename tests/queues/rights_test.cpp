// R4 to R7 by hand, in GPUs: who may have whom evicted.
#include "queues/rights.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kH100;
using testing::kT4;
using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

class RightsWorld {
 public:
  explicit RightsWorld(const std::vector<QueueSpec>& queues, int64_t capacity = 100)
      : RightsWorld(TreeOf(queues), capacity) {}
  explicit RightsWorld(std::shared_ptr<const Tree> tree, int64_t capacity = 100)
      : tree_(std::move(tree)), ledger_(tree_) {
    ledger_.SetCapacity(Vector(tree_->resources().size(), Whole(capacity)));
  }
  Vector Of(int64_t gpus, int64_t h100 = 0) const {
    Vector some(tree_->resources().size());
    some[0] = Whole(gpus);
    if (some.size() > 4) some[4] = Whole(h100);
    return some;
  }
  QueueIndex At(const std::string& queue) const { return *tree_->Find(queue); }
  void Uses(const std::string& queue, const Vector& used) { ledger_.Set(At(queue), used); }
  void Uses(const std::string& queue, int64_t gpus) { Uses(queue, Of(gpus)); }
  Rights RightsOf(const std::string& queue, int64_t gpus, int64_t priority = 0) const {
    return {ledger_, {At(queue), priority, Of(gpus)}};
  }
  Holding Holds(const std::string& queue, int64_t gpus, int64_t priority = 0) const {
    return {At(queue), priority, Of(gpus)};
  }
  const Ledger& ledger() const { return ledger_; }

 private:
  std::shared_ptr<const Tree> tree_;
  Ledger ledger_;
};

Judgement One(Rights rights, const Holding& holding) { return rights.JudgeAll({&holding}).front(); }

QueueSpec RightsGuaranteed(const std::string& name, int64_t gpus, const std::string& parent = "") {
  return MakeQueue(name, parent).Guarantee(gpus);
}

QueueSpec Reclaims(QueueSpec queue, Reclaim reclaim) {
  queue.preemption.reclaim = reclaim;
  return queue;
}

TEST_CASE("R4: within a queue only gangs of strictly lower priority go", "[queues][R4]") {
  RightsWorld world({RightsGuaranteed("x", 8), RightsGuaranteed("y", 8)});
  world.Uses("x", 8);
  CHECK(One(world.RightsOf("x", 4, 5), world.Holds("x", 4, 4)).right == Right::kWithinQueue);
  CHECK(One(world.RightsOf("x", 4, 5), world.Holds("x", 4, 5)).denial == Denial::kPriority);
  CHECK(One(world.RightsOf("x", 4, 5), world.Holds("x", 4, 6)).right == Right::kNone);
}

// Between namespaces R2 goes by shares, not by priority: so does the right to evict.
TEST_CASE("R4 holds within a namespace, R5 without guarantees between those of a queue",
          "[queues][R4][R5][namespaces]") {
  for (const Reclaim reclaim : {Reclaim::kGuarantee, Reclaim::kFairShare}) {
    const auto bare = TreeOf({Reclaims(MakeQueue("q").Guarantee(16).FairByNamespace(), reclaim),
                              RightsGuaranteed("z", 8)});
    const auto tree =
        bare->WithNamespace(*bare->Find("q"), "x")->WithNamespace(*bare->Find("q"), "y");
    RightsWorld world(tree);
    world.Uses("q/x", 2);
    world.Uses("q/y", 14);
    world.Uses("z", 12);
    CHECK(One(world.RightsOf("q/y", 2, 5), world.Holds("q/y", 4, 4)).right == Right::kWithinQueue);
    CHECK(One(world.RightsOf("q/x", 2, 1), world.Holds("q/x", 2, 1)).denial == Denial::kPriority);
    const bool fair = reclaim == Reclaim::kFairShare;
    // x 2 + 4 against y 14 - 4; and not the other way, whatever the priority is.
    CHECK(One(world.RightsOf("q/x", 4), world.Holds("q/y", 4, 99)).right ==
          (fair ? Right::kFairShare : Right::kNone));
    CHECK(One(world.RightsOf("q/x", 9), world.Holds("q/y", 4)).right == Right::kNone);
    CHECK(One(world.RightsOf("q/y", 1, 99), world.Holds("q/x", 2)).right == Right::kNone);
    // The queue as a whole is at its guarantee: nobody takes from it, and with 2 less it may take.
    CHECK(One(world.RightsOf("z", 1), world.Holds("q/y", 4)).right == Right::kNone);
    world.Uses("q/y", 12);
    CHECK(One(world.RightsOf("q/x", 2), world.Holds("z", 4)).right == Right::kGuarantee);
    CHECK(One(world.RightsOf("q/x", 3), world.Holds("z", 4)).right == Right::kNone);
  }
}

TEST_CASE("R4: a queue may evict nobody of its own", "[queues][R4]") {
  QueueSpec calm = RightsGuaranteed("x", 8);
  calm.preemption.within_queue = WithinQueue::kNever;
  RightsWorld world({calm});
  CHECK(One(world.RightsOf("x", 4, 5), world.Holds("x", 4, 1)).denial == Denial::kNever);
}

TEST_CASE("R5: whoever is within the guarantee with its gang takes from who is beyond",
          "[queues][R5]") {
  struct Case {
    std::string name;
    int64_t x_uses;
    int64_t asks;
    int64_t y_uses;
    int64_t holds;
    Right right;
    bool straddles;
  };
  // x and y are guaranteed 8 each.
  const auto one = GENERATE(
      Case{"all of the guarantee", 0, 8, 16, 8, Right::kGuarantee, false},
      Case{"up to the guarantee", 4, 4, 16, 4, Right::kGuarantee, false},
      Case{"the claimant would be beyond", 4, 5, 16, 8, Right::kNone, false},
      Case{"the holder has just its guarantee", 0, 8, 8, 4, Right::kNone, false},
      Case{"the holder is less than a gang beyond", 0, 8, 10, 4, Right::kGuarantee, true},
      Case{"the holder comes to just its guarantee", 0, 8, 12, 4, Right::kGuarantee, false});
  DYNAMIC_SECTION(one.name) {
    RightsWorld world({RightsGuaranteed("x", 8), RightsGuaranteed("y", 8)});
    world.Uses("x", one.x_uses);
    world.Uses("y", one.y_uses);
    const Judgement judged = One(world.RightsOf("x", one.asks), world.Holds("y", one.holds, 99));
    CHECK(judged.right == one.right);
    CHECK(judged.straddles == one.straddles);
  }
}

TEST_CASE("R5: every queue from the victim's up to the ancestor's child must be beyond",
          "[queues][R5]") {
  // left: x (8); right: 16, of it y 4 and z 12.
  RightsWorld world({RightsGuaranteed("left", 8), RightsGuaranteed("x", 8, "left"),
                     RightsGuaranteed("right", 16), RightsGuaranteed("y", 4, "right"),
                     RightsGuaranteed("z", 12, "right")});
  world.Uses("y", 8);
  world.Uses("z", 8);  // right has just what it is guaranteed
  CHECK(One(world.RightsOf("x", 4), world.Holds("y", 4)).denial == Denial::kHolder);
  world.Uses("z", 10);
  CHECK(One(world.RightsOf("x", 4), world.Holds("y", 4)).right == Right::kGuarantee);
  CHECK(One(world.RightsOf("x", 4), world.Holds("z", 4)).denial == Denial::kHolder);
  // Within right its own guarantees count.
  CHECK(One(world.RightsOf("z", 2), world.Holds("y", 4)).right == Right::kGuarantee);
}

TEST_CASE("R7: victims that are lawful one by one need not be lawful together", "[queues][R7]") {
  RightsWorld world({RightsGuaranteed("x", 16), RightsGuaranteed("y", 8)});
  world.Uses("y", 10);
  const Holding a = world.Holds("y", 4);
  const Holding b = world.Holds("y", 4);
  Rights rights = world.RightsOf("x", 8);
  CHECK(One(rights, a).right == Right::kGuarantee);
  const std::vector<Judgement> both = rights.JudgeAll({&a, &b});
  CHECK(both[0].right == Right::kGuarantee);
  CHECK(both[1].denial == Denial::kHolder);
}

TEST_CASE("R7: a set is lawful whatever order it is given in", "[queues][R7]") {
  RightsWorld world({RightsGuaranteed("x", 16), RightsGuaranteed("y", 8)});
  world.Uses("y", 12);
  const Holding small = world.Holds("y", 2);
  const Holding large = world.Holds("y", 6);
  Rights rights = world.RightsOf("x", 8);
  for (const Judgement& one : rights.JudgeAll({&large, &small}))
    CHECK(one.right == Right::kGuarantee);
  // One after the other, the large one first, the small one is not any more.
  CHECK(rights.JudgeInOrder({&large, &small})[1].right == Right::kNone);
}

TEST_CASE("R7: own gangs that go make room in the guarantee for others to go", "[queues][R7]") {
  RightsWorld world({RightsGuaranteed("x", 8), RightsGuaranteed("y", 8)});
  world.Uses("x", 6);
  world.Uses("y", 16);
  Rights rights = world.RightsOf("x", 8, 5);
  const Holding own = world.Holds("x", 6, 1);
  const Holding other = world.Holds("y", 4);
  CHECK(rights.JudgeAll({&other})[0].denial == Denial::kClaimant);
  const std::vector<Judgement> both = rights.JudgeAll({&own, &other});
  CHECK(both[0].right == Right::kWithinQueue);
  CHECK(both[1].right == Right::kGuarantee);
  CHECK(!rights.PartsAreLawful({&own, &other}));
}

TEST_CASE("R5: fair-share takes only where the other is still ahead without its gang",
          "[queues][R5]") {
  // Nothing is guaranteed to the two; the root's capacity is 100.
  RightsWorld world({Reclaims(RightsGuaranteed("x", 0), Reclaim::kFairShare),
                     RightsGuaranteed("y", 0), RightsGuaranteed("z", 1)});
  world.Uses("x", 8);
  world.Uses("y", 24);
  // 8 + 8 ≤ 24 - 8
  CHECK(One(world.RightsOf("x", 8), world.Holds("y", 8)).right == Right::kFairShare);
  // 8 + 9 > 24 - 8: afterwards y would be behind, and take it back
  CHECK(One(world.RightsOf("x", 9), world.Holds("y", 8)).denial == Denial::kClaimant);
  CHECK(One(world.RightsOf("x", 8), world.Holds("y", 9)).denial == Denial::kClaimant);
  CHECK(One(world.RightsOf("y", 1), world.Holds("x", 1)).right == Right::kNone);
}

TEST_CASE("R9: a queue has nothing beyond its guarantee in what leaves for others",
          "[queues][R5][R9]") {
  RightsWorld world({RightsGuaranteed("x", 8), RightsGuaranteed("y", 8)});
  world.Uses("y", 12);
  const Claimant claimant{world.At("x"), 0, world.Of(4)};
  const Holding one = world.Holds("y", 4);
  CHECK(One(Rights(world.ledger(), claimant), one).right == Right::kGuarantee);
  Rights later(world.ledger(), claimant, {world.Holds("y", 4)});
  CHECK(One(later, one).denial == Denial::kHolder);
  // As long as it is there it counts on the claimant's own side, and for its limit.
  QueueSpec limited = MakeQueue("x").Guarantee(8).AtMost(8);
  RightsWorld own({limited, RightsGuaranteed("y", 0)});
  own.Uses("x", 6);
  own.Uses("y", 4);
  Rights full(own.ledger(), {own.At("x"), 0, own.Of(4)}, {own.Holds("x", 4)});
  CHECK(One(full, own.Holds("y", 4)).denial == Denial::kClaimant);
  CHECK(full.Exceeds({}));
}

TEST_CASE("R5: fair-share needs no guarantees, guarantee does", "[queues][R5]") {
  for (const Reclaim reclaim : {Reclaim::kFairShare, Reclaim::kGuarantee}) {
    RightsWorld world({Reclaims(RightsGuaranteed("x", 0), reclaim), RightsGuaranteed("y", 0)});
    world.Uses("y", 16);
    const Judgement judged = One(world.RightsOf("x", 4), world.Holds("y", 4));
    CHECK(judged.right == (reclaim == Reclaim::kFairShare ? Right::kFairShare : Right::kNone));
    CHECK(world.RightsOf("x", 4).MayEvictFrom(world.Holds("y", 4).leaf, Vector(8)) ==
          (reclaim == Reclaim::kFairShare));
  }
}

TEST_CASE("R5: nobody takes a device of a model of which its queue is within the guarantee",
          "[queues][R5]") {
  // y: 16 GPUs, of them 8 h100. It uses 8 h100 and 12 others.
  RightsWorld world({MakeQueue("x").Guarantee(16).Guarantee(8, kH100),
                     MakeQueue("y").Guarantee(16).Guarantee(8, kH100)});
  world.Uses("y", world.Of(20, 8));
  Holding h100 = world.Holds("y", 4);
  h100.held = world.Of(4, 4);
  const Holding others = world.Holds("y", 4);
  CHECK(One(world.RightsOf("x", 4), h100).denial == Denial::kHolder);
  CHECK(One(world.RightsOf("x", 4), others).right == Right::kGuarantee);
  // A gang that names h100 contends for these alone.
  Rights names(world.ledger(), {world.At("x"), 0, world.Of(4, 4)});
  CHECK(One(names, others).denial == Denial::kHolder);
  world.Uses("y", world.Of(14, 12));
  Rights now(world.ledger(), {world.At("x"), 0, world.Of(4, 4)});
  CHECK(One(now, h100).right == Right::kGuarantee);
}

TEST_CASE("R5: what a queue borrows of another model costs it nothing of a model's guarantee",
          "[queues][R5]") {
  // x is guaranteed 8 h100, and so 8 GPUs. It has borrowed 8 others; y is 8 h100 over its
  // guarantee.
  RightsWorld world({MakeQueue("x").Guarantee(8, kH100), MakeQueue("y").Guarantee(4)});
  world.Uses("x", world.Of(8, 0));
  world.Uses("y", world.Of(8, 8));
  Holding h100 = world.Holds("y", 4);
  h100.held = world.Of(4, 4);
  Rights names(world.ledger(), {world.At("x"), 0, world.Of(8, 8)});
  CHECK(names.MayEvictFrom(world.At("y"), Vector(8)));
  CHECK(MayReclaim(world.ledger(), world.At("x"), world.Of(8, 8)));
  CHECK(One(names, h100).right == Right::kGuarantee);
  // Nine h100 are more than that, and so are GPUs of any kind.
  Rights more(world.ledger(), {world.At("x"), 0, world.Of(9, 9)});
  CHECK(One(more, h100).denial == Denial::kClaimant);
  CHECK_FALSE(MayReclaim(world.ledger(), world.At("x"), world.Of(9, 9)));
  CHECK(One(world.RightsOf("x", 1), h100).denial == Denial::kClaimant);
  // What it has borrowed goes as before: 16 GPUs are more than its 8.
  world.Uses("x", world.Of(16, 8));
  world.Uses("y", 0);
  CHECK(One(world.RightsOf("y", 4), world.Holds("x", 8)).right == Right::kGuarantee);
}

TEST_CASE("R9: limits count what is left when the victims are gone", "[queues][R3][R7]") {
  RightsWorld world({MakeQueue("x").AtMost(8)});
  world.Uses("x", 8);
  Rights rights = world.RightsOf("x", 4, 5);
  const Holding small = world.Holds("x", 2, 1);
  const Holding enough = world.Holds("x", 4, 1);
  CHECK(rights.Exceeds({}));
  CHECK(rights.Exceeds({&small}));
  CHECK(!rights.Exceeds({&enough}));
}

TEST_CASE("what a gang takes is no bar to looking again", "[queues]") {
  RightsWorld world({RightsGuaranteed("x", 8), RightsGuaranteed("y", 8)});
  world.Uses("y", 16);
  Rights rights = world.RightsOf("x", 8);
  const Holding one = world.Holds("y", 8);
  for (int i = 0; i < 3; ++i) CHECK(rights.JudgeAll({&one})[0].right == Right::kGuarantee);
}

TEST_CASE("a gang that straddles its queue's guarantee does not stay beyond it", "[queues][R5]") {
  RightsWorld world({RightsGuaranteed("x", 16), RightsGuaranteed("y", 8)});
  world.Uses("y", 14);
  const Holding small = world.Holds("y", 4);
  const Holding large = world.Holds("y", 6);
  Holding leaves = world.Holds("y", 6);
  leaves.leaves = true;
  Rights rights = world.RightsOf("x", 8);
  // 14 - 4 > 8, and then 10 - 6 < 8; but 14 - 6 is 8 and no more.
  CHECK(rights.StayBeyond({&small, &large}) == std::vector<bool>{true, false});
  CHECK(rights.StayBeyond({&large, &small}) == std::vector<bool>{false, true});
  CHECK(rights.StayBeyond({&leaves, &small}) == std::vector<bool>{true, false});
  // Its own queue's are a matter of priority.
  CHECK(world.RightsOf("y", 8).StayBeyond({&large, &large}) == std::vector<bool>{true, true});
}

TEST_CASE("property: who stays beyond the guarantee does so when all before it have left",
          "[queues][R5][property]") {
  std::mt19937 random(5);
  const auto pick = [&](int most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
  };
  const std::vector<std::string> leaves = {"p1", "p2", "q1", "q2"};
  int64_t straddle = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<QueueSpec> queues;
    for (const char* top : {"p", "q"}) {
      const int64_t one = 1 + pick(6);
      const int64_t other = 1 + pick(6);
      queues.push_back(RightsGuaranteed(top, one + other + pick(4)));
      queues.push_back(RightsGuaranteed(std::string(top) + "1", one, top));
      queues.push_back(RightsGuaranteed(std::string(top) + "2", other, top));
    }
    RightsWorld world(queues, 100);
    std::map<std::string, int64_t> left;
    for (const std::string& leaf : leaves) world.Uses(leaf, left[leaf] = 10 + pick(14));
    const std::string own = leaves[static_cast<size_t>(pick(3))];
    std::vector<Holding> holdings;
    std::vector<std::string> of;
    for (int i = 0; i < 8; ++i) {
      of.push_back(leaves[static_cast<size_t>(pick(3))]);
      holdings.push_back(world.Holds(of.back(), pick(3) + 1));
      holdings.back().leaves = pick(5) == 0;
    }
    std::vector<const Holding*> set;
    for (const Holding& holding : holdings) set.push_back(&holding);
    const std::vector<bool> stay = world.RightsOf(own, 4).StayBeyond(set);
    // The definition, asked once for each, by what is left.
    const auto guarantee = [&](const std::string& queue) {
      return world.ledger().tree().at(world.At(queue)).guarantee[0];
    };
    for (size_t i = 0; i < set.size(); ++i) {
      left[of[i]] -= holdings[i].held[0] / 1000;
      const std::string top = of[i].substr(0, 1);
      bool beyond = Whole(left[of[i]]) > guarantee(of[i]);
      if (top != own.substr(0, 1))
        beyond = beyond && Whole(left[top + "1"] + left[top + "2"]) > guarantee(top);
      REQUIRE(stay[i] == (holdings[i].leaves || of[i] == own || beyond));
      straddle += stay[i] ? 0 : 1;
      if (!stay[i]) left[of[i]] += holdings[i].held[0] / 1000;
    }
  }
  CHECK(straddle > 500);
}

// I1.
TEST_CASE("property: who may evict goes first while both wait", "[queues][R5][property]") {
  std::mt19937 random(7);
  const auto pick = [&](int most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
  };
  int64_t rights_found = 0;
  int64_t by_share = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<QueueSpec> queues;
    for (const char* top : {"p", "q"}) {
      int64_t sum = 0;
      std::vector<QueueSpec> below;
      for (const char* leaf : {"1", "2"}) {
        const int64_t guarantee = pick(6);
        sum += guarantee;
        below.push_back(Reclaims(RightsGuaranteed(std::string(top) + leaf, guarantee, top),
                                 pick(1) == 0 ? Reclaim::kGuarantee : Reclaim::kFairShare));
        below.back().weight = pick(3);
      }
      queues.push_back(RightsGuaranteed(top, sum + pick(4)));
      queues.back().weight = pick(3);
      queues.insert(queues.end(), below.begin(), below.end());
    }
    RightsWorld world(queues, 40);
    const std::vector<std::string> leaves = {"p1", "p2", "q1", "q2"};
    for (const std::string& leaf : leaves) world.Uses(leaf, pick(14));
    const std::string& x = leaves[static_cast<size_t>(pick(3))];
    const std::string& y = leaves[static_cast<size_t>(pick(3))];
    const int64_t held = pick(6) + 1;
    if (x == y || world.ledger().used(world.At(y))[0] < Whole(held)) continue;
    const int64_t asks = pick(7) + 1;
    const Judgement judged = One(world.RightsOf(x, asks), world.Holds(y, held));
    if (judged.right == Right::kNone) continue;
    ++rights_found;
    by_share += judged.right == Right::kFairShare ? 1 : 0;
    // The victim waits again; both are judged with their gangs added.
    Ledger without = world.ledger();
    without.Set(world.At(y), world.Of((without.used(world.At(y))[0] - Whole(held)) / 1000));
    const Standing of_x = StandingOf(without, judged.a, world.Of(asks));
    const Standing of_y = StandingOf(without, judged.b, world.Of(held));
    CHECK(std::is_lt(Compare(of_x, of_y)));
    // And the victim may not take it back: x's gang runs.
    Ledger after = without;
    after.Set(world.At(x), world.Of(after.used(world.At(x))[0] / 1000 + asks));
    Rights back(after, {world.At(y), 0, world.Of(held)});
    CHECK(One(back, world.Holds(x, asks)).right == Right::kNone);
  }
  CHECK(rights_found > 1'000);
  CHECK(by_share > 100);
}

}  // namespace
}  // namespace muster::queues
