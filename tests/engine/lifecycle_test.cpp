#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

void LifecycleAddNodes(Harness& world, int count, int gpus) {
  for (int i = 0; i < count; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(gpus));
}

TEST_CASE("a gang forms until minMember pods exist and says how many are missing",
          "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 2, 8);
  world.AddGang("train", 3, 4, 4);
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.Gang("train").reason == engine::Because(ReasonCode::kWaitingForMembers, 3, 4));
  world.Add(MakePod("train-3").Gpus(4).InGroup("train").Gated());
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
}

TEST_CASE("pods of a PodGroup that does not exist wait for it", "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 1, 8);
  world.Add(MakePod("a").Gpus(1).InGroup("late").Gated());
  world.Settle();
  CHECK(world.Gang("late").reason.code == ReasonCode::kPodGroupMissing);
  world.Add(MakePodGroup("late").MinMember(1));
  world.Settle();
  CHECK(world.Gang("late").state == GangState::kReserved);
}

TEST_CASE("a reserved gang is nominated as a whole before the first gate goes",
          "[engine][handover]") {
  Harness world;
  LifecycleAddNodes(world, 4, 8);
  world.AddGang("train", 4, 8, 4);
  world.Settle();
  size_t nominations = 0;
  for (const engine::Action& action : world.log) {
    if (std::holds_alternative<engine::Nominate>(action)) ++nominations;
    if (std::holds_alternative<engine::RemoveGate>(action)) CHECK(nominations == 4);
  }
  CHECK(nominations == 4);
  for (int i = 0; i < 4; ++i) {
    const cluster::Pod& pod = world.Pod("train-" + std::to_string(i));
    CHECK(pod.gates.empty());
    CHECK(pod.nominated_node == world.Filter(pod.key.name, {pod.nominated_node}).node);
  }
}

// A pod without a node goes at once, unless a finalizer keeps it (Kueue's, on plain pods).
TEST_CASE("a pod that is deleted and stays keeps no room by its nomination", "[engine][handover]") {
  const bool gated = GENERATE(true, false);
  Harness world;
  LifecycleAddNodes(world, 1, 8);
  world.AddGang("train", 2, 4, 2);
  if (gated) {
    world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
      if (!std::holds_alternative<engine::RemoveGate>(action)) return std::nullopt;
      return engine::Outcome{{}, engine::OutcomeKind::kRetry, "later"};
    };
  }
  world.Settle();
  for (const char* name : {"train-0", "train-1"}) {
    REQUIRE(world.Pod(name).nominated_node == "n0");
    REQUIRE(world.Pod(name).gates.empty() == !gated);
    world.Change(name, [](cluster::Pod& pod) { pod.deleting = true; });
  }
  world.Pass(cluster::Seconds(5));
  for (const char* name : {"train-0", "train-1"}) CHECK(world.Pod(name).nominated_node.empty());
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a nomination counts that the watch shows, though its answer never came",
          "[engine][handover]") {
  Harness world;
  LifecycleAddNodes(world, 2, 8);
  world.AddGang("train", 2, 8, 2);
  std::vector<engine::Nominate> unanswered;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* nominate = std::get_if<engine::Nominate>(&action);
    if (nominate == nullptr) return std::nullopt;
    unanswered.push_back(*nominate);
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "no answer"};
  };
  world.Settle();
  REQUIRE(unanswered.size() == 2);
  world.fault = nullptr;
  world.Change("train-0", [&](cluster::Pod& pod) { pod.nominated_node = unanswered[0].node; });
  world.Change("train-1", [&](cluster::Pod& pod) { pod.nominated_node = unanswered[1].node; });
  world.Pass(cluster::Seconds(2));
  CHECK(world.Pod("train-0").gates.empty());
  CHECK(world.Pod("train-1").gates.empty());
}

