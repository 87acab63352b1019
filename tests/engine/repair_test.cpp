#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

struct RunningWorld : Harness {
  explicit RunningWorld(engine::Options options = {}, int nodes = 4) : Harness(options) {
    for (int i = 0; i < nodes; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    AddGang("train", 4, 8, 4);
    ScheduleAll("train");
  }
};

TEST_CASE("a running gang that loses a member is degraded and takes a replacement",
          "[engine][repair]") {
  RunningWorld world;
  world.RemovePod("train-1");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Gang("train").reason == engine::Because(ReasonCode::kMembersLost, 3, 4));
  world.Add(MakePod("train-1").Uid("second").Gpus(8).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a gang partially bound for 60 s has its bound members evicted", "[engine][repair]") {
  RunningWorld world;
  world.RemovePod("train-1");
  world.Pass(cluster::Seconds(59));
  CHECK(world.Evictions() == 0);
  world.Pass(cluster::Seconds(1));
  CHECK(world.Evictions() == 3);
  CHECK(world.Gang("train").state == GangState::kBackoff);
  CHECK(world.Gang("train").reason.code == ReasonCode::kRepairing);
  for (const std::string name : {"train-0", "train-2", "train-3"}) world.RemovePod(name);
  world.Settle();
  CHECK(world.engine().Count().gpu_free_milli == 32000);
}

TEST_CASE("a partial gang is held where the policy says so", "[engine][repair]") {
  engine::Options options;
  options.partial_gang = engine::PartialGang::kHold;
  RunningWorld world(options);
  world.RemovePod("train-1");
  world.Pass(cluster::Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kDegraded);
}

TEST_CASE("members that succeeded still count, so the others are left alone", "[engine][repair]") {
  RunningWorld world;
  world.Change("train-1", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
  world.Pass(cluster::Seconds(120));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("an eviction that fails is tried again", "[engine][repair]") {
  RunningWorld world;
  int refusals = 5;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!std::holds_alternative<engine::EvictPod>(action) || refusals-- <= 0) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "429"};
  };
  world.RemovePod("train-1");
  world.Pass(cluster::Seconds(70));
  for (const std::string name : {"train-0", "train-2", "train-3"}) CHECK(world.Pod(name).deleting);
}

TEST_CASE("a gang bound in part when Muster restarts is completed", "[engine][repair][restart]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.Change("train-0", [](cluster::Pod& pod) {
    pod.gates.clear();
    pod.node_name = "n2";
    pod.bound_gpus = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  });
  world.Restart();
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kBinding);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("train-0").node_name == "n2");
}

TEST_CASE("the rest of a gang that is bound in part is bound as its calls come, one by one",
          "[engine][repair][restart]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  for (const std::string name : {"train-0", "train-1", "train-2"}) {
    world.Settle();
    world.Bind(name);
    if (name == "train-0") {
      world.Settle();
      CHECK(world.BoundIn("train") == 0);  // nothing is: the first ones wait for all
      world.Change(name, [](cluster::Pod& pod) {
        pod.node_name = pod.nominated_node;  // an earlier Muster's Binding came true
        pod.bound_gpus = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
      });
    }
    world.Settle();
    CHECK(world.Pod(name).bound());
    world.Restart();  // a life is too short for two calls
  }
  CHECK(world.BoundIn("train") == 3);
}

TEST_CASE("a released member that was asked about before Muster was there is woken",
          "[engine][repair][restart]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.Settle();
  for (const std::string name : {"train-0", "train-1"}) CHECK(world.Pod(name).gates.empty());
  world.Restart();  // kube-scheduler was refused meanwhile, and does not look again by itself
  const auto woken = [&] {
    return std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
      return std::holds_alternative<engine::WakePod>(action);
    });
  };
  const auto before = woken();
  world.Settle();
  CHECK(woken() == before + 4);
  world.Pass(cluster::Seconds(30));
  CHECK(woken() == before + 4);  // once suffices
}

