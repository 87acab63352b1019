#include "engine/gangs/unfenced.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::PodUid;
using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

TEST_CASE("pods that are not fenced are counted by node", "[engine][unfenced]") {
  engine::UnfencedPods pods;
  CHECK(pods.none());
  pods.Hold(PodUid("a"), "n0", "HTTP 500");
  pods.Hold(PodUid("b"), "n0", "timed out");
  pods.Hold(PodUid("c"), "", "timed out");
  CHECK(*pods.Why(PodUid("a")) == "HTTP 500");
  CHECK(pods.Why(PodUid("d")) == nullptr);
  CHECK(pods.nodes().size() == 1);
  CHECK(pods.LetGo(PodUid("a")));
  CHECK_FALSE(pods.LetGo(PodUid("a")));
  CHECK(pods.Withholds("n0"));
  pods.Hold(PodUid("b"), "n1", "HTTP 500");  // the last word counts
  CHECK_FALSE(pods.Withholds("n0"));
  CHECK(pods.Withholds("n1"));
  CHECK(pods.LetGo(PodUid("b")));
  CHECK(pods.LetGo(PodUid("c")));
  CHECK(pods.none());
  CHECK(pods.nodes().empty());
}

// Two gangs of two were released when their leader went: "old" on n0 and n1, "other" on n2 and n3.
struct TakenOver : Harness {
  TakenOver() {
    for (int i = 0; i < 6; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    for (const char* name : {"old", "other"}) {
      AddGang(name, 2, 8, 2);
      Settle();
      REQUIRE(Pod(name + std::string("-0")).gates.empty());
    }
    Restart();
  }
  void Unfence(const std::string& pod) {
    const cluster::Pod& record = Pod(pod);
    engine().Apply(engine::Unfenced{record.uid, record.nominated_node, "HTTP 500: webhook down"},
                   now());
  }
  void Fence(const std::string& pod) { engine().Apply(engine::Fenced{Pod(pod).uid}, now()); }
};

TEST_CASE("the gang of a pod that is not fenced waits and says why, the others go on",
          "[engine][unfenced]") {
  TakenOver world;
  const std::string node = world.Pod("old-0").nominated_node;
  world.Unfence("old-0");
  world.Settle();
  CHECK(world.Gang("old").state == GangState::kQueued);
  CHECK(world.Gang("old").reason ==
        engine::Because(ReasonCode::kPodNotFenced, 0, 0, "pod old-0: HTTP 500: webhook down"));
  CHECK(world.Pod("old-0").nominated_node == node);  // kube-scheduler keeps the room
  world.ScheduleAll("other");
  CHECK(world.BoundIn("other") == 2);
  // Filter says so, and a Bind call that comes all the same fails.
  CHECK_THAT(world.Filter("old-0").refusal, Catch::Contains("cannot be written"));
  const uint64_t ticket = world.Bind("old-0", node);
  CHECK_THAT(world.bind_answers.at(ticket), Catch::Contains("has no reservation"));
  world.Pass(Seconds(10));
  CHECK(std::any_of(world.log.begin(), world.log.end(), [](const engine::Action& action) {
    const auto* event = std::get_if<engine::EmitEvent>(&action);
    return event != nullptr && event->message.find("old-0: HTTP 500") != std::string::npos;
  }));

  world.Fence("old-0");
  world.ScheduleAll("old");
  CHECK(world.BoundIn("old") == 2);
  CHECK(world.Pod("old-0").node_name == node);
}

TEST_CASE("nothing new is planned on a node where a late Binding may still arrive",
          "[engine][unfenced]") {
  TakenOver world;
  const std::string node = world.Pod("old-0").nominated_node;
  world.Unfence("old-0");
  world.ScheduleAll("other");
  // Four nodes are left and one of them is withheld.
  world.AddGang("more", 4, 8, 4);
  world.Settle();
  CHECK(world.Gang("more").state == GangState::kQueued);
  world.AddGang("two", 2, 8, 2);
  world.Settle();
  CHECK(world.Gang("two").state == GangState::kReserved);
  for (const engine::MemberView& member : world.Gang("two").members) {
    CHECK(member.planned_node != node);
  }

  // The Binding arrives: it is taken as it is, and holds nothing back any more.
  world.Change("old-0", [&](cluster::Pod& pod) {
    pod.node_name = node;
    pod.bound_gpus = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
    pod.bound_by_muster = true;
  });
  world.Settle();
  CHECK(world.Gang("old").reason.code != ReasonCode::kPodNotFenced);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a gang that is partly bound and may not be completed is not taken back meanwhile",
          "[engine][unfenced]") {
  TakenOver world;
  world.Change("old-1", [&](cluster::Pod& pod) {
    pod.node_name = pod.nominated_node;
    pod.bound_gpus = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
    pod.bound_by_muster = true;
  });
  world.Unfence("old-0");
  world.Pass(Seconds(110));
  CHECK(world.Gang("old").state == GangState::kDegraded);
  CHECK(world.Gang("old").reason.code == ReasonCode::kPodNotFenced);
  CHECK(world.BoundIn("old") == 1);
  CHECK_FALSE(world.Pod("old-1").deleting);
  world.Fence("old-0");
  world.ScheduleAll("old");
  CHECK(world.Gang("old").state == GangState::kRunning);
}

TEST_CASE("what is held back goes with its pod", "[engine][unfenced]") {
  TakenOver world;
  world.Unfence("old-0");
  world.engine().Apply(engine::Unfenced{PodUid("nobody"), "n4", "timed out"}, world.now());
  world.Settle();
  SECTION("that is deleted") { world.RemovePod("old-0"); }
  SECTION("that has ended") {
    world.Change("old-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  world.Add(MakePod("new-0").Gpus(8).InGroup("old").Gated());
  world.Settle();
  CHECK(world.Gang("old").state == GangState::kReserved);
  CHECK(world.engine().Dump().find("unfenced") == std::string::npos);
}

TEST_CASE("a pod bears the mark of a leader before it is bound", "[engine][unfenced]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  // No gate of Muster's, and nominated already, as kube-scheduler's own preemption does it.
  world.Add(MakePod("p").Gpus(8).Nominated("n0"));
  world.Bind("p", "n0");
  world.Settle();
  world.Bind("p", "n0");
  world.Settle();
  CHECK(world.Pod("p").node_name == "n0");
  CHECK(world.Pod("p").handed_over);  // the Harness checks it at the Binding
}

}  // namespace
}  // namespace muster::testing
