// R3 by hand, in GPUs.
#include "queues/ledger.hpp"

#include <catch2/catch.hpp>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kCpu;
using testing::kH100;
using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

class World {
 public:
  World(const std::vector<QueueSpec>& queues, int64_t capacity)
      : tree_(TreeOf(queues)), ledger_(tree_) {
    Vector all(tree_->resources().size(), INT64_MAX);
    all[0] = Whole(capacity);
    ledger_.SetCapacity(all);
  }
  void Uses(const std::string& queue, int64_t gpus) { ledger_.Set(*tree_->Find(queue), Of(gpus)); }
  Ledger& ledger() { return ledger_; }
  Vector Of(int64_t gpus, int64_t cores = 0, int64_t h100 = 0) const {
    Vector some(tree_->resources().size());
    some[0] = Whole(gpus);
    some[2] = Whole(cores);
    if (some.size() > 4) some[4] = Whole(h100);
    return some;
  }
  // Why a gang of `queue` that asks for so much may not start: "limit of p: 9 of 8".
  std::string Asks(const std::string& queue, const Vector& asks) const {
    const auto excess = ledger_.Exceeds(*tree_->Find(queue), asks);
    if (!excess) return "";
    const Resource& resource = tree_->resources()[excess->resource];
    return std::string(excess->kind == Excess::Kind::kLimit ? "limit" : "kept") + " of " +
           tree_->at(excess->queue).name + " in " + ToString(resource) + ": " +
           ShowAmount(resource, excess->would) + " of " + ShowAmount(resource, excess->most);
  }
  std::string Asks(const std::string& queue, int64_t gpus) const { return Asks(queue, Of(gpus)); }

 private:
  std::shared_ptr<const Tree> tree_;
  Ledger ledger_;
};

TEST_CASE("R3: a gang starts only if no queue on its path is over its limit", "[queues][R3]") {
  World world({MakeQueue("root").AtMost(20), MakeQueue("p").AtMost(8),
               MakeQueue("a", "p").AtMost(6), MakeQueue("b", "p"), MakeQueue("q")},
              100);
  CHECK(world.Asks("a", 6).empty());
  CHECK(world.Asks("a", 7) == "limit of a in gpu: 7 of 6");
  world.Uses("a", 6);
  CHECK(world.Asks("b", 2).empty());
  CHECK(world.Asks("b", 3) == "limit of p in gpu: 9 of 8");
  CHECK(world.Asks("q", 14).empty());
  CHECK(world.Asks("q", 15) == "limit of root in gpu: 21 of 20");
  // Over its limit already, after a change of the policy: what needs no GPU may start.
  world.Uses("b", 5);
  CHECK(world.Asks("b", 1) == "limit of p in gpu: 12 of 8");
  CHECK(world.Asks("b", world.Of(0, 4)).empty());
  world.Uses("a", 0);
  CHECK(world.Asks("b", 3).empty());
}

TEST_CASE("R3: limits are of each resource", "[queues][R3]") {
  World world({MakeQueue("a").AtMost(8).AtMost(2, kH100).AtMost(16, kCpu)}, 100);
  CHECK(world.Asks("a", world.Of(8, 16, 2)).empty());
  CHECK(world.Asks("a", world.Of(8, 17, 2)) == "limit of a in cpu: 17 of 16");
  CHECK(world.Asks("a", world.Of(8, 16, 3)) == "limit of a in gpu/h100: 3 of 2");
}