TEST_CASE("a gang of another schedulerName that was bound in part is found again after a restart",
          "[engine][repair][restart]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePodGroup("train").MinMember(3));
  for (const std::string name : {"train-0", "train-1", "train-2"}) {
    world.Add(MakePod(name).Gpus(8).InGroup("train").Scheduler("default-scheduler"));
  }
  const auto bind = [&](const std::string& name, const std::string& node) {
    world.Change(name, [&](cluster::Pod& pod) {
      pod.node_name = node;
      pod.bound_gpus = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
      pod.bound_by_muster = true;
    });
  };
  bind("train-0", "n0");
  SECTION("and completed") {
    bind("train-1", "n1");
    world.Restart();
    world.Settle();
    CHECK(world.Gang("train").bound == 2);
    world.ScheduleAll("train");  // kube-scheduler's first question makes it Muster's again
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("and cleared away, when its other pods are gone") {
    world.Restart();
    world.RemovePod("train-1");
    world.RemovePod("train-2");
    world.Pass(cluster::Seconds(61));
    CHECK(world.Pod("train-0").deleting);
  }
}

TEST_CASE("a gang is Muster's as soon as one of its pods is", "[engine][gang]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePodGroup("train").MinMember(2));
  world.Add(MakePod("train-0").Gpus(8).InGroup("train").Scheduler("default-scheduler"));
  world.Add(MakePod("train-1").Gpus(8).InGroup("train").Scheduler("default-scheduler"));
  world.Settle();
  CHECK(world.Gang("train").members.empty());
  world.Filter("train-1");
  CHECK(world.Gang("train").members.size() == 2);
  world.ScheduleAll("train");  // kube-scheduler asks about both; then both are Muster's to place
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a node whose broken device is in use gets no more GPUs than kube-scheduler counts",
          "[engine][nodes]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("runs", 1, 1, 1);
  world.ScheduleAll("runs");
  world.Add(MakeNode("n0").Gpus(8).Unhealthy(0));  // seven are healthy, one is in use
  world.AddGang("wants-seven", 1, 7, 1);
  world.Settle();
  CHECK(world.Gang("wants-seven").state == GangState::kQueued);
  world.RemovePod("wants-seven-0");
  world.AddGang("wants-six", 1, 6, 1);
  world.ScheduleAll("wants-six");
  CHECK(world.Gang("wants-six").state == GangState::kRunning);
}

TEST_CASE("a plan outlives that its node is over-committed in what the pod does not ask for",
          "[engine][nodes]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("train", 1, 8, 1);
  world.Change("train-0", [](cluster::Pod& pod) {
    cluster::PodSpec spec = *pod.spec;
    spec.requests.cpu = cluster::MilliCpu(0);
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
  });
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  world.Add(MakePod("thief").Gpus(0).MilliCpu(1'000'000).Scheduler("other").BoundTo("n0"));
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("what a binding in doubt was planned on stays reserved when its node is recreated",
          "[engine][nodes]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("train", 1, 4, 1);
  bool lost = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!lost || !std::holds_alternative<engine::BindPod>(action)) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "no answer"};
  };
  world.ScheduleAll("train");
  CHECK_FALSE(world.Pod("train-0").bound());
  world.RemoveNode("n0");
  world.Settle();
  world.Add(MakeNode("n0").Uid("another").Gpus(8));
  world.Settle();
  CHECK(world.engine().Count().gpu_free_milli == 4000);
  world.AddGang("other", 1, 8, 1);
  world.Settle();
  CHECK(world.Gang("other").state == GangState::kQueued);
  lost = false;
  world.Pass(cluster::Seconds(5));
  CHECK(world.Pod("train-0").node_name == "n0");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a node lost after the plan moves the whole gang before anything is bound",
          "[engine][nodes]") {
  Harness world;
  for (int i = 0; i < 5; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.Settle();
  const std::string lost = world.Filter("train-0").node;
  SECTION("removed") { world.RemoveNode(lost); }
  SECTION("cordoned") { world.Add(MakeNode(lost).Gpus(8).Cordoned()); }
  SECTION("not ready") { world.Add(MakeNode(lost).Gpus(8).NotReady()); }
  SECTION("its GPUs gone") { world.Add(MakeNode(lost).Gpus(0)); }
  SECTION("tainted") {
    world.Add(MakeNode(lost).Gpus(8).Taint("k", "v", cluster::TaintEffect::kNoSchedule));
  }
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kBackoff);
  CHECK(world.engine().Count().reservations == 0);
  world.Pass(cluster::Seconds(1));
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.Filter("train-0").node != lost);
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a node that shrinks under running pods harms nobody", "[engine][nodes]") {
  RunningWorld world;
  world.Add(MakeNode("n0").Gpus(2));
  world.Pass(cluster::Seconds(100));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
  world.Add(MakeNode("n0").Gpus(8));
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("room that another scheduler took breaks the plan before it is bound",
          "[engine][nodes]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 2, 8, 2);
  world.Settle();
  const std::string taken = world.Filter("train-0").node;
  world.Add(MakePod("thief").Gpus(4).Scheduler("default-scheduler").BoundTo(taken));
  world.Pass(cluster::Seconds(1));
  CHECK(world.Gang("train").state == GangState::kReserved);
  for (const std::string name : {"train-0", "train-1"}) CHECK(world.Filter(name).node != taken);
}

