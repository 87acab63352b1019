// Gangs that reserve room and never come: they hold at most half of the time, ever less, and who
// would start takes precedence. Plans that are dropped as soon as they are made back off.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::Duration;
using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

TEST_CASE("the longest wait for a reservation is the policy's", "[engine][doomed]") {
  engine::Options options;
  options.max_reservation_timeout = Seconds(300);
  Harness world(options);
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("doomed").MinMember(1).TimeoutSeconds(2'147'483'647));
  world.Add(MakePod("doomed-0").Gpus(8).InGroup("doomed").Gated());
  world.Settle();
  CHECK(world.Gang("doomed").deadline == world.now() + Seconds(300));
}

TEST_CASE("a gang whose reservations expire holds room for at most half of the time",
          "[engine][doomed]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("doomed", 1, 8, 1);
  int64_t held = 0;
  constexpr int kSeconds = 7'200;
  for (int i = 0; i < kSeconds; ++i) {
    held += world.engine().Count().reservations > 0 ? 1 : 0;
    world.Pass(Seconds(1));
  }
  CHECK(held > 0);
  CHECK(held * 4 < kSeconds);
  CHECK(world.Gang("doomed").plans < 8);
}

// kube-scheduler comes back to a pod that it turned down after ten seconds or more. Where it asks
// just before each plan, a reservation of five would never meet it.
TEST_CASE("after a reservation that expired the next one lasts twice as long, up to a minute",
          "[engine][doomed]") {
  engine::Options options;
  options.reservation_timeout = Seconds(5);
  Harness world(options);
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("late", 1, 8, 1);
  world.Settle();
  CHECK(world.Gang("late").deadline == world.now() + Seconds(5));
  for (const int64_t held : {10, 20, 40, 60, 60}) {
    while (world.Gang("late").state == GangState::kReserved) world.Pass(Seconds(1));
    while (world.Gang("late").state != GangState::kReserved) {
      world.Pass(Seconds(1));
      static_cast<void>(world.Filter("late-0"));
    }
    CHECK(world.Gang("late").deadline > world.now() + Seconds(held - 3));
    CHECK(world.Gang("late").deadline <= world.now() + Seconds(held));
  }
}

TEST_CASE("why a reservation expired names who was never asked about", "[engine][doomed]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("doomed", 2, 4, 2);
  world.Settle();
  world.Bind("doomed-0");
  world.Pass(Seconds(49));  // its call is held for 48
  CHECK(world.Gang("doomed").reason.code == ReasonCode::kReservationExpired);
  const bool told = std::any_of(world.log.begin(), world.log.end(), [](const auto& action) {
    const auto* event = std::get_if<engine::EmitEvent>(&action);
    return event != nullptr && event->reason == "GangBackoff" &&
           event->message.find("doomed-1") != std::string::npos;
  });
  CHECK(told);
}

TEST_CASE("a gang that would start takes precedence over an older one whose reservations expire",
          "[engine][doomed]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("doomed", 1, 8, 1);
  world.Pass(Seconds(121));
  REQUIRE(world.Gang("doomed").state == GangState::kBackoff);
  world.AddGang("first", 1, 8, 1);
  world.ScheduleAll("first");
  REQUIRE(world.Gang("first").state == GangState::kRunning);
  world.AddGang("next", 1, 8, 1);
  world.Pass(Seconds(600));
  REQUIRE(world.Gang("doomed").state == GangState::kQueued);
  world.Succeed("first-0");
  world.ScheduleAll("next");
  CHECK(world.Gang("next").state == GangState::kRunning);
}

TEST_CASE("two roles of one name are refused", "[engine][doomed]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("twice").MinMember(16).Role("a", 15).Role("a", 1));
  for (int i = 0; i < 16; ++i)
    world.Add(MakePod("p" + std::to_string(i)).InGroup("twice").Role("a").Gated());
  world.Pass(Seconds(10));
  CHECK(world.Gang("twice").state == GangState::kInvalid);
  CHECK(world.Gang("twice").plans == 0);
}

// For a minute whichever node the pod is planned on is cordoned, and the other one is not.
void BreakEachPlanOf(Harness& world, const std::string& pod) {
  for (int i = 0; i < 600; ++i) {
    world.Settle();
    const std::string node = world.Pod(pod).nominated_node;
    for (const std::string name : {"n0", "n1"}) {
      const cluster::Node cordoned = MakeNode(name).Gpus(8).Cordoned();
      const cluster::Node free = MakeNode(name).Gpus(8);
      world.Add(name == node ? cordoned : free);
    }
    world.Pass(Duration(100));
  }
}

TEST_CASE("plans that break as soon as they are made are made ever more rarely",
          "[engine][doomed]") {
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  world.AddGang("train", 1, 8, 1);
  BreakEachPlanOf(world, "train-0");
  CHECK(world.Gang("train").plans <= 7);  // 1, 2, 4, 8, 16, 32 s apart
  CHECK(world.Gang("train").attempts >= 5);
}

TEST_CASE("plans beside bound members that break at once are made ever more rarely",
          "[engine][doomed]") {
  Harness world;
  world.Add(MakeNode("n2").Gpus(8));
  world.AddGang("train", 2, 8, 1);
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  const int64_t before = world.Gang("train").plans;
  BreakEachPlanOf(world, world.Pod("train-0").bound() ? "train-1" : "train-0");
  CHECK(world.Gang("train").plans - before <= 8);
  CHECK(world.Gang("train").state == GangState::kRunning);
  SECTION("until the nodes stay as they are") {
    world.Pass(cluster::Seconds(60));
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 2);
  }
  SECTION("until its PodGroup is another one") {
    const int64_t known = world.Gang("train").plans;
    world.Add(MakePodGroup("train").Uid("second").MinMember(1));
    world.Settle();
    CHECK(world.Gang("train").plans == known + 1);
  }
}