TEST_CASE("a Bind call for a pod that still has its gate does not leave the gate there",
          "[engine][handover]") {
  Harness world;
  LifecycleAddNodes(world, 2, 8);
  world.AddGang("train", 2, 8, 2);
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* release = std::get_if<engine::RemoveGate>(&action);
    if (release == nullptr || release->pod.key.name != "train-1") return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "no answer"};
  };
  world.Settle();
  REQUIRE(world.Pod("train-1").gates.size() == 1);
  const uint64_t early = world.Bind("train-1");
  world.Settle();
  world.fault = nullptr;
  world.Pass(cluster::Seconds(2));
  CHECK(world.Pod("train-1").gates.empty());
  world.Bind("train-0");
  world.Settle();
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.bind_answers.contains(early));
  CHECK(world.bind_answers[early].empty());
}

TEST_CASE("pods that a controller would create again may be pinned instead of nominated",
          "[engine][handover]") {
  engine::Options options;
  options.hand_over = engine::HandOver::kPin;
  Harness world(options);
  LifecycleAddNodes(world, 2, 8);
  world.Add(MakePodGroup("train").MinMember(2));
  world.Add(MakePod("owned").Gpus(8).InGroup("train").Gated().Owner("job-1"));
  world.Add(MakePod("lone").Gpus(8).InGroup("train").Gated());
  world.Settle();
  std::map<std::string, std::string> pins;
  for (const engine::Action& action : world.log) {
    if (const auto* nominate = std::get_if<engine::Nominate>(&action)) {
      CHECK(nominate->pod.key.name == "lone");
    } else if (const auto* release = std::get_if<engine::RemoveGate>(&action)) {
      pins[release->pod.key.name] = release->pin;
    }
  }
  CHECK(pins["lone"].empty());
  CHECK(pins["owned"] == world.Filter("owned").node);
  CHECK(world.Pod("lone").nominated_node == world.Filter("lone").node);
  CHECK(world.Pod("owned").nominated_node.empty());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a gang runs from its first pod to its last", "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 4, 8);
  world.AddGang("train", 4, 8, 4);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 4);
  for (int i = 0; i < 4; ++i) {
    const cluster::Pod& pod = world.Pod("train-" + std::to_string(i));
    CHECK(pod.bound_gpus.size() == 8);
    world.Change(pod.key.name, [](cluster::Pod& p) { p.phase = cluster::PodPhase::kSucceeded; });
  }
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kFinished);
  CHECK(world.engine().Count().gpu_free_milli == 32000);
}

