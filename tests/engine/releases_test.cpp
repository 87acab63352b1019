// Gangs are released one after the other, at the pace at which their pods come to Bind.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

constexpr int kMembers = 16;

// Room for 24 gangs.
struct Starts : Harness {
  explicit Starts(engine::Options options = {}) : Harness(std::move(options)) {
    for (int i = 0; i < 48; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  }
  void Come(int first, int count) {
    for (int i = first; i < first + count; ++i) AddGang(Name(i), kMembers, 1, kMembers);
    Settle();
  }
  void ComeFirst(const std::string& gang, int32_t priority) {
    Add(MakePodGroup(gang).MinMember(kMembers));
    for (int i = 0; i < kMembers; ++i)
      Add(MakePod(gang + "-" + std::to_string(i)).Gpus(1).InGroup(gang).Gated().Priority(priority));
    Settle();
  }
  static std::string Name(int gang) {
    return "g" + std::to_string(gang / 10) + std::to_string(gang % 10);
  }
  bool Released(const std::string& gang) const { return Pod(gang + "-0").gates.empty(); }
  int Released(int count) const {
    int released = 0;
    for (int i = 0; i < count; ++i) released += Released(Name(i)) ? 1 : 0;
    return released;
  }
};

TEST_CASE("gangs are released while fewer than 64 pods are on their way", "[engine][releases]") {
  Starts world;
  world.Come(0, 10);
  CHECK(world.Released(10) == 4);
  const engine::GangView waits = world.Gang("g04");
  CHECK(waits.state == GangState::kReserved);
  CHECK(waits.reason.code == ReasonCode::kReleasing);
  CHECK_THAT(waits.reason.detail, Catch::Contains("after 64 pods of other gangs"));
  world.ScheduleAll("g00");
  world.Settle();
  CHECK(world.BoundIn("g00") == kMembers);
  CHECK(world.Released(10) == 5);
  // What comes in two seconds twice over may be on its way.
  for (const char* gang : {"g01", "g02", "g03"}) world.ScheduleAll(gang);
  world.Settle();
  CHECK(world.Released(10) == 10);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("of gangs that wait to be released the one of the highest priority comes first",
          "[engine][releases]") {
  Starts world;
  world.Come(0, 8);
  world.ComeFirst("high", 10);
  CHECK_FALSE(world.Released("high"));
  world.ScheduleAll("g00");
  world.Settle();
  CHECK(world.Released("high"));
  CHECK(world.Released(8) == 4);
}

TEST_CASE("pods that kube-scheduler leaves alone hold up nobody for long", "[engine][releases]") {
  Starts world;
  world.Come(0, 10);
  world.Pass(Seconds(14));
  CHECK(world.Released(10) == 4);
  world.Pass(Seconds(2));
  CHECK(world.Released(10) == 8);
}

TEST_CASE("no time of a gang passes while it waits to be released", "[engine][releases]") {
  engine::Options options;
  options.reservation_timeout = Seconds(20);
  Starts world(options);
  world.Come(0, 6);
  world.Pass(Seconds(16));
  CHECK(world.Released(6) == 6);
  world.Pass(Seconds(8));  // 24 s after the plans
  CHECK(world.Gang("g00").state == GangState::kBackoff);
  CHECK(world.Gang("g04").state == GangState::kReserved);
  world.Pass(Seconds(15));
  CHECK(world.Gang("g04").state == GangState::kBackoff);
}

TEST_CASE("a plan that is given back is no pod that came", "[engine][releases]") {
  Starts world;
  world.Come(0, 12);
  for (int gang = 0; gang < 4; ++gang) {
    for (int i = 0; i < kMembers; ++i)
      world.RemovePod(Starts::Name(gang) + "-" + std::to_string(i));
  }
  world.Settle();
  CHECK(world.Released("g04"));
  CHECK(world.Released("g07"));
  CHECK_FALSE(world.Released("g08"));
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::testing
