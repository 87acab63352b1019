// Gangs that reserve room and never come: they hold at most half of the time, ever less, and who
// would start goes first. Plans that are dropped as soon as they are made back off.
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

TEST_CASE("a gang that would start goes before an older one whose reservations expire",
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

TEST_CASE("plans that break as soon as they are made are made ever more rarely",
          "[engine][doomed]") {
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  world.AddGang("train", 1, 8, 1);
  for (int i = 0; i < 600; ++i) {  // whichever node is planned is cordoned, and the other is not
    world.Settle();
    const std::string node = world.Pod("train-0").nominated_node;
    for (const std::string name : {"n0", "n1"}) {
      const cluster::Node cordoned = MakeNode(name).Gpus(8).Cordoned();
      const cluster::Node free = MakeNode(name).Gpus(8);
      world.Add(name == node ? cordoned : free);
    }
    world.Pass(Duration(100));
  }
  CHECK(world.Gang("train").plans <= 7);  // 1, 2, 4, 8, 16, 32 s apart
  CHECK(world.Gang("train").attempts >= 5);
}

}  // namespace
}  // namespace muster::testing