TEST_CASE("of two gangs that each need more than half, one runs and the other holds nothing",
          "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 16, 8);
  world.AddGang("a", 80, 1, 80);
  world.AddGang("b", 80, 1, 80);
  world.ScheduleAll("a");
  world.ScheduleAll("b");
  CHECK(world.BoundIn("a") == 80);
  CHECK(world.BoundIn("b") == 0);
  CHECK(world.Gang("b").state == GangState::kQueued);
  const engine::Reason reason = world.Gang("b").reason;
  CHECK(reason.code == ReasonCode::kNotEnoughGpus);
  CHECK(reason.have == 48'000);
  CHECK(reason.need == 80'000);
  CHECK(world.engine().Count().reservations == 0);
  for (int i = 0; i < 80; ++i) world.RemovePod("a-" + std::to_string(i));
  world.ScheduleAll("b");
  CHECK(world.Gang("b").state == GangState::kRunning);
}

TEST_CASE("a pod without a PodGroup is a gang of one", "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 1, 8);
  world.Add(MakePod("alone").Gpus(2));
  world.Settle();
  CHECK(world.Gang("alone").state == GangState::kReserved);
  const uint64_t ticket = world.Bind("alone");
  world.Settle();
  CHECK(world.bind_answers.at(ticket).empty());
  CHECK(world.Pod("alone").node_name == "n0");
  CHECK(world.Gang("alone").state == GangState::kRunning);
}

TEST_CASE("a gang of several roles is placed as one", "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 2, 8);
  world.Add(MakeNode("cpu").Cpu(8));
  world.Add(MakePodGroup("mixed").MinMember(4).Role("worker", 2).Role("launcher", 1));
  world.Add(MakePod("mixed-launcher").InGroup("mixed").Role("launcher").Gated());
  world.Add(MakePod("mixed-big-0").Gpus(8).InGroup("mixed").Role("worker").Gated());
  world.Add(MakePod("mixed-small-0").Gpus(4).InGroup("mixed").Role("worker").Gated());
  world.Settle();
  CHECK(world.Gang("mixed").state == GangState::kForming);
  world.Add(MakePod("mixed-small-1").Gpus(4).InGroup("mixed").Role("worker").Gated());
  world.ScheduleAll("mixed");
  CHECK(world.Gang("mixed").state == GangState::kRunning);
  CHECK(world.Pod("mixed-launcher").node_name == "cpu");
}

TEST_CASE("a gang without a pod of one role waits for it, however many it has of another",
          "[engine][gang]") {
  Harness world;
  LifecycleAddNodes(world, 2, 8);
  world.Add(MakePodGroup("mixed").MinMember(3).Role("worker", 2).Role("launcher", 1));
  for (int i = 0; i < 4; ++i) {
    world.Add(
        MakePod("mixed-" + std::to_string(i)).Gpus(4).InGroup("mixed").Role("worker").Gated());
  }
  PodBuilder launcher = MakePod("mixed-launcher-0").Gpus(0).InGroup("mixed").Role("launcher");
  ReasonCode reason = ReasonCode::kWaitingForMembers;
  SECTION("it does not exist") { launcher.Gated(); }
  SECTION("another controller holds it back") {
    world.Add(launcher.Gated().Gated("example.com/quota"));
    reason = ReasonCode::kGatedByOthers;
  }
  world.Settle();
  CHECK(world.Gang("mixed").state == GangState::kForming);
  CHECK(world.Gang("mixed").reason == engine::Because(reason, 4, 5));
  // Nor does it keep others from their room.
  world.AddGang("other", 4, 4, 4);
  world.ScheduleAll("other");
  CHECK(world.Gang("other").state == GangState::kRunning);
  for (int i = 0; i < 4; ++i) world.RemovePod("other-" + std::to_string(i));
  world.Add(MakePod("mixed-launcher-1").InGroup("mixed").Role("launcher").Gated());
  world.ScheduleAll("mixed");
  CHECK(world.Gang("mixed").state == GangState::kRunning);
}

TEST_CASE("members beyond minMember start when there is room for them", "[engine][elastic]") {
  Harness world;
  LifecycleAddNodes(world, 2, 4);
  world.AddGang("elastic", 4, 4, 1);
  world.ScheduleAll("elastic");
  CHECK(world.BoundIn("elastic") == 2);
  CHECK(world.Gang("elastic").state == GangState::kRunning);
  LifecycleAddNodes(world, 3, 4);
  world.ScheduleAll("elastic");
  CHECK(world.BoundIn("elastic") == 3);
}

TEST_CASE("priority takes precedence over age, and age over name", "[engine][order]") {
  Harness world;
  LifecycleAddNodes(world, 1, 8);
  world.Add(MakePod("first").Gpus(8).CreatedAt(5));
  world.ScheduleAll("");
  for (const auto& [name, created, priority] : std::vector<std::tuple<std::string, int64_t, int>>{
           {"c", 10, 0}, {"b", 20, 0}, {"a", 20, 0}, {"d", 30, 7}}) {
    world.Add(MakePod(name).Gpus(8).CreatedAt(created).Priority(priority));
  }
  world.Settle();
  std::vector<std::string> order;
  std::string running = "first";
  for (int i = 0; i < 4; ++i) {
    world.RemovePod(running);
    world.ScheduleAll("");
    for (const std::string name : {"a", "b", "c", "d"}) {
      if (world.engine().FindGang({"default", name}) &&
          world.Gang(name).state == GangState::kRunning)
        running = name;
    }
    order.push_back(running);
  }
  CHECK(order == std::vector<std::string>{"d", "c", "a", "b"});
}

TEST_CASE("with strict order nothing overtakes a gang that does not fit", "[engine][order]") {
  engine::Options options;
  options.queues = queues::OneQueue(queues::Order::kStrictFifo);
  Harness world(options);
  LifecycleAddNodes(world, 2, 8);
  world.Add(MakePod("filler").Gpus(4));
  world.ScheduleAll("");
  world.Add(MakePodGroup("big").MinMember(2).CreatedAt(1));
  for (int i = 0; i < 2; ++i)
    world.Add(MakePod("big-" + std::to_string(i)).Gpus(8).InGroup("big").Gated());
  world.Add(MakePod("small").Gpus(1).CreatedAt(2));
  world.Settle();
  CHECK(world.Gang("big").state == GangState::kQueued);
  CHECK(world.Gang("small").reason.code == ReasonCode::kBlockedByOrder);
  CHECK(world.Gang("small").reason.detail == "default/big");
  world.RemovePod("filler");
  world.ScheduleAll("big");
  CHECK(world.Gang("big").state == GangState::kRunning);
  CHECK(world.Gang("small").reason.code == ReasonCode::kNotEnoughGpus);
}

TEST_CASE("a gang that waits costs no write while nothing changes", "[engine][quiet]") {
  Harness world;
  LifecycleAddNodes(world, 2, 8);
  world.AddGang("big", 3, 8, 3);
  world.AddGang("later", 20, 1, 20);
  world.Pass(cluster::Seconds(400));  // until its members are told
  const int before = world.writes;
  for (int i = 0; i < 50; ++i) {
    world.Filter("big-0");
    world.Add(MakeNode("n0").Gpus(8));  // a heartbeat
    world.Pass(cluster::Seconds(10));
  }
  CHECK(world.writes == before);
}

TEST_CASE("a restart keeps what is bound and plans the rest on the nominated nodes",
          "[engine][restart]") {
  Harness world;
  LifecycleAddNodes(world, 6, 8);
  world.AddGang("runs", 2, 8, 2);
  world.ScheduleAll("runs");
  world.AddGang("half", 2, 8, 2);
  world.Settle();
  const std::string planned = world.Pod("half-1").nominated_node;
  const std::string before = world.Pod("runs-0").node_name;
  world.Restart();
  world.Settle();
  CHECK(world.Gang("runs").state == GangState::kRunning);
  CHECK(world.Pod("runs-0").node_name == before);
  CHECK(world.Gang("half").state == GangState::kReserved);
  CHECK(world.Pod("half-1").nominated_node == planned);
  world.ScheduleAll("half");
  CHECK(world.BoundIn("half") == 2);
}

TEST_CASE("a follower, which judges nothing, forgets gangs that are gone", "[engine][gang]") {
  engine::Scheduler follower(engine::Options{});
  const std::string empty = follower.Dump();
  for (int i = 0; i < 3; ++i) {
    const std::string name = "g" + std::to_string(i);
    const cluster::PodGroup group = MakePodGroup(name).Uid(name);
    const cluster::Pod member = MakePod(name + "-0").InGroup(name);
    const cluster::Pod alone = MakePod("alone" + std::to_string(i));
    const cluster::Time now(i);
    for (const cluster::Pod& pod : {member, alone}) follower.Apply(pod, now);
    follower.Apply(group, now);
    const bool group_first = i % 2 == 0;
    if (group_first) follower.Apply(engine::PodGroupRemoved{group.uid}, now);
    for (const cluster::Pod& pod : {member, alone})
      follower.Apply(engine::PodRemoved{pod.uid}, now);
    if (!group_first) follower.Apply(engine::PodGroupRemoved{group.uid}, now);
    CHECK(follower.Gangs().empty());
    CHECK(follower.Dump() == empty);
  }
}

}  // namespace
}  // namespace muster::testing
