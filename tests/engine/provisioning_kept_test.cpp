#include <catch2/catch.hpp>

#include "tests/engine/provisioning_world.hpp"

namespace muster::testing {
namespace {

TEST_CASE("nodes that came for a gang are not another one's", "[engine][provisioning]") {
  engine::Options options = Asking();
  SECTION("of equal right") {
    Harness world(options);
    world.AddGang("g", 4, 8, 4);
    world.Pass(Seconds(15));
    const std::string name = OnlyRequest(world).key.name;
    SetState(world, name, RequestState::kProvisioned);
    world.AddGang("rival", 2, 8, 2);
    world.Pass(Seconds(1));
    for (const char* node : {"n0", "n1", "n2"}) {
      world.Add(MakeNode(node).Gpus(8));
      world.Pass(Seconds(2));
      CHECK(world.Gang("rival").state != GangState::kReserved);
    }
    CHECK(world.Gang("rival").reason.code == engine::ReasonCode::kReserved);
    CHECK(world.Gang("rival").reason.detail ==
          "gang default/g, for which the nodes were asked for");
    world.Pass(Seconds(20));  // it asks for its own
    CHECK(world.Requests().size() == 2);
    world.Add(MakeNode("n3").Gpus(8));
    world.ScheduleAll("g");
    CHECK(world.BoundIn("g") == 4);
  }
  SECTION("but one of higher priority goes before it") {
    Harness world(options);
    world.AddGang("g", 4, 8, 4);
    world.Pass(Seconds(15));
    SetState(world, OnlyRequest(world).key.name, RequestState::kProvisioned);
    world.Add(MakePodGroup("vip").MinMember(1).Build());
    world.Add(MakePod("vip-0").Gpus(8).Priority(10).InGroup("vip").Gated().Build());
    world.Add(MakeNode("n0").Gpus(8));
    world.ScheduleAll("vip");
    CHECK(world.BoundIn("vip") == 1);
  }
  SECTION("and not before they were ordered") {
    Harness world(options);
    world.AddGang("g", 4, 8, 4);
    world.Pass(Seconds(15));
    world.AddGang("rival", 2, 8, 2);
    for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
    world.ScheduleAll("rival");
    CHECK(world.BoundIn("rival") == 2);
  }
}

TEST_CASE("what is kept for a gang is anybody's when the booking is over or the request failed",
          "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  const std::string name = OnlyRequest(world).key.name;
  SetState(world, name, RequestState::kProvisioned);
  world.AddGang("rival", 2, 8, 2);
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.Pass(Seconds(60));
  CHECK(world.BoundIn("rival") == 0);
  SECTION("its time is over") { world.Pass(Seconds(600)); }
  SECTION("cluster-autoscaler says so") { SetState(world, name, RequestState::kExpired); }
  SECTION("it failed") { SetState(world, name, RequestState::kFailed, "no such machines"); }
  SECTION("it was deleted") { world.RemoveRequest(name); }
  SECTION("what was found is another one's") { SetState(world, name, RequestState::kRevoked); }
  world.ScheduleAll("rival");
  CHECK(world.BoundIn("rival") == 2);
}

TEST_CASE("what is kept moves off a node that pods may not start on", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(15));
  SetState(world, OnlyRequest(world).key.name, RequestState::kProvisioned);
  world.Add(MakeNode("n0").Gpus(8));
  world.Pass(Seconds(1));
  const auto bad = GENERATE(0, 1);
  world.Add(bad == 0 ? MakeNode("n0").Gpus(8).NotReady() : MakeNode("n0").Gpus(8).Cordoned());
  world.AddGang("rival", 1, 8, 1);
  world.Add(MakeNode("n1").Gpus(8));
  world.Pass(Seconds(5));
  CHECK(world.Gang("rival").state != GangState::kReserved);
  world.Add(MakeNode("n2").Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
}

}  // namespace
}  // namespace muster::testing
