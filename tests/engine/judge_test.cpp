#include "engine/judging/judge.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "engine/claims/booking_rules.hpp"
#include "tests/engine/gang_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using testing::GangWorld;
using testing::MakeNode;

// Two members of two, and a node for both.
struct Pair : GangWorld {
  explicit Pair(Options options = {}) : GangWorld(2, std::move(options)) {
    Tell(MakeNode("n0").Gpus(8).Build());
    AddPod("a");
    AddPod("b");
  }
};

TEST_CASE("a gang is Forming until its minimum is there, then it waits for its turn",
          "[engine][judge]") {
  GangWorld world(2);
  world.AddPod("a");
  Verdict verdict = world.Judge();
  CHECK(verdict.state == GangState::kForming);
  CHECK(verdict.reason == Because(ReasonCode::kWaitingForMembers, 1, 2));
  CHECK(verdict.untried);
  CHECK_FALSE(verdict.pending);
  world.AddPod("b");
  verdict = world.Judge();
  CHECK(verdict.state == GangState::kQueued);
  CHECK(verdict.reason.code == ReasonCode::kNotTried);
  CHECK(verdict.pending);
  CHECK(verdict.course.queued_at == world.now);
}

TEST_CASE("judging changes nothing and says the same again", "[engine][judge]") {
  Pair world;
  world.Count();
  const Verdict once = world.Judge();
  const Verdict again = world.Judge();
  CHECK(once.state == again.state);
  CHECK_FALSE(world.gang().course.queued_at);
  CHECK(world.gang().state == GangState::kForming);
}

TEST_CASE("what planning found stays the reason until planning finds another", "[engine][judge]") {
  Pair world;
  world.gang().state = GangState::kQueued;
  PendingQueue::Tried(world.gang());
  CHECK(world.Judge().keep);
  PendingQueue::ForgetTry(world.gang());
  CHECK_FALSE(world.Judge().keep);
}

TEST_CASE("what is in the way of a whole gang is its reason", "[engine][judge]") {
  Pair world;
  world.Count();
  Surroundings around = world.Around();
  const auto judge = [&] { return Judge(world.gang(), around, Stage::kHeldCalls); };
  SECTION("its namespace") {
    around.namespace_bar = Because(ReasonCode::kNamespaceForbidden, 0, 0, "default");
    CHECK(judge().state == GangState::kForbidden);
    CHECK_FALSE(judge().pending);
  }
  SECTION("a pod that is not fenced") {
    around.fence_bar = Because(ReasonCode::kPodNotFenced, 0, 0, "pod a");
    CHECK(judge().state == GangState::kQueued);
    CHECK(judge().reason.code == ReasonCode::kPodNotFenced);
    CHECK_FALSE(judge().pending);
  }
  SECTION("the API server says nothing") {
    around.stale_resources = "pods";
    CHECK(judge().reason == Because(ReasonCode::kWatchStale, 0, 0, "pods"));
    CHECK(judge().pending);
  }
  SECTION("its PodGroup is gone") {
    around.group = nullptr;
    REQUIRE(judge().step);
    CHECK(judge().step->kind == Step::Kind::kDrop);
    CHECK(Judge(world.gang(), around, judge().resume).reason.code == ReasonCode::kPodGroupMissing);
  }
  SECTION("a failed start") {
    world.gang().course.Fail(Because(ReasonCode::kBindFailed), world.state.options, world.now);
    CHECK(judge().state == GangState::kBackoff);
    CHECK(judge().reason.code == ReasonCode::kBindFailed);
  }
}

TEST_CASE("a whole plan goes from nomination to the barrier", "[engine][judge]") {
  Pair world;
  world.Plan({"a", "b"}, "n0");
  CHECK(world.Judge().state == GangState::kReserved);
  CHECK(world.Judge().reason == Because(ReasonCode::kNominating, 0, 2));
  for (const char* name : {"a", "b"}) world.state.reservations.Nominated(world.member(name), true);
  CHECK(world.Judge().reason == Because(ReasonCode::kReleasing, 0, 2));
  world.state.writes.Hold(world.member("a"), 1, cluster::Time::Never());
  CHECK_FALSE(world.Judge().barrier_open);
  world.state.writes.Hold(world.member("b"), 2, cluster::Time::Never());
  CHECK(world.Judge().barrier_open);
  CHECK(world.Judge().state == GangState::kBinding);
}

TEST_CASE("a plan of which a part is gone is given back whole", "[engine][judge]") {
  Pair world;
  world.Plan({"a"}, "n0");
  const Verdict verdict = world.Judge();
  REQUIRE(verdict.step);
  CHECK(verdict.step->kind == Step::Kind::kDrop);
  CHECK(verdict.resume > Stage::kMissing);
}

TEST_CASE("a plan on a node that changed is given back, and says so", "[engine][judge]") {
  Pair world;
  world.Plan({"a", "b"}, "n0");
  Surroundings around = world.Around();
  around.plan_holds = false;
  const Verdict verdict = Judge(world.gang(), around, Stage::kHeldCalls);
  REQUIRE(verdict.step);
  CHECK(verdict.step->kind == Step::Kind::kDrop);
  CHECK(verdict.course.setback.code == ReasonCode::kPlanBroken);
}

TEST_CASE("a reservation that nobody came for expires, and names who did not come",
          "[engine][judge]") {
  Pair world;
  world.Plan({"a", "b"}, "n0", world.now + Seconds(120));
  world.now = world.now + Seconds(119);
  CHECK_FALSE(world.Judge().step);
  world.now = world.now + Seconds(1);
  const Verdict verdict = world.Judge();
  REQUIRE(verdict.step);
  CHECK(verdict.step->kind == Step::Kind::kExpire);
  CHECK(verdict.step->setback == Because(ReasonCode::kReservationExpired, 0, 2));
  // The next stage of the same judgement does not ask for it again.
  CHECK_FALSE(world.Judge(verdict.resume).step);
}