// For how many seconds of two hours room is reserved for `pod`.
int64_t SecondsHeld(Harness& world, const std::string& gang, const std::string& pod) {
  int64_t held = 0;
  for (int i = 0; i < 7'200; ++i) {
    for (const engine::MemberView& member : world.Gang(gang).members)
      held += member.pod.name == pod && !member.planned_node.empty() ? 1 : 0;
    world.Pass(Seconds(1));
  }
  return held;
}

bool Told(const Harness& world, const std::string& event, const std::string& who) {
  return std::any_of(world.log.begin(), world.log.end(), [&](const auto& action) {
    const auto* one = std::get_if<engine::EmitEvent>(&action);
    return one != nullptr && one->reason == event && one->message.find(who) != std::string::npos;
  });
}

TEST_CASE("an elastic member that never comes holds room ever less, and it alone waits",
          "[engine][doomed]") {
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  world.Add(MakePodGroup("grows").MinMember(1).TimeoutSeconds(600));
  world.Add(MakePod("grows-0").Gpus(8).InGroup("grows").Gated());
  world.ScheduleAll("grows");
  world.Add(MakePod("grows-1").Gpus(8).InGroup("grows").Gated());
  world.Pass(Seconds(601));
  CHECK(world.engine().Count().reservations == 0);
  CHECK(Told(world, "GangReservationExpired", "has not asked to bind grows-1"));
  world.Add(MakePod("grows-2").InGroup("grows").Gated());
  world.Settle();
  world.Bind("grows-2");
  world.Settle();
  CHECK(world.Pod("grows-2").bound());
  const int64_t held = SecondsHeld(world, "grows", "grows-1");
  CHECK(held > 0);
  CHECK(held * 4 <= 7'200);
  CHECK(world.Gang("grows").state == GangState::kRunning);
}

TEST_CASE("who is planned later does not lengthen the reservation of an elastic member",
          "[engine][doomed]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("grows", 1, 1, 1);
  world.ScheduleAll("grows");
  world.Add(MakePod("grows-1").Gpus(1).InGroup("grows").Gated());
  world.Pass(Seconds(60));
  world.Add(MakePod("grows-2").Gpus(1).InGroup("grows").Gated());
  world.Pass(Seconds(61));
  CHECK(world.Gang("grows").members.at(1).planned_node.empty());
  CHECK(world.Gang("grows").members.at(2).planned_node == "n0");
  world.Pass(Seconds(60));
  CHECK(world.engine().Count().reservations == 0);
}

TEST_CASE("a replacement that never comes holds room at most half of the time, and is named",
          "[engine][doomed]") {
  engine::Options options;
  options.partial_gang = engine::PartialGang::kHold;
  Harness world(options);
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  world.AddGang("train", 2, 8, 2);
  world.ScheduleAll("train");
  world.RemovePod("train-1");
  world.Add(MakePod("train-2").Gpus(8).InGroup("train").Gated());
  world.Pass(Seconds(121));
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Gang("train").reason.code == ReasonCode::kReservationExpired);
  CHECK(Told(world, "GangDegraded", "has not asked to bind train-2"));
  const int64_t held = SecondsHeld(world, "train", "train-2");
  CHECK(held > 0);
  CHECK(held * 4 < 7'200);
  world.Pass(Seconds(3'600));
  world.Add(MakePod("train-3").Gpus(8).InGroup("train").Gated());  // not doomed: goes on at once
  for (int i = 0; i < 600 && world.Gang("train").members.back().planned_node.empty(); ++i)
    world.Pass(Seconds(1));
  world.Bind("train-3");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kRunning);
}

}  // namespace
}  // namespace muster::testing
