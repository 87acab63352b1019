// R2 by hand, in GPUs: C = 100 everywhere.
#include "queues/tournament.hpp"

#include <catch2/catch.hpp>
#include <list>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kGpu;
using testing::kH100;
using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

class TournamentWorld {
 public:
  explicit TournamentWorld(const std::vector<QueueSpec>& queues)
      : tree_(TreeOf(queues)), ledger_(tree_), tournament_(ledger_) {
    ledger_.SetCapacity(Vector(tree_->resources().size(), Whole(100)));
  }
  Vector Of(int64_t gpus, int64_t cores = 0, int64_t h100 = 0) const {
    Vector some(tree_->resources().size());
    some[0] = Whole(gpus);
    some[2] = Whole(cores);
    if (some.size() > 4) some[4] = Whole(h100);
    return some;
  }
  void Uses(const std::string& queue, const Vector& amount) {
    ledger_.Set(*tree_->Find(queue), amount);
    tournament_.Judge(*tree_->Find(queue));
  }
  void Uses(const std::string& queue, int64_t gpus) { Uses(queue, Of(gpus)); }
  void Waits(const std::string& queue, const Vector& asks, int64_t priority = 0,
             int64_t created = 0) {
    orders_.push_back({priority, false, true, created, {{"default", queue}, false}});
    tournament_.SetHead(*tree_->Find(queue), &orders_.back(), asks);
  }
  void Waits(const std::string& queue, int64_t gpus, int64_t priority = 0, int64_t created = 0) {
    Waits(queue, Of(gpus), priority, created);
  }
  void Leaves(const std::string& queue) { tournament_.SetHead(*tree_->Find(queue), nullptr, {}); }
  std::string First() const {
    const auto winner = tournament_.Winner();
    return winner ? tree_->at(*winner).name : "";
  }
  // "a 0.25, b 0.5": the children's candidates in order.
  std::string Below(const std::string& queue) const {
    std::string text;
    for (const Candidate& one : tournament_.Candidates(*tree_->Find(queue))) {
      text += (text.empty() ? "" : ", ") + tree_->at(one.child).name + " " +
              (one.standing.within ? "within" : Show(one.standing.b));
    }
    return text;
  }

 private:
  std::shared_ptr<const Tree> tree_;
  Ledger ledger_;
  Tournament tournament_;
  std::list<OrderKey> orders_;
};

TEST_CASE("R2: the queue that is furthest below its share goes first, with the gang added",
          "[queues][R2]") {
  TournamentWorld world({MakeQueue("a").Weight(2), MakeQueue("b")});
  world.Waits("a", 10);
  world.Waits("b", 10);
  CHECK(world.Below("root") == "a 0.050, b 0.100");
  world.Uses("a", 10);  // 20 / 200 against 10 / 100: equal, and so by id
  CHECK(world.Below("root") == "a 0.100, b 0.100");
  world.Uses("a", 11);
  CHECK(world.First() == "b");
  // A small gang of the other comes first: it is judged with what it asks for.
  world.Waits("a", 8);
  CHECK(world.Below("root") == "a 0.095, b 0.100");
  world.Leaves("a");
  CHECK(world.First() == "b");
  world.Leaves("b");
  CHECK(world.First().empty());
}

TEST_CASE("R2: who is within the guarantee of a model that it names is so whatever else it has",
          "[queues][R2]") {
  TournamentWorld world({MakeQueue("a").Guarantee(8, kH100), MakeQueue("b").Guarantee(8)});
  world.Uses("a", world.Of(8, 0, 0));
  world.Waits("a", world.Of(4, 0, 4));
  CHECK(world.Below("root") == "a within");
  world.Waits("a", world.Of(9, 0, 9));
  CHECK(world.Below("root") == "a 0.090");
  world.Waits("a", world.Of(4));  // of any kind
  CHECK(world.Below("root") == "a 0.040");
}

TEST_CASE("R2: who is within the guarantee goes first, with the gang added", "[queues][R2]") {
  TournamentWorld world({MakeQueue("a").Guarantee(20), MakeQueue("b")});
  world.Uses("a", 12);
  world.Waits("a", 8);
  world.Waits("b", 1);
  CHECK(world.Below("root") == "a within, b 0.010");
  world.Waits("a", 9);  // 1 over
  CHECK(world.Below("root") == "a 0.010, b 0.010");
  world.Uses("a", 13);
  CHECK(world.Below("root") == "b 0.010, a 0.020");
}

TEST_CASE("R2: three levels: the tournament is decided at the common ancestor", "[queues][R2]") {
  TournamentWorld world({MakeQueue("p").Weight(3), MakeQueue("q"), MakeQueue("a", "p"),
                         MakeQueue("b", "p"), MakeQueue("c", "q")});
  world.Uses("a", 20);
  world.Uses("b", 10);
  world.Waits("a", 1);
  world.Waits("b", 10);
  world.Waits("c", 10);
  // In p it is b (0.2 against 0.21); p with b's gang 40 / 300, q with c's 10 / 100.
  CHECK(world.Below("p") == "b 0.200, a 0.210");
  CHECK(world.Below("root") == "q 0.100, p 0.133");
  CHECK(world.First() == "c");
  world.Uses("c", 5);
  CHECK(world.First() == "b");
}

