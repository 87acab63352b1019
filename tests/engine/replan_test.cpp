#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;

TEST_CASE("Filter asked again and again answers the same and changes nothing", "[engine][filter]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.AddGang("waits", 4, 8, 4);
  world.Settle();
  const std::string planned = world.Filter("train-1").node;
  world.Filter("waits-1");
  const std::string before = world.engine().Dump();
  for (int i = 0; i < 100; ++i) {
    CHECK(world.Filter("train-1").node == planned);
    CHECK(world.Filter("train-1", {planned}).node == planned);
    CHECK(world.Filter("waits-1").node.empty());
  }
  CHECK(world.engine().Dump() == before);
  CHECK(world.engine().Advance(world.now()).actions.empty());
}

TEST_CASE("a planned node that kube-scheduler rejected is replaced in the same call",
          "[engine][filter]") {
  Harness world;
  for (int i = 0; i < 6; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.Settle();
  const std::string planned = world.Filter("train-1").node;
  std::vector<std::string> others;
  for (int i = 0; i < 6; ++i) {
    if ("n" + std::to_string(i) != planned) others.push_back("n" + std::to_string(i));
  }
  const std::string moved = world.Filter("train-1", others).node;
  CHECK_FALSE(moved.empty());
  CHECK(moved != planned);
  CHECK(world.Filter("train-1", others).node == moved);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("train-1").node_name == moved);
}

