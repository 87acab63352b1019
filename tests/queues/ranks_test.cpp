// R5 with priorities, in GPUs: what a victim could have evicted itself counts as gone. Without that
// a victim comes back within the guarantee in place of it, and has others evicted in turn.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "queues/rights.hpp"
#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

struct Held {
  std::string queue;
  int64_t gpus = 0;
  int64_t priority = 0;
};

class RanksWorld {
 public:
  RanksWorld(const std::vector<QueueSpec>& queues, const std::vector<Held>& held)
      : tree_(TreeOf(queues)), ledger_(tree_) {
    ledger_.SetCapacity(Vector(tree_->resources().size(), Whole(100)));
    for (const Held& one : held) {
      const QueueIndex leaf = At(one.queue);
      ledger_.Set(leaf, Tree::kGpu, ledger_.used(leaf)[Tree::kGpu] + Whole(one.gpus));
      Vector& rank = ranks_[leaf][one.priority];
      rank.resize(tree_->resources().size());
      rank[Tree::kGpu] += Whole(one.gpus);
      holdings_.push_back({leaf, one.priority, Of(one.gpus)});
    }
  }
  QueueIndex At(const std::string& queue) const { return *tree_->Find(queue); }
  Vector Of(int64_t gpus) const {
    Vector some(tree_->resources().size());
    some[Tree::kGpu] = Whole(gpus);
    return some;
  }
  Rights RightsOf(const std::string& queue, int64_t gpus, std::vector<Holding> going = {}) const {
    Rights rights(ledger_, {At(queue), 0, Of(gpus)}, std::move(going));
    for (const auto& [leaf, ranks] : ranks_) rights.SetRanks(leaf, ranks);
    return rights;
  }
  const Holding& operator[](size_t i) const { return holdings_[i]; }
  size_t size() const { return holdings_.size(); }
  const Tree& tree() const { return *tree_; }
  const Ledger& ledger() const { return ledger_; }

 private:
  std::shared_ptr<const Tree> tree_;
  Ledger ledger_;
  std::map<QueueIndex, Ranks> ranks_;
  std::vector<Holding> holdings_;
};

QueueSpec Guaranteed(const std::string& name, int64_t gpus, const std::string& parent = "") {
  return MakeQueue(name, parent).Guarantee(gpus);
}

std::vector<bool> Lawful(Rights rights, const std::vector<const Holding*>& set) {
  std::vector<bool> lawful;
  for (const Judgement& judged : rights.JudgeAll(set))
    lawful.push_back(judged.right != Right::kNone);
  return lawful;
}

TEST_CASE("R5: a gang does not go whose queue is beyond its guarantee by lower priorities alone",
          "[queues][R5]") {
  // 8 and 4 of a guarantee of 10.
  const std::vector<QueueSpec> queues = {Guaranteed("x", 8), Guaranteed("y", 10)};
  const RanksWorld world(queues, {{"y", 8, 1}, {"y", 4, 0}});
  CHECK(Lawful(world.RightsOf("x", 8), {&world[0]}) == std::vector{false});
  CHECK(Lawful(world.RightsOf("x", 8), {&world[1]}) == std::vector{true});
  const Judgement denied = world.RightsOf("x", 8).JudgeAll({&world[0]}).front();
  CHECK(Describe(world.tree(), denied) ==
        "queue y is beyond its guarantee only by gangs of lower priority");
  SECTION("of the same priority either may go") {
    const RanksWorld equal(queues, {{"y", 8, 1}, {"y", 4, 1}});
    CHECK(Lawful(equal.RightsOf("x", 8), {&equal[0]}) == std::vector{true});
    CHECK(Lawful(equal.RightsOf("x", 8), {&equal[1]}) == std::vector{true});
  }
  SECTION("nor where its queue does not let it have them evicted") {
    std::vector<QueueSpec> calm = queues;
    calm[1].preemption.within_queue = WithinQueue::kNever;
    const RanksWorld never(calm, {{"y", 8, 1}, {"y", 4, 0}});
    CHECK(Lawful(never.RightsOf("x", 8), {&never[0]}) == std::vector{true});
  }
  SECTION("where it is beyond without them both go, the lower one first") {
    const RanksWorld more({Guaranteed("x", 16), Guaranteed("y", 6)}, {{"y", 8, 1}, {"y", 4, 0}});
    CHECK(Lawful(more.RightsOf("x", 12), {&more[0], &more[1]}) == std::vector{true, true});
    Rights in_order = more.RightsOf("x", 12);
    CHECK(in_order.JudgeInOrder({&more[0], &more[1]})[1].right == Right::kNone);
  }
  SECTION("what leaves for others is no reason any more") {
    const RanksWorld third({Guaranteed("x", 8), Guaranteed("y", 10)},
                           {{"y", 8, 1}, {"y", 4, 0}, {"y", 3, 1}});
    // 8 + 3 without the lower one; it leaves for another gang, and is counted once.
    CHECK(Lawful(third.RightsOf("x", 8, {third[1]}), {&third[0]}) == std::vector{true});
    CHECK(Lawful(third.RightsOf("x", 8, {third[1], third[2]}), {&third[0]}) == std::vector{false});
  }
}