TEST_CASE("with its minimum bound a gang runs; a member that is bound in part makes it Degraded",
          "[engine][judge]") {
  Pair world;
  world.Bind("a", "n0");
  Verdict verdict = world.Judge();
  CHECK(verdict.state == GangState::kDegraded);
  CHECK(verdict.course.partial_since == world.now);
  CHECK(verdict.barrier_open);
  CHECK(verdict.pending);
  world.Bind("b", "n0");
  verdict = world.Judge();
  CHECK(verdict.state == GangState::kRunning);
  CHECK(verdict.begins);
  CHECK_FALSE(verdict.course.partial_since);
}

TEST_CASE("a gang that stays bound in part is taken back, unless it may not be completed",
          "[engine][judge]") {
  Pair world;
  world.Bind("a", "n0");
  world.Count();
  world.gang().course = world.Judge().course;
  world.now = world.now + Seconds(60);
  SECTION("it is taken back") {
    const Verdict verdict = world.Judge();
    REQUIRE(verdict.step);
    CHECK(verdict.step->kind == Step::Kind::kGiveBack);
    CHECK(verdict.course.repairing);
    world.gang().course = verdict.course;
    CHECK(world.Judge(verdict.resume).state == GangState::kBackoff);
  }
  SECTION("no time passes while the API server says nothing") {
    Surroundings around = world.Around();
    around.stale_resources = "pods";
    const Verdict verdict = Judge(world.gang(), around, Stage::kHeldCalls);
    CHECK_FALSE(verdict.step);
    CHECK(verdict.course.partial_since == world.now);
  }
  SECTION("the policy says hold") {
    world.state.options.partial_gang = PartialGang::kHold;
    CHECK(world.Judge().state == GangState::kDegraded);
    CHECK_FALSE(world.Judge().step);
  }
}

TEST_CASE("a preempting gang waits for its victims, redeems what they leave, or gives up",
          "[engine][judge]") {
  Pair world;
  world.Plan({"a", "b"}, "n0", world.now + Seconds(600));
  Surroundings around = world.Around();
  around.victims = VictimsLeft{};
  VictimsLeft& victims = *around.victims;
  victims.need = 2;
  victims.gangs = "team/other";
  const auto judge = [&] { return Judge(world.gang(), around, Stage::kHeldCalls); };
  CHECK(judge().state == GangState::kPreempting);
  CHECK_FALSE(judge().asks_evictions);  // not all are nominated
  for (const char* name : {"a", "b"}) world.state.reservations.Nominated(world.member(name), true);
  world.Count();
  CHECK(judge().asks_evictions);
  SECTION("one cannot be evicted, and none was") {
    victims.asked = true;
    victims.obstacle = "a budget";
    REQUIRE(judge().step);
    CHECK(judge().step->kind == Step::Kind::kFail);
    CHECK(judge().step->setback == Because(ReasonCode::kVictimsStay, 0, 2, "a budget"));
    CHECK_FALSE(judge().step->protect_victims);
  }
  SECTION("one was evicted: there is no way back") {
    victims.asked = victims.begun = true;
    victims.obstacle = "a budget";
    CHECK_FALSE(judge().step);
  }
  SECTION("they do not leave in time") {
    victims.asked = true;
    around.now = world.now + Seconds(600);
    REQUIRE(judge().step);
    CHECK(judge().step->protect_victims);
  }
  SECTION("they were given longer than the policy gives") {
    victims.asked = true;
    victims.until = world.now + Seconds(3600);
    around.now = world.now + Seconds(600);
    CHECK_FALSE(judge().step);
    CHECK(judge().deadline == victims.until);
    CHECK_THAT(judge().reason.detail, Catch::Contains("team/other; their pods were given until " +
                                                      ShowTime(victims.until)));
    victims.until = world.now + Seconds(601);
    CHECK(judge().reason.detail == "team/other");
  }
  SECTION("they are gone") {
    victims.gone = 2;
    REQUIRE(judge().step);
    CHECK(judge().step->kind == Step::Kind::kRedeem);
  }
  SECTION("they are not what they were") {
    victims.wanted = false;
    REQUIRE(judge().step);
    CHECK(judge().step->kind == Step::Kind::kDrop);
  }
}

TEST_CASE("a gang whose members have all ended is Finished", "[engine][judge]") {
  Pair world;
  for (const char* name : {"a", "b"}) {
    world.Tell(testing::MakePod(name)
                   .Gpus(1)
                   .InGroup("train")
                   .BoundTo("n0")
                   .Phase(cluster::PodPhase::kSucceeded)
                   .Build());
  }
  CHECK(world.Judge().state == GangState::kFinished);
}

TEST_CASE("a malformed PodGroup makes a gang Invalid, and takes its plan", "[engine][judge]") {
  Pair world;
  world.Plan({"a", "b"}, "n0");
  Surroundings around = world.Around();
  cluster::PodGroup group = *around.group;
  group.min_member = 0;
  around.group = &group;
  const Verdict verdict = Judge(world.gang(), around, Stage::kHeldCalls);
  REQUIRE(verdict.step);
  CHECK(verdict.step->kind == Step::Kind::kDrop);
  const Verdict next = Judge(world.gang(), around, verdict.resume);
  CHECK(next.state == GangState::kInvalid);
  CHECK(Describe(next.reason).find("spec.minMember is 0, expected 1 to") != std::string::npos);
}

}  // namespace
}  // namespace muster::engine
