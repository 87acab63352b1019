#include "engine/standing/reservations.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/gang_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using testing::GangWorld;
using testing::MakeNode;

struct ReservationsPair : GangWorld {
  ReservationsPair() : GangWorld(2) {
    Tell(MakeNode("n0").Gpus(8).Build());
    AddPod("a");
    AddPod("b");
    Count();
  }
  bool Reserved(const std::string& name) {
    return state.cluster.AllocationOf(member(name).uid) != nullptr;
  }
  std::vector<std::string> Audit() {
    std::vector<std::string> broken;
    state.reservations.Audit(gang(), true, false, broken);
    return broken;
  }
};

TEST_CASE("a plan is given back whole, and what was held for it is refused",
          "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0", world.now + Seconds(120));
  CHECK(world.gang().plan->made == 1);
  CHECK(world.Audit().empty());
  world.state.writes.Hold(world.member("a"), 7, cluster::Time::Never());
  world.state.reservations.GiveBack(world.gang(), "why");
  CHECK_FALSE(world.Reserved("a"));
  CHECK_FALSE(world.Reserved("b"));
  CHECK_FALSE(world.member("a").planned());
  CHECK_FALSE(world.gang().plan->deadline);
  CHECK(world.Audit().empty());
  const std::vector<Action> actions = world.state.writes.Take();
  REQUIRE(actions.size() == 1);
  CHECK(std::get<AnswerBind>(actions.front()).error == "why");
}

TEST_CASE("a member that may be bound keeps its reservation, whatever becomes of the plan",
          "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0");
  world.state.writes.Begin(world.member("a"), WriteKind::kBind);
  world.state.reservations.GiveBack(world.gang(), "why");
  CHECK(world.Reserved("a"));
  CHECK_FALSE(world.Reserved("b"));
  CHECK(world.Audit().empty());
}

TEST_CASE("a node that is made again under a binding keeps the room for it",
          "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0");
  world.state.writes.Begin(world.member("a"), WriteKind::kBind);
  world.Tell(MakeNode("n0").Uid("second").Gpus(8).Build());
  CHECK(world.Reserved("a"));
  CHECK_FALSE(world.Reserved("b"));
  CHECK(world.gang().plan->needs_recheck);
}

TEST_CASE("a plan holds as long as its nodes take its pods", "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0");
  CHECK(world.state.reservations.Holds(world.gang(), false));
  SECTION("the node is cordoned") {
    world.Tell(MakeNode("n0").Gpus(8).Cordoned().Build());
    CHECK_FALSE(world.state.reservations.Holds(world.gang(), false));
  }
  SECTION("a device that is planned is gone") {
    world.Tell(MakeNode("n0").Gpus(1).Build());
    CHECK_FALSE(world.state.reservations.Holds(world.gang(), false));
  }
  SECTION("a label came") {
    world.Tell(MakeNode("n0").Gpus(8).Label("a", "b").Build());
    CHECK(world.state.reservations.Holds(world.gang(), false));
  }
}

TEST_CASE("all are nominated once every planned member was", "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0");
  world.state.reservations.Nominated(world.member("a"), true);
  world.state.reservations.CountNominated(world.gang(), 2);
  CHECK_FALSE(world.gang().plan->all_nominated);
  world.state.reservations.Nominated(world.member("b"), true);
  world.state.reservations.CountNominated(world.gang(), 2);
  CHECK(world.gang().plan->all_nominated);
  // kube-scheduler may clear a nomination later: gates stay open.
  world.state.reservations.Nominated(world.member("b"), false);
  world.state.reservations.CountNominated(world.gang(), 2);
  CHECK(world.gang().plan->all_nominated);
  world.state.reservations.CountNominated(world.gang(), 0);
  CHECK_FALSE(world.gang().plan->all_nominated);
}

TEST_CASE("a member pauses as long as it held room in vain, then twice as long",
          "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0");
  Member& member = world.member("a");
  const cluster::Time later = world.now + Seconds(120);
  world.state.reservations.Pause(member, Seconds(120), later);
  CHECK(member.plan->pauses_until == later + Seconds(120));
  world.state.reservations.Pause(member, Seconds(120), later);
  CHECK(member.plan->pauses_until == later + Seconds(240));
  world.state.reservations.EndPauses(world.gang(), later + Seconds(239));
  CHECK(member.plan->pauses_until);
  world.state.reservations.EndPauses(world.gang(), later + Seconds(240));
  CHECK_FALSE(member.plan->pauses_until);
  // It held room for longer, because the time before was not enough.
  world.state.reservations.Pause(member, Seconds(10), later);
  CHECK(member.plan->pauses_until == later + Seconds(40));
}

TEST_CASE("the audit sees a reservation that no plan knows of", "[engine][reservations]") {
  ReservationsPair world;
  world.Plan({"a", "b"}, "n0");
  world.state.cluster.Release(world.member("a").uid);
  CHECK(world.Audit() ==
        std::vector<std::string>{"pod default/a has a plan without a reservation or earmark"});
}

}  // namespace
}  // namespace muster::engine