TEST_CASE("R5: lower priorities of a cousin do not count as gone", "[queues][R5]") {
  // A gang of y1 evicts nobody of y2 by priority.
  const RanksWorld world(
      {Guaranteed("x", 8), Guaranteed("y", 8), Guaranteed("y1", 4, "y"), Guaranteed("y2", 4, "y")},
      {{"y1", 6, 1}, {"y2", 6, 0}});
  CHECK(Lawful(world.RightsOf("x", 6), {&world[0]}) == std::vector{true});
  CHECK(Lawful(world.RightsOf("x", 6), {&world[0], &world[1]}) == std::vector{true, false});
}

TEST_CASE("R5: fair-share compares with what the other queue has without lower priorities",
          "[queues][R5]") {
  QueueSpec fair = Guaranteed("x", 0);
  fair.preemption.reclaim = Reclaim::kFairShare;
  const std::vector<QueueSpec> queues = {fair, Guaranteed("y", 0)};
  const RanksWorld world(queues, {{"y", 8, 1}, {"y", 4, 0}, {"y", 4, 1}});
  // 4 of x against 16 - 8 - 4; 5 would be more than the 4 that are left.
  CHECK(Lawful(world.RightsOf("x", 4), {&world[0]}) == std::vector{true});
  CHECK(Lawful(world.RightsOf("x", 5), {&world[0]}) == std::vector{false});
  CHECK(Lawful(world.RightsOf("x", 5), {&world[1]}) == std::vector{true});
}

TEST_CASE("property: a set is lawful if it is in any order", "[queues][R7][property]") {
  std::mt19937 random(11);
  const auto pick = [&](int most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
  };
  int64_t lawful = 0;
  int64_t unlawful = 0;
  for (int round = 0; round < 4'000; ++round) {
    std::vector<Held> held;
    for (int i = 0; i < 6; ++i) held.push_back({pick(1) == 0 ? "y1" : "y2", 1 + pick(5), pick(2)});
    const int64_t y1 = pick(5);
    const int64_t y2 = pick(5);
    const RanksWorld world({Guaranteed("x", 80), Guaranteed("y", y1 + y2 + pick(4)),
                            Guaranteed("y1", y1, "y"), Guaranteed("y2", y2, "y")},
                           held);
    Rights rights = world.RightsOf("x", 8);
    std::vector<const Holding*> set;
    for (size_t i = 0; i < world.size(); ++i) {
      if (pick(2) > 0) set.push_back(&world[i]);
    }
    std::vector<const Holding*> order = set;
    std::sort(order.begin(), order.end());
    bool any = set.empty();
    do {
      const std::vector<Judgement> judged = rights.JudgeInOrder(order);
      any = any || std::all_of(judged.begin(), judged.end(),
                               [](const Judgement& one) { return one.right != Right::kNone; });
    } while (!any && std::next_permutation(order.begin(), order.end()));
    const std::vector<bool> judged = Lawful(rights, set);
    REQUIRE(std::all_of(judged.begin(), judged.end(), [](bool one) { return one; }) == any);
    ++(any ? lawful : unlawful);
  }
  CHECK(lawful > 500);
  CHECK(unlawful > 500);
}

// Why victims do not come back and take in turn: with all that it outranks gone, a victim that is
// back has its queue beyond the guarantee again.
TEST_CASE("property: who is evicted for a guarantee cannot take it back",
          "[queues][R5][property]") {
  std::mt19937 random(13);
  const auto pick = [&](int most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
  };
  int64_t taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Held> held;
    for (int i = 0; i < 6; ++i) held.push_back({pick(2) == 0 ? "x" : "y", 1 + pick(5), pick(2)});
    const std::vector<QueueSpec> queues = {Guaranteed("x", pick(16)), Guaranteed("y", pick(16))};
    const RanksWorld world(queues, held);
    const int64_t asks = 1 + pick(5);
    const size_t victim = static_cast<size_t>(pick(5));
    if (held[victim].queue == "x") continue;
    if (!Lawful(world.RightsOf("x", asks), {&world[victim]}).front()) continue;
    ++taken;
    std::vector<Held> later = held;
    later[victim] = {"x", asks, 0};
    later.push_back({"y", pick(4), 0});  // whatever comes there on what is left over
    const RanksWorld after(queues, later);
    const int64_t priority = held[victim].priority;
    Rights back(after.ledger(), {after.At("y"), priority, after.Of(held[victim].gpus)});
    std::vector<const Holding*>
        all;  // of its own leaf all that it may have evicted, then x's gangs
    for (const char* queue : {"y", "x"}) {
      for (size_t i = 0; i < after.size(); ++i) {
        const bool may = later[i].queue == "x" || later[i].priority < priority;
        if (later[i].queue == queue && later[i].gpus > 0 && may) all.push_back(&after[i]);
      }
    }
    const std::vector<Judgement> judged = back.JudgeInOrder(all);
    for (size_t i = 0; i < all.size(); ++i) CHECK(judged[i].right != Right::kGuarantee);
  }
  CHECK(taken > 1'000);
}

}  // namespace
}  // namespace muster::queues
