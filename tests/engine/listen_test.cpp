// What kube-scheduler says of pods that it finds no node for.
#include <catch2/catch.hpp>

#include "tests/engine/preemption_world.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

constexpr const char* kAffinity =
    "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.";
constexpr const char* kNoRoom = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";

// kube-scheduler has tried the pod on every node: one write of its status.
void Refuse(Harness& world, const std::string& pod, const std::string& words = kAffinity) {
  world.Change(pod, [&](cluster::Pod& one) {
    one.nominated_node.clear();
    one.unschedulable = std::make_shared<const std::string>(words);
  });
}

// A gang of two on two nodes, released.
struct Released : Harness {
  Released() {
    Add(MakeNode("n0").Gpus(8));
    Add(MakeNode("n1").Gpus(8));
    AddGang("train", 2, 8, 2);
    Settle();
    REQUIRE(Pod("train-0").gates.empty());
  }
  bool Planned() const { return Gang("train").state == GangState::kReserved; }
  void RefuseAndGiveBack() {
    Refuse(*this, "train-0");
    Refuse(*this, "train-1");
    Pass(Seconds(5));
    REQUIRE(Gang("train").state == GangState::kBackoff);
  }
};

TEST_CASE("a plan that kube-scheduler refuses is given back within 5 s, with its words",
          "[engine][listen]") {
  Released world;
  const uint64_t held = world.Bind("train-0");
  Refuse(world, "train-1");
  world.Pass(Seconds(5));
  const engine::GangView gang = world.Gang("train");
  CHECK(gang.state == GangState::kBackoff);
  CHECK(gang.reason.code == ReasonCode::kRefused);
  CHECK(gang.reason.detail == std::string("pod train-1: ") + kAffinity);
  CHECK(gang.members[0].planned_node.empty());
  REQUIRE(world.bind_answers.contains(held));
  CHECK_THAT(world.bind_answers.at(held), Catch::Contains("anti-affinity"));
  CHECK(world.Pod("train-0").nominated_node.empty());
  SECTION("and from then on it costs nothing") {
    const int writes = world.writes;
    world.Pass(Seconds(600));
    const int later = world.writes;
    CHECK(later - writes <= 4);  // its members are told why
    world.Pass(Seconds(1'700));
    CHECK(world.writes - later <= 1);  // an Event is repeated
    CHECK(world.Gang("train").plans == 1);
  }
}

TEST_CASE("a refusal that kube-scheduler takes back at once is none", "[engine][listen]") {
  Released world;
  Refuse(world, "train-1");  // what it knew was older than the plan
  world.Pass(Seconds(1));
  CHECK_FALSE(world.Filter("train-1").node.empty());
  world.Pass(Seconds(10));
  CHECK(world.Planned());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("words of before the plan, and Muster's own, refuse nothing", "[engine][listen]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("one").Gpus(8));
  SECTION("Filter had its say") {
    world.Settle();
    Refuse(world, "one", "0/1 nodes are available: 1 muster: the gang is planned on other nodes.");
    world.Pass(Seconds(30));
    CHECK(world.Gang("one").state == GangState::kReserved);
  }
  SECTION("older") {
    Refuse(world, "one");
    world.Pass(Seconds(30));
    REQUIRE(world.Gang("one").state == GangState::kReserved);
    SECTION("but the nomination that is taken away does") {
      Refuse(world, "one");
      world.Pass(Seconds(5));
      CHECK(world.Gang("one").reason.code == ReasonCode::kRefused);
    }
    SECTION("but silence means the same") {
      world.Pass(Seconds(100));
      CHECK(world.Gang("one").state == GangState::kBackoff);
      CHECK(world.Gang("one").reason.code == ReasonCode::kRefused);
      CHECK_THAT(world.Gang("one").reason.detail, Catch::Contains("anti-affinity"));
    }
  }
}

TEST_CASE("a pause ends within 5 s of what could help", "[engine][listen]") {
  Released world;
  world.Add(MakePod("other").BoundTo("n0"));
  world.RefuseAndGiveBack();
  world.Pass(Seconds(1'200));
  REQUIRE(world.Gang("train").state == GangState::kBackoff);
  SECTION("a pod leaves") { world.RemovePod("other"); }
  SECTION("a pod ends") { world.Succeed("other"); }
  SECTION("a quota changes") {
    cluster::ResourceQuota quota;
    quota.uid = cluster::ResourceQuotaUid("q");
    quota.key = {"default", "q"};
    world.engine().Apply(quota, world.now());
  }
  SECTION("nodes come") {
    world.Add(MakeNode("n2").Gpus(8));
    world.Add(MakeNode("n3").Gpus(8));
  }
  SECTION("nodes change") {
    world.Add(MakeNode("n0").Gpus(8).Label("zone", "a"));
    world.Add(MakeNode("n1").Gpus(8).Label("zone", "a"));
  }
  SECTION("kube-scheduler asks") { CHECK(world.Filter("train-1", {"n0", "n1"}).node.empty()); }
  SECTION("kube-scheduler has other words") { Refuse(world, "train-1", kNoRoom); }
  SECTION("its pods are other ones") {
    for (const char* name : {"train-0", "train-1"}) {
      world.RemovePod(name);
      world.Add(MakePod(name).Uid(std::string(name) + "-b").Gpus(8).InGroup("train").Gated());
    }
  }
  world.Pass(Seconds(5));
  CHECK(world.Planned());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a refused gang is planned again once in 5 s at most", "[engine][listen]") {
  Released world;
  world.RefuseAndGiveBack();
  const auto asked = [&] { world.Filter("train-1", {"n0", "n1"}); };
  asked();
  world.Pass(Seconds(1));
  CHECK_FALSE(world.Planned());
  asked();
  world.Pass(Seconds(5));
  CHECK(world.Planned());
  CHECK(world.Gang("train").plans == 2);
}

TEST_CASE("a gang that was refused and then met with silence waits for room like others",
          "[engine][listen]") {
  Released world;
  world.RefuseAndGiveBack();
  world.Add(MakePod("other").BoundTo("n0").Gpus(1));
  world.RemovePod("other");
  for (const char* pod : {"train-0", "train-1"})
    world.Change(pod, [](cluster::Pod& one) { one.unschedulable = nullptr; });
  world.Pass(Seconds(10));
  REQUIRE(world.Planned());
  world.Pass(Seconds(121));
  REQUIRE(world.Gang("train").reason.code == ReasonCode::kReservationExpired);
  world.Add(MakePod("next").BoundTo("n0").Gpus(1));
  world.Pass(Seconds(400));  // the pause is over
  CHECK(world.Gang("train").state == GangState::kQueued);
  CHECK(world.Gang("train").plans == 2);
  world.RemovePod("next");
  world.Settle();
  CHECK(world.Planned());
}

TEST_CASE("a sentence is written once: after it silence is an answer", "[engine][listen]") {
  Released world;
  world.Add(MakePod("other").BoundTo("n0"));
  world.RefuseAndGiveBack();
  world.RemovePod("other");
  world.Pass(Seconds(5));
  REQUIRE(world.Planned());
  SECTION("refused again, without a word") {
    world.Pass(Seconds(15));
    CHECK(world.Gang("train").reason.code == ReasonCode::kRefused);
  }
  SECTION("it asks meanwhile") {
    world.Pass(Seconds(8));
    world.Filter("train-0");
    world.Filter("train-1");
    world.Pass(Seconds(60));
    CHECK(world.Planned());
  }
}

TEST_CASE("the nodes that kube-scheduler turned down are left out, those it names are not",
          "[engine][listen]") {
  Released world;
  world.RefuseAndGiveBack();
  for (const char* node : {"n2", "n3"}) world.Add(MakeNode(node).Gpus(8));
  SECTION("new ones") {}
  SECTION("named ones") { world.Filter("train-0", {"n2", "n3"}); }
  world.Pass(Seconds(6));
  REQUIRE(world.Planned());
  CHECK(world.Gang("train").members[0].planned_node >= "n2");
  CHECK(world.Gang("train").members[1].planned_node >= "n2");
}

TEST_CASE("nobody is evicted again for a gang that kube-scheduler refused",
          "[engine][listen][preemption]") {
  FullWorld world;
  world.Submit("high", 2, 8, 10);
  world.Settle();
  REQUIRE(world.Evicted() == kAllOld);
  for (const std::string& pod : kAllOld) world.RemovePod(pod);
  world.Settle();
  REQUIRE(world.Pod("high-0").gates.empty());
  Refuse(world, "high-0");
  Refuse(world, "high-1");
  world.Pass(Seconds(5));
  REQUIRE(world.Gang("high").reason.code == ReasonCode::kRefused);
  world.Start("next", 2, 8, 0);  // what was evicted takes its place again
  world.Add(MakePod("other").BoundTo("n0"));
  world.Pass(Seconds(1'200));
  world.log.clear();
  SECTION("whatever changes") {
    world.RemovePod("other");
    world.Pass(Seconds(60));
    world.Add(MakeNode("n0").Gpus(8).Label("zone", "a"));
    world.Pass(Seconds(3'600));
    CHECK(world.Evicted().empty());
    CHECK(world.Gang("high").state == GangState::kBackoff);
    CHECK(world.Gang("high").reason.code == ReasonCode::kRefused);
  }
  SECTION("until it says that room alone is missing") {
    Refuse(world, "high-0", kNoRoom);
    world.Pass(Seconds(5));
    CHECK(world.Evicted().size() == 2);
  }
  SECTION("until it asks about one") {
    world.Filter("high-1", {"n0"});
    world.Pass(Seconds(5));
    CHECK(world.Evicted().size() == 2);
  }
}

TEST_CASE("a gang that was refused and can never fit now says that it never fits",
          "[engine][listen]") {
  Released world;
  world.RefuseAndGiveBack();
  world.Add(MakeNode("n0").Gpus(4));
  world.Add(MakeNode("n1").Gpus(4));
  for (int round = 0; round < 4; ++round) {
    world.Pass(Seconds(300));
    CHECK(world.Gang("train").state == GangState::kUnsatisfiable);
    CHECK(world.Gang("train").reason.code == ReasonCode::kNeverFits);
    world.Add(MakePod("other-" + std::to_string(round)).Gpus(1));  // it comes and goes
    world.Settle();
    world.RemovePod("other-" + std::to_string(round));
  }
}

TEST_CASE("what kube-scheduler refused is known after a restart", "[engine][listen][restart]") {
  Released world;
  world.RefuseAndGiveBack();
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Gang("train").state == GangState::kBackoff);
  CHECK(world.Gang("train").reason.code == ReasonCode::kRefused);
  CHECK_THAT(world.Gang("train").reason.detail, Catch::Contains("anti-affinity"));
  world.Filter("train-0", {"n0", "n1"});
  world.Pass(Seconds(5));
  CHECK(world.Planned());
}

TEST_CASE("a lost member that kube-scheduler refuses gives back its own room alone",
          "[engine][listen]") {
  Harness world;
  for (const char* node : {"n0", "n1", "n2"}) world.Add(MakeNode(node).Gpus(8));
  world.Add(MakePodGroup("train").MinMember(2));
  for (int i = 0; i < 3; ++i)
    world.Add(MakePod("train-" + std::to_string(i)).Gpus(8).InGroup("train").Gated());
  world.Settle();
  for (const char* pod : {"train-0", "train-1"}) world.Bind(pod);
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  const std::string node = world.Gang("train").members[2].planned_node;
  REQUIRE_FALSE(node.empty());
  Refuse(world, "train-2");
  world.Pass(Seconds(5));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Gang("train").members[2].planned_node.empty());
  world.Pass(Seconds(3'600));
  CHECK(world.Gang("train").members[2].planned_node.empty());
  world.Filter("train-2", {node});
  world.Pass(Seconds(5));
  CHECK(world.Gang("train").members[2].planned_node == node);
  world.Bind("train-2");
  world.Settle();
  CHECK(world.BoundIn("train") == 3);
}

TEST_CASE(
    "the pause after a reservation that ran out ends for a node, or when the missing pod comes",
    "[engine][listen]") {
  Released world;
  world.Bind("train-0");
  const int64_t plans = world.Gang("train").plans;
  while (world.Gang("train").state != GangState::kBackoff) world.Pass(Seconds(1));
  const auto planned = [&] { return world.Gang("train").plans > plans; };
  world.Pass(Seconds(6));
  REQUIRE(world.Gang("train").state == GangState::kBackoff);
  SECTION("who was there says nothing") {
    world.Filter("train-0");
    world.Pass(Seconds(10));
    CHECK_FALSE(planned());
  }
  SECTION("the one that was missing") {
    world.Filter("train-1");
    world.Pass(Seconds(5));
    CHECK(planned());
  }
  SECTION("a new node") {
    world.Add(MakeNode("n2").Gpus(8));
    world.Pass(Seconds(5));
    CHECK(planned());
  }
}

TEST_CASE("held Bind calls do not keep a gang where one member cannot be",
          "[engine][listen][filter][bind]") {
  engine::Options options;
  options.placement.fabric = BlocksAndRacks();
  Harness world(options);
  for (const char* zone : {"a", "b"}) {
    for (int i = 0; i < 4; ++i)
      world.Add(MakeNode(zone + std::to_string(i)).Gpus(8).Label("block", zone));
  }
  world.Add(MakePodGroup("train").MinMember(4).Within("block"));
  for (int i = 0; i < 4; ++i)
    world.Add(MakePod("train-" + std::to_string(i)).Gpus(8).InGroup("train").Gated());
  world.Settle();
  const std::string planned = world.Gang("train").members[3].planned_node;
  const std::string other = planned[0] == 'a' ? "b" : "a";
  std::vector<uint64_t> held;
  for (int i = 0; i < 3; ++i) held.push_back(world.Bind("train-" + std::to_string(i)));
  // The volume of the last one is in the other zone.
  const std::string moved = world.Filter("train-3", {other + "0", other + "1"}).node;
  CHECK(moved.substr(0, 1) == other);
  world.Settle();
  for (const uint64_t ticket : held) {
    REQUIRE(world.bind_answers.contains(ticket));
    CHECK(world.bind_answers.at(ticket) == "muster: kube-scheduler rejected the planned node");
  }
  for (const engine::MemberView& member : world.Gang("train").members)
    CHECK(member.planned_node.substr(0, 1) == other);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a pod of another profile is known by its condition where no node is ever asked about",
          "[engine][listen][preemption]") {
  FullWorld world;
  const auto submit = [&](const std::string& name) {
    world.Add(MakePod(name).Gpus(8).Priority(10).Scheduler("default-scheduler"));
  };
  submit("first");
  Refuse(world, "first", kNoRoom);
  world.Pass(Seconds(5));
  CHECK(world.Evicted().empty());  // whether that profile asks Muster nobody knows
  SECTION("it has asked about another pod of it") {
    submit("second");
    world.Filter("second", {"n0"});
    world.Pass(Seconds(5));
  }
  SECTION("Muster has bound one of it") {
    world.Add(MakeNode("n9").Gpus(8));
    cluster::Pod pod = MakePod("bound").Gpus(8).Scheduler("default-scheduler").BoundTo("n9");
    pod.bound_by_muster = true;
    pod.spec = MakePod("x").Gpus(8).Priority(10).Scheduler("default-scheduler").Build().spec;
    world.Add(pod);
    world.Pass(Seconds(5));
  }
  CHECK(world.Evicted() == kAllOld);
  CHECK(world.Gang("first").state == GangState::kPreempting);
}

}  // namespace
}  // namespace muster::testing