TEST_CASE("R2: guarantees and weights of 0 below others", "[queues][R2]") {
  TournamentWorld world({MakeQueue("p").Guarantee(10).Weight(2), MakeQueue("q"),
                         MakeQueue("p1", "p").Guarantee(10), MakeQueue("p2", "p").Weight(3),
                         MakeQueue("a", "p1"), MakeQueue("b", "p1").Weight(0),
                         MakeQueue("c", "q")});
  world.Uses("a", 9);
  world.Uses("p2", 30);
  world.Uses("c", 10);
  world.Waits("a", 1, 0, 2);
  world.Waits("b", 1, 9, 0);
  world.Waits("p2", 4, 0, 0);
  world.Waits("c", 5, 0, 1);
  // With a's gang p1 is within its guarantee and p is 30 over, of 2 · 100; q is 15 over: equal, and
  // c's gang is older.
  CHECK(world.Below("p1") == "a 0.100, b 0.010");
  CHECK(world.Below("p") == "p1 within, p2 0.113");
  CHECK(world.Below("root") == "q 0.150, p 0.150");
  CHECK(world.First() == "c");
  world.Uses("c", 15);
  CHECK(world.Below("root") == "p 0.150, q 0.200");
  CHECK(world.First() == "a");
  // 1 over, p1 is still before p2.
  world.Uses("a", 10);
  CHECK(world.Below("p") == "p1 0.010, p2 0.113");
  CHECK(world.Below("root") == "p 0.155, q 0.200");
  // Nobody is left in p1 but the one without weight, which matters in p1 alone.
  world.Leaves("a");
  CHECK(world.Below("p") == "p1 0.010, p2 0.113");
  CHECK(world.First() == "b");
}

TEST_CASE("R2: the dominant resource decides, each as it counts", "[queues][R2]") {
  TournamentWorld world({MakeQueue("root").Counts(kH100, 4), MakeQueue("a"), MakeQueue("b"),
                         MakeQueue("c").Counts(kH100, 0)});
  world.Waits("a", world.Of(2, 30));      // 30 cores of 100
  world.Waits("b", world.Of(8, 1, 8));    // 8 H100 of 100, four times
  world.Waits("c", world.Of(31, 1, 31));  // of which H100 do not count
  CHECK(world.Below("root") == "a 0.300, c 0.310, b 0.320");
}

TEST_CASE("R2: only resources that somebody is guaranteed decide who is within", "[queues][R2]") {
  TournamentWorld world({MakeQueue("a").Guarantee(20), MakeQueue("b")});
  // Nobody is guaranteed cores.
  world.Waits("a", world.Of(8, 64));
  world.Waits("b", world.Of(8, 1));
  CHECK(world.Below("root") == "a within, b 0.080");
  // A gang that asks for cores alone is no more within than others.
  world.Waits("b", world.Of(0, 1));
  world.Waits("a", world.Of(0, 64));
  CHECK(world.Below("root") == "b 0.010, a 0.640");
}

TEST_CASE("R2: weight 0 comes after all that have one", "[queues][R2]") {
  TournamentWorld world({MakeQueue("a").Weight(0), MakeQueue("b"), MakeQueue("c").Weight(0)});
  world.Uses("b", 90);
  world.Waits("a", 2);
  world.Waits("b", 1);
  world.Waits("c", 1);
  CHECK(world.Below("root") == "b 0.910, c 0.010, a 0.020");
}

TEST_CASE("R2: of equal ones priority, age and id decide; in a queue of order fifo these alone",
          "[queues][R2]") {
  TournamentWorld world({MakeQueue("a"), MakeQueue("b"), MakeQueue("c")});
  world.Waits("a", 1, 0, 5);
  world.Waits("b", 1, 0, 4);
  world.Waits("c", 1, 1, 6);
  CHECK(world.Below("root") == "c 0.010, b 0.010, a 0.010");
  TournamentWorld fifo({MakeQueue("root").In(Order::kFifo), MakeQueue("a"), MakeQueue("b")});
  fifo.Uses("a", 50);
  fifo.Waits("a", 1, 0, 1);
  fifo.Waits("b", 1, 0, 2);
  CHECK(fifo.First() == "a");
}

TEST_CASE("R2: what the cluster has nothing of counts as far over any share", "[queues][R2]") {
  TournamentWorld world({MakeQueue("a").Counts(kH100, 1), MakeQueue("b")});
  world.Uses("b", 99);
  world.Waits("a", world.Of(1, 1, 1));
  world.Waits("b", world.Of(1, 1));
  CHECK(world.First() == "a");
}

}  // namespace
}  // namespace muster::queues