TEST_CASE("R3: what a queue does not lend is never borrowed", "[queues][R3][lend]") {
  // Of 16, a is guaranteed 8 and lends 4 of them.
  World world({MakeQueue("a").Guarantee(8).Lend(4), MakeQueue("b"), MakeQueue("c")}, 16);
  CHECK(world.Asks("b", 12).empty());
  CHECK(world.Asks("b", 13) == "kept of root in gpu: 13 of 12");
  world.Uses("b", 12);
  CHECK(world.Asks("c", 1) == "kept of root in gpu: 1 of 0");
  // What is kept is a's own,
  CHECK(world.Asks("a", 4).empty());
  world.Uses("a", 3);
  CHECK(world.Asks("c", 1) == "kept of root in gpu: 1 of 0");
  // and when it is used nothing is kept any more: whether there is room is not asked here.
  world.Uses("a", 4);
  CHECK(world.Asks("c", 1).empty());
  // a goes over what it keeps, and comes back.
  world.Uses("b", 0);
  world.Uses("a", 10);
  CHECK(world.Asks("c", 6).empty());
  world.Uses("a", 0);
  CHECK(world.Asks("c", 13) == "kept of root in gpu: 13 of 12");
}

TEST_CASE("R3: what a queue keeps is kept from its siblings within their parent's limit too",
          "[queues][R3][lend]") {
  World world({MakeQueue("p").Guarantee(8).AtMost(10), MakeQueue("a", "p").Guarantee(8).Lend(4),
               MakeQueue("b", "p"), MakeQueue("q")},
              100);
  CHECK(world.Asks("b", 6).empty());
  CHECK(world.Asks("b", 7) == "kept of p in gpu: 7 of 6");
  world.Uses("b", 6);
  CHECK(world.Asks("a", 4).empty());
  CHECK(world.Asks("a", 5) == "limit of p in gpu: 11 of 10");
  // From those outside, the same is kept at the root.
  CHECK(world.Asks("q", 90).empty());
  CHECK(world.Asks("q", 91) == "kept of root in gpu: 91 of 90");
}

TEST_CASE("R3: what is kept at several levels is kept once", "[queues][R3][lend]") {
  World world({MakeQueue("p").Guarantee(20).Lend(10).AtMost(30), MakeQueue("q"),
               MakeQueue("p1", "p").Guarantee(8).Lend(2), MakeQueue("p2", "p").Guarantee(4).Lend(0),
               MakeQueue("a", "p1").Guarantee(5).Lend(0), MakeQueue("b", "p1")},
              50);
  // a keeps 5, p1 6 with these, p2 4, and p the 10 of both.
  CHECK(world.Asks("q", 40).empty());
  CHECK(world.Asks("q", 41) == "kept of root in gpu: 41 of 40");
  // b has 1 of the 6 of p1, and 20 more of p's limit of 30.
  CHECK(world.Asks("b", 21).empty());
  CHECK(world.Asks("b", 22) == "kept of p in gpu: 21 of 20");
  world.Uses("b", 21);
  CHECK(world.Asks("q", 20).empty());
  CHECK(world.Asks("q", 21) == "kept of root in gpu: 21 of 20");
  CHECK(world.Asks("a", 5).empty());
  CHECK(world.Asks("a", 6) == "kept of p in gpu: 1 of 0");
  CHECK(world.Asks("p2", 4).empty());
  CHECK(world.Asks("p2", 5) == "kept of p in gpu: 1 of 0");
  world.Uses("a", 5);
  world.Uses("p2", 4);
  CHECK(world.Asks("a", 1) == "limit of p in gpu: 31 of 30");
}

TEST_CASE("R3: with nodes down, and with pods that are in no queue", "[queues][R3][lend]") {
  World world(
      {MakeQueue("a").Guarantee(8).Lend(0), MakeQueue("b").Guarantee(8).Lend(0), MakeQueue("c")},
      10);
  // Each may use what is kept for it, even where there is not enough for both.
  CHECK(world.Asks("a", 8).empty());
  CHECK(world.Asks("c", 1) == "kept of root in gpu: 1 of 0");
  World more({MakeQueue("a").Guarantee(8).Lend(0), MakeQueue("c")}, 16);
  more.ledger().SetForeign(more.Of(6));
  CHECK(more.Asks("c", 2).empty());
  CHECK(more.Asks("c", 3) == "kept of root in gpu: 3 of 2");
}

}  // namespace
}  // namespace muster::queues
