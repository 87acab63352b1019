// Which gangs are within their queues' guarantees, and which have borrowed.
#include "engine/standing/covered_gangs.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/queues/queue_builders.hpp"

namespace muster::engine {
namespace {

using cluster::GangId;
using queues::Ledger;
using queues::QueueIndex;
using queues::Tree;
using queues::Vector;
using queues::testing::kH100;
using queues::testing::MakeQueue;
using queues::testing::Whole;

struct CoveredGangsWorld {
  explicit CoveredGangsWorld(const std::vector<queues::QueueSpec>& queues)
      : tree(std::make_shared<const Tree>(queues)), ledger(tree) {}
  Vector Gpus(int64_t gpus, int64_t h100 = 0) const {
    Vector held(tree->resources().size());
    held[Tree::kGpu] = Whole(gpus);
    if (held.size() > 4) held[4] = Whole(h100);
    return held;
  }
  QueueIndex Leaf(const std::string& queue) const { return *tree->Find(queue); }
  static GangId Id(const std::string& name) { return {{"default", name}, false}; }
  void Hold(const std::string& name, const std::string& queue, int64_t gpus, int64_t h100 = 0,
            int64_t priority = 0) {
    covered.Set(*tree, Id(name), {Leaf(queue), priority, false, false, Gpus(gpus, h100)});
    covered.Follow(*tree);
  }
  void Change(const std::string& name, bool stays, bool promised) {
    CoveredGangs::Holding holding = *covered.Find(Id(name));
    holding.stays = stays;
    holding.promised = promised;
    covered.Set(*tree, Id(name), std::move(holding));
    covered.Follow(*tree);
  }
  int64_t Depth(const std::string& name) const { return covered.DepthOf(Id(name)); }

  std::shared_ptr<const Tree> tree;
  Ledger ledger;
  CoveredGangs covered;
};

TEST_CASE("the first gangs of a queue are within its guarantee, the later ones have borrowed",
          "[engine][queues][R14]") {
  CoveredGangsWorld world({MakeQueue("x").Guarantee(8)});
  world.Hold("a", "x", 4);
  world.Hold("b", "x", 4);
  world.Hold("c", "x", 1);
  CHECK(world.Depth("a") == 1);
  CHECK(world.Depth("b") == 1);
  CHECK(world.Depth("c") == 0);
  SECTION("when one of them ends the next comes under the guarantee") {
    world.covered.Remove(CoveredGangsWorld::Id("a"));
    CHECK(world.covered.Follow(*world.tree) == std::set<GangId>{CoveredGangsWorld::Id("c")});
    CHECK(world.Depth("c") == 1);
  }
  SECTION("those on promised nodes come after the others") {
    world.Change("a", false, true);
    CHECK(world.Depth("a") == 0);
    CHECK(world.Depth("c") == 1);
  }
  SECTION("those that are not preemptible come first, and stay") {
    world.Change("c", true, true);
    CHECK(world.Depth("c") == CoveredGangs::kStays);
    CHECK(world.Depth("a") == 1);
    CHECK(world.Depth("b") == 0);
  }
  CHECK(world.covered.Audit(*world.tree).empty());
}

TEST_CASE("a gang that straddles the guarantee has borrowed", "[engine][queues][R14]") {
  CoveredGangsWorld world({MakeQueue("x").Guarantee(8)});
  world.Hold("a", "x", 6);
  world.Hold("b", "x", 4);
  CHECK(world.Depth("b") == 0);
}

TEST_CASE("a gang may be within the guarantee of a queue above, and beyond that of its own",
          "[engine][queues][R14]") {
  CoveredGangsWorld world({MakeQueue("p").Guarantee(16), MakeQueue("x", "p").Guarantee(4),
                           MakeQueue("y", "p").Guarantee(4)});
  world.Hold("x1", "x", 4);
  world.Hold("x2", "x", 4);
  world.Hold("x3", "x", 12);
  CHECK(world.Depth("x1") == 2);
  CHECK(world.Depth("x2") == 1);  // y may have it evicted, who is outside p may not
  CHECK(world.Depth("x3") == 0);
}

TEST_CASE("no device of a model goes while its queue is within its guarantee of that model",
          "[engine][queues][R14]") {
  CoveredGangsWorld world(
      {MakeQueue("x").Guarantee(4).Guarantee(4, kH100), MakeQueue("y").Guarantee(8)});
  world.Hold("a", "x", 4);
  world.Hold("b", "x", 4, 4);
  CHECK(world.Depth("b") == 1);
}

TEST_CASE("what a gang will be is known before it starts", "[engine][queues][R14]") {
  CoveredGangsWorld world({MakeQueue("x").Guarantee(8)});
  const QueueIndex x = world.Leaf("x");
  const auto with = [&](const std::string& name, int64_t more, int64_t priority = 0) {
    return world.covered.DepthWith(world.ledger, CoveredGangsWorld::Id(name), x, priority,
                                   world.Gpus(more), false);
  };
  world.Hold("a", "x", 4);
  world.ledger.Set(x, world.Gpus(4));
  CHECK(with("new", 4) == 1);
  CHECK(with("new", 5) == 0);
  world.Hold("b", "x", 2);
  world.ledger.Set(x, world.Gpus(6));
  CHECK(with("new", 3) == 0);
  CHECK(with("a", 4) == 1);  // it comes before b, whatever b has
  CHECK(with("a", 5) == 0);
  CHECK(with("new", 8, 1) == 1);  // a and b are of lower priority
  CHECK(with("new", 9, 1) == 0);
  world.Hold("c", "x", 2, 0, 1);
  world.ledger.Set(x, world.Gpus(8));
  CHECK(with("new", 6, 1) == 1);
  CHECK(with("new", 7, 1) == 0);
}

TEST_CASE("of gangs of a queue those of higher priority are within its guarantee first",
          "[engine][queues][R14]") {
  CoveredGangsWorld world({MakeQueue("x").Guarantee(8)});
  world.Hold("low", "x", 4);
  world.Hold("high", "x", 8, 0, 1);
  CHECK(world.Depth("low") == 0);
  CHECK(world.Depth("high") == 1);
  world.Change("high", false, true);
  CHECK(world.Depth("high") == 1);  // also where it is on promised nodes
  world.Change("low", true, false);
  CHECK(world.Depth("high") == 0);  // what stays comes before all priorities
  CHECK(world.covered.Audit(*world.tree).empty());
}

}  // namespace
}  // namespace muster::engine
