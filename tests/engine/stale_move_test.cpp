// A move that was planned on what is no more (engine/cycle/moves.hpp): planning runs outside the
// lock.
#include <catch2/catch.hpp>
#include <string>

#include "engine/cycle/commit.hpp"
#include "engine/cycle/engine_state.hpp"
#include "engine/cycle/intake.hpp"
#include "engine/cycle/planning.hpp"
#include "engine/cycle/settle.hpp"
#include "tests/engine/fabric_options.hpp"
#include "tests/support/builders.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;

Options Moving() {
  Options options = testing::WithFabric();
  options.lost_member = LostMember::kMoveGang;
  return options;
}

// Racks a0 and a1 of two nodes of four GPUs; gang "train" ran on a0 and has lost a node there.
struct Lost {
  Lost() {
    for (const std::string node : {"a0x", "a0y", "a1x", "a1y"}) Tell(NodeOf(node));
    cluster::PodGroup group = testing::MakePodGroup("train").MinMember(2);
    group.topology.required = "rack";
    Tell(group);
    Run("train-0", "a0x");
    Run("train-1", "a0y");
    SettleAll();
    Tell(NodeRemoved{NodeOf("a0y").uid});
    Tell(PodRemoved{cluster::PodUid("pod-train-1")});
    Tell(MakePod("train-1").Uid("again").Gpus(4).InGroup("train").Gated().Build());
    SettleAll();
  }
  static cluster::Node NodeOf(const std::string& name) {
    return MakeNode(name).Gpus(4).Label("block", "a").Label("rack", name.substr(0, 2));
  }
  void Tell(const Fact& fact) { Apply(state, fact, now); }
  void Run(const std::string& name, const std::string& node) {
    cluster::Pod pod = MakePod(name).Gpus(4).InGroup("train").BoundTo(node, {0, 1, 2, 3});
    pod.bound_by_muster = true;
    Tell(pod);
  }
  void SettleAll() {
    while (!Settle(state, now)) {
    }
  }
  PlanJob Next() {
    state.queue.End();
    for (int i = 0; i < 100; ++i) {
      Turn turn = NextJob(state, now);
      if (turn.job) return std::move(*turn.job);
    }
    throw std::runtime_error("nobody is to be planned");
  }
  bool moves() const {
    return state.members.gangs().at(GangId{{"default", "train"}, false}).course.relocating;
  }

  EngineState state{Moving()};
  cluster::Time now{1'800'000'000'000};
  policy::Placer placer{Moving().placement};
};

TEST_CASE("a gang is moved where its room is there when the plan is taken up",
          "[engine][fabric][repair]") {
  Lost world;
  const PlanJob job = world.Next();
  const PlanResult plan = Plan(world.placer, job);
  REQUIRE(plan.move);
  SECTION("nothing happened meanwhile") {}
  SECTION("what happened meanwhile is elsewhere") {
    world.Tell(MakePod("other").Scheduler("other").BoundTo("a0x").Build());
  }
  Commit(world.state, job, plan, world.now);
  CHECK(world.moves());
}

TEST_CASE("nobody is evicted for a move whose room has gone since it was planned",
          "[engine][fabric][repair]") {
  Lost world;
  const PlanJob job = world.Next();
  const PlanResult plan = Plan(world.placer, job);
  REQUIRE(plan.move);
  SECTION("a node was cordoned") {
    cluster::Node node = Lost::NodeOf("a1x");
    node.unschedulable = true;
    world.Tell(node);
  }
  SECTION("another scheduler's pod has it") {
    world.Tell(MakePod("other").Gpus(1).Scheduler("other").BoundTo("a1y", {0}).Build());
  }
  Commit(world.state, job, plan, world.now);
  CHECK_FALSE(world.moves());
  const PlanJob again = world.Next();  // it has another turn
  const PlanResult second = Plan(world.placer, again);
  CHECK_FALSE(second.move);
  Commit(world.state, again, second, world.now);
  CHECK_FALSE(world.moves());
}

}  // namespace
}  // namespace muster::engine