TEST_CASE("when only others' nodes are left, the whole gang changes places", "[engine][filter]") {
  Harness world;
  for (int i = 0; i < 2; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("pair", 2, 8, 2);
  world.Settle();
  const std::string planned = world.Filter("pair-0").node;
  const std::string other = world.Filter("pair-1").node;
  CHECK(world.Filter("pair-0", {other}).node == other);
  CHECK(world.Filter("pair-1").node == planned);
  world.ScheduleAll("pair");
  CHECK(world.Gang("pair").state == GangState::kRunning);
}

TEST_CASE("a Bind call held for a node that kube-scheduler then rejected binds to no other node",
          "[engine][filter][bind]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("pair", 2, 8, 2);
  world.Settle();
  // kube-scheduler made the call, and began again.
  const uint64_t ticket = world.Bind("pair-0");
  world.Settle();
  const std::string planned = world.Filter("pair-0").node;
  std::vector<std::string> others;
  for (const char* node : {"n0", "n1", "n2"}) {
    if (node != planned) others.emplace_back(node);
  }
  const std::string moved = world.Filter("pair-0", others).node;
  REQUIRE(moved != planned);
  world.Settle();
  CHECK(world.bind_answers.at(ticket) == "muster: kube-scheduler rejected the planned node");
  world.Bind("pair-1");
  world.Settle();
  CHECK(world.BoundIn("pair") == 0);
  CHECK(world.Gang("pair").state == GangState::kReserved);
  world.Bind("pair-0");
  world.Settle();
  CHECK(world.BoundIn("pair") == 2);
  CHECK(world.Pod("pair-0").node_name == moved);
}

TEST_CASE("who had a Bind call held changes places with the gang all the same",
          "[engine][filter][bind]") {
  Harness world;
  for (int i = 0; i < 2; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("pair", 2, 8, 2);
  world.Settle();
  world.Bind("pair-0");
  world.Settle();
  const std::string other = world.Filter("pair-1").node;
  CHECK(world.Filter("pair-0", {other}).node == other);
  CHECK(world.Filter("pair-1").node != other);
  world.ScheduleAll("pair");
  CHECK(world.Gang("pair").state == GangState::kRunning);
}

TEST_CASE("when nothing else fits, the gang gives everything back and says so",
          "[engine][filter]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(i == 2 ? 1 : 8));
  world.AddGang("pair", 2, 8, 2);
  world.Settle();
  CHECK(world.Filter("pair-0", {"n2"}).node.empty());
  CHECK(world.engine().Count().reservations == 0);
  world.Pass(cluster::Seconds(1));  // the two change places, which is rejected as well
  CHECK(world.Filter("pair-0", {"n2"}).node.empty());
  world.Pass(cluster::Seconds(2));
  CHECK(world.Gang("pair").state == GangState::kQueued);
}

TEST_CASE("a list that is only a sample of the nodes does not move the gang", "[engine][filter]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  const cluster::Pod pod = MakePod("alone").Gpus(8);
  world.Add(pod);
  world.Settle();
  const std::string planned = world.Filter("alone").node;
  const std::string other = planned == "n0" ? "n1" : "n0";
  // The question was on its way before the nomination was made.
  CHECK(world.engine().Filter({pod, {other}}, world.now()).node.empty());
  CHECK(world.Filter("alone").node == planned);
}

TEST_CASE("a single-node question about an old nomination does not move the gang",
          "[engine][filter]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePod("alone").Gpus(8));
  world.Settle();
  const std::string planned = world.Filter("alone").node;
  cluster::Pod old = world.Pod("alone");
  old.nominated_node = planned == "n0" ? "n1" : "n0";
  CHECK(world.engine().Filter({old, {old.nominated_node}}, world.now()).node.empty());
  CHECK(world.Filter("alone").node == planned);
}

TEST_CASE("a pod seen first in a Filter call is planned and woken", "[engine][filter]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  const cluster::Pod stranger = MakePod("stranger").Gpus(1).Scheduler("default-scheduler");
  CHECK(world.engine().Filter({stranger, {"n0"}}, world.now()).node.empty());
  world.Add(stranger);
  world.Settle();
  bool woken = false;
  for (const engine::Action& action : world.log)
    woken = woken || std::holds_alternative<engine::WakePod>(action);
  CHECK(woken);
  CHECK(world.Filter("stranger").node == "n0");
}

TEST_CASE("a Filter call for a pod that was removed does not bring it back", "[engine][filter]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("gone").Gpus(1));
  const cluster::Pod gone = world.Pod("gone");
  world.RemovePod("gone");
  CHECK(world.engine().Filter({gone, {"n0"}}, world.now()).node.empty());
  world.Settle();
  CHECK(world.engine().Count().pods == 0);
}

TEST_CASE("Prioritize gives the planned node the whole score", "[engine][prioritize]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("alone").Gpus(8));
  world.Settle();
  CHECK(world.engine().Prioritize({world.Pod("alone"), {"n0"}}).node == "n0");
  CHECK(world.engine().Prioritize({MakePod("other"), {"n0"}}).node.empty());
}

TEST_CASE("a plan that kube-scheduler rejected is broken until the next cycle looks for another",
          "[engine][replan]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakeNode("n1").Gpus(1));
  world.AddGang("train", 1, 8, 1);
  world.Settle();
  REQUIRE(world.Gang("train").state == engine::GangState::kReserved);
  CHECK(world.Filter("train-0", {"n1"}).node.empty());
  CHECK(world.Gang("train").state == engine::GangState::kQueued);
  CHECK(world.Gang("train").reason.code == engine::ReasonCode::kPlanBroken);
  CHECK(world.engine().Count().reservations == 0);
  world.Pass(cluster::Seconds(1));
  CHECK(world.Gang("train").reason.code != engine::ReasonCode::kPlanBroken);
}

TEST_CASE("with handover pin a gang that is planned again where it is pinned goes on",
          "[engine][replan]") {
  engine::Options options;
  options.hand_over = engine::HandOver::kPin;
  Harness world(options);
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.Add(MakePodGroup("train").MinMember(2));
  for (const char* name : {"train-0", "train-1"})
    world.Add(MakePod(name).Gpus(8).InGroup("train").Owner("job").Gated());
  bool failing = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* release = std::get_if<engine::RemoveGate>(&action);
    if (release == nullptr || release->pod.key.name != "train-1" || !failing) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "500"};
  };
  world.Settle();
  REQUIRE(world.Pod("train-0").gates.empty());
  world.Pass(cluster::Seconds(121));  // the reservation expires
  failing = false;
  world.Pass(cluster::Seconds(120));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == engine::GangState::kRunning);
}

}  // namespace
}  // namespace muster::testing