TEST_CASE("a gang whose member is deleted while Reserved gives everything back", "[engine][gang]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.Settle();
  const uint64_t ticket = world.Bind("train-0");
  world.RemovePod("train-3");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.engine().Count().reservations == 0);
  CHECK_FALSE(world.bind_answers.at(ticket).empty());
}

TEST_CASE("a PodGroup that is recreated under its name starts over", "[engine][gang]") {
  RunningWorld world;
  for (int i = 0; i < 4; ++i) world.RemovePod("train-" + std::to_string(i));
  world.Add(MakePodGroup("train").Uid("second").MinMember(2));
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  for (int i = 0; i < 2; ++i) {
    world.Add(MakePod("train-" + std::to_string(i))
                  .Uid("new-" + std::to_string(i))
                  .Gpus(8)
                  .InGroup("train")
                  .Gated());
  }
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a malformed pod beside a gang that runs is left out, and a lost member replaced",
          "[engine][repair]") {
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  world.AddGang("train", 2, 8, 2);
  world.ScheduleAll("train");
  world.Add(MakePod("odd").InGroup("train").Gated().Defect("gpu-fraction: is lots"));
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("train").state == engine::GangState::kRunning);
  world.RemovePod("train-1");
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("train").state == engine::GangState::kDegraded);
  world.Add(MakePod("train-2").Gpus(8).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == engine::GangState::kRunning);
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.Pod("odd").gates.size() == 1);
  CHECK(std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
          const auto* event = std::get_if<engine::EmitEvent>(&action);
          return event != nullptr && event->reason == "GangMemberLeftOut" && event->warning &&
                 event->message == "pod odd is left out: gpu-fraction: is lots";
        }) == 1);
  world.Change("odd", [](cluster::Pod& pod) { pod.defect.clear(); });
  world.ScheduleAll("train");
  CHECK(world.Pod("odd").bound());
}

TEST_CASE("a member that becomes malformed before it is bound gives back what it holds",
          "[engine][repair]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("train", 1, 4, 1);
  world.ScheduleAll("train");
  world.Add(MakePod("odd").Gpus(4).InGroup("train").Gated());
  world.Settle();
  REQUIRE(world.engine().Count().reservations == 1);
  world.Change("odd", [](cluster::Pod& pod) { pod.defect = "gpu-fraction: is lots"; });
  world.Settle();
  CHECK(world.engine().Count().reservations == 0);
  CHECK(world.Gang("train").state == engine::GangState::kRunning);
}

TEST_CASE("a gang that has never run waits until its malformed member is fixed",
          "[engine][repair]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("train", 2, 4, 2);
  world.Add(MakePod("odd").InGroup("train").Gated().Defect("gpu-fraction: is lots"));
  world.Pass(cluster::Seconds(10));
  CHECK(world.Gang("train").state == engine::GangState::kInvalid);
  CHECK(world.engine().Count().reservations == 0);
}

}  // namespace
}  // namespace muster::testing
