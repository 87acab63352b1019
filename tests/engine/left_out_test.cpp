// Nodes and devices on which members fail at their start are left out for new members for a while.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

// n0 … of `gpus` GPUs each.
void AddNodes(Harness& world, int nodes, int gpus = 8) {
  for (int i = 0; i < nodes; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(gpus));
}

void Fails(Harness& world, const std::string& pod, bool admission = true,
           cluster::Duration ran = {}) {
  world.Change(pod, [&](cluster::Pod& record) {
    record.phase = cluster::PodPhase::kFailed;
    record.running_since = {};
    record.start_failure = std::make_shared<const cluster::StartFailure>(cluster::StartFailure{
        admission, admission ? "UnexpectedAdmissionError" : "Error", world.now(), ran});
  });
  world.Settle();
}

void Runs(Harness& world, const std::string& pod) {
  world.Change(pod, [&](cluster::Pod& record) {
    record.phase = cluster::PodPhase::kRunning;
    record.running_since = world.now();
  });
  world.Settle();
}

// A pod "NAME" of `owner` starts on the node that Muster chose, which is returned.
std::string Start(Harness& world, const std::string& name, const std::string& owner = "",
                  PodBuilder pod = MakePod("x").Gpus(1)) {
  cluster::Pod record = pod.Build();
  record.uid = cluster::PodUid("pod-" + name);
  record.key.name = name;
  record.owner_uid = owner;
  world.Add(record);
  world.ScheduleAll("");
  return world.Pod(name).node_name;
}

// Such a pod that fails there, a while after the one before it.
std::string FailsOn(Harness& world, const std::string& name, const std::string& owner,
                    bool admission = true) {
  world.Pass(Seconds(20));
  const std::string node = Start(world, name, owner);
  if (!node.empty()) Fails(world, name, admission);
  return node;
}

std::optional<engine::LeftOut> LeftOutOf(Harness& world, const std::string& node) {
  for (const engine::NodeView& view : world.engine().Nodes()) {
    if (view.node.name == node) return view.left_out;
  }
  return std::nullopt;
}

bool Out(Harness& world, const std::string& node) { return LeftOutOf(world, node).has_value(); }

int Events(const Harness& world, const std::string& reason) {
  int count = 0;
  for (const engine::Action& action : world.log) {
    const auto* event = std::get_if<engine::EmitEvent>(&action);
    if (event == nullptr || event->reason != reason) continue;
    CHECK(event->on_node);
    CHECK(event->key.ns == "default");
    ++count;
  }
  return count;
}

TEST_CASE("a node that turns three pods of one Job down is left out, and the next goes elsewhere",
          "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(Out(world, "n0"));
    CHECK(FailsOn(world, "job-" + std::to_string(i), "job") == "n0");
  }
  REQUIRE(Out(world, "n0"));
  CHECK(LeftOutOf(world, "n0")->why ==
        "the node: 3 pods of 1 gang failed there at their start, the last one default/job-2: "
        "UnexpectedAdmissionError at admission");
  CHECK(Events(world, "NodeLeftOut") == 1);
  CHECK(world.engine().Count().nodes_left_out == 1);
  CHECK(world.engine().Count().starts_refused == 3);
  CHECK(Start(world, "job-3", "job") == "n1");
}

TEST_CASE("two gangs that fail on one node are enough", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  CHECK(FailsOn(world, "a", "job-a") == "n0");
  CHECK_FALSE(Out(world, "n0"));
  CHECK(FailsOn(world, "b", "job-b") == "n0");
  CHECK(Out(world, "n0"));
}

TEST_CASE("the node comes back after its time, and goes for twice as long when it fails again",
          "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  FailsOn(world, "a", "job-a");
  FailsOn(world, "b", "job-b");
  REQUIRE(Out(world, "n0"));
  world.Pass(Seconds(299));
  CHECK(Out(world, "n0"));
  world.Pass(Seconds(2));
  CHECK_FALSE(Out(world, "n0"));
  CHECK(Events(world, "NodeReturned") == 1);
  CHECK(FailsOn(world, "c", "job-c") == "n0");
  REQUIRE(Out(world, "n0"));
  world.Pass(Seconds(599));
  CHECK(Out(world, "n0"));
  world.Pass(Seconds(2));
  CHECK_FALSE(Out(world, "n0"));
}

TEST_CASE("a member that starts well takes back what was held against its node",
          "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  FailsOn(world, "a", "job-a");
  world.Pass(Seconds(20));
  REQUIRE(Start(world, "good") == "n0");
  Runs(world, "good");
  world.Pass(Seconds(11));
  CHECK(FailsOn(world, "b", "job-b") == "n0");
  CHECK_FALSE(Out(world, "n0"));
  CHECK(FailsOn(world, "c", "job-c") == "n0");
  CHECK(Out(world, "n0"));
}

TEST_CASE("what started before the node broke says nothing, and nor does what has no GPU",
          "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  REQUIRE(Start(world, "old") == "n0");
  Runs(world, "old");
  world.Pass(Seconds(60));
  FailsOn(world, "a", "job-a");
  world.Add(MakePod("cpu").BoundTo("n0"));
  Runs(world, "cpu");
  world.Change("old", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kSucceeded; });
  world.Pass(Seconds(60));
  FailsOn(world, "b", "job-b");
  CHECK(Out(world, "n0"));
}

TEST_CASE("a container counts when it fails at once, and what is deleted never",
          "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  for (int i = 0; i < 3; ++i) {
    world.Pass(Seconds(20));
    const std::string name = "late-" + std::to_string(i);
    REQUIRE(Start(world, name, "late") == "n0");
    Fails(world, name, false, Seconds(11));
  }
  CHECK_FALSE(Out(world, "n0"));
  for (int i = 0; i < 3; ++i) {
    world.Pass(Seconds(20));
    const std::string name = "killed-" + std::to_string(i);
    REQUIRE(Start(world, name, "killed") == "n0");
    world.Change(name, [](cluster::Pod& pod) { pod.deleting = true; });
    Fails(world, name, false, Seconds(1));
  }
  CHECK_FALSE(Out(world, "n0"));
  CHECK(world.engine().Count().starts_failed == 0);
  for (const char* name : {"early", "soon"}) {
    world.Pass(Seconds(20));
    REQUIRE(Start(world, name, name, MakePod("x").Gpus(1).Priority(name[0])) == "n0");
    Fails(world, name, false, Seconds(10));
  }
  CHECK(Out(world, "n0"));
  CHECK(world.engine().Count().starts_failed == 2);
}

TEST_CASE("containers of one template that crash take no node from others, whatever their number",
          "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  const bool by_name = GENERATE(true, false);  // that the sweep's pods are of one template
  for (int i = 0; i < 6; ++i) {
    world.Pass(Seconds(20));
    const std::string name = by_name ? "sweep-" + std::to_string(i) : std::string(1, char('a' + i));
    REQUIRE(Start(world, name, name, MakePod("x").Gpus(1).Priority(by_name ? i : 0)) == "n0");
    Fails(world, name, false, Seconds(1));
  }
  CHECK_FALSE(Out(world, "n0"));
  CHECK(world.engine().Count().starts_failed == 6);

  SECTION("until one of another template crashes there too") {
    world.Pass(Seconds(20));
    REQUIRE(Start(world, "other", "other", MakePod("x").Gpus(1).Priority(7)) == "n0");
    Fails(world, "other", false, Seconds(1));
    CHECK(Out(world, "n0"));
  }
  SECTION("until one of another namespace crashes there too") {
    world.Add(MakePod("sweep-9").Namespace("team-b").Gpus(1).BoundTo("n0").Owner("sweep-9"));
    world.Settle();
    Fails(world, "sweep-9", false, Seconds(1));
    CHECK(Out(world, "n0"));
  }
  SECTION("until the kubelet turns two gangs down there") {
    FailsOn(world, "sweep-7", "sweep-7");
    CHECK_FALSE(Out(world, "n0"));
    FailsOn(world, "sweep-8", "sweep-8");
    CHECK(Out(world, "n0"));
  }
}

TEST_CASE("members of one gang that bring each other down count once", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  for (int i = 0; i < 8; ++i) {
    const PodBuilder role = MakePod("x").Gpus(1).Priority(i % 2);
    REQUIRE(Start(world, std::string(1, char('a' + i)), "train", role) == "n0");
  }
  for (int i = 0; i < 8; ++i) Fails(world, std::string(1, char('a' + i)), false, Seconds(1));
  CHECK_FALSE(Out(world, "n0"));
}

TEST_CASE("a gang that is turned down everywhere takes no node out for long", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 50);
  std::set<std::string> hit;
  for (int i = 0; i < 30; ++i) hit.insert(FailsOn(world, "bad-" + std::to_string(i), "bad"));
  CHECK(hit == std::set<std::string>{"n0", "n1", "n10"});
  CHECK(world.engine().Count().nodes_left_out == 0);
  CHECK(Events(world, "NodeLeftOut") == 2);
  CHECK(Events(world, "NodeReturned") == 2);
}

TEST_CASE("no more than a share of the nodes is left out at a time", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 20);
  for (int i = 0; i < 60; ++i) FailsOn(world, "p-" + std::to_string(i), "j-" + std::to_string(i));
  CHECK(world.engine().Count().nodes_left_out == 2);
}

TEST_CASE("in a cluster of one node it is never left out, nor where the policy says so",
          "[engine][leftout]") {
  engine::Options options;
  const bool alone = GENERATE(true, false);
  if (!alone) options.bad_nodes.most_percent = 0;
  Harness world(options);
  AddNodes(world, alone ? 1 : 4);
  for (int i = 0; i < 6; ++i) FailsOn(world, "p-" + std::to_string(i), "j-" + std::to_string(i));
  CHECK_FALSE(Out(world, "n0"));
  CHECK(world.engine().Count().starts_refused == 6);
}

TEST_CASE("where a pod's devices are known the device is left out and not the node",
          "[engine][leftout]") {
  Harness world;
  for (int i = 0; i < 4; ++i) {
    world.Add(MakeNode("n" + std::to_string(i)).Gpus(4).Sharing(cluster::GpuSharing::Fractional()));
  }
  const auto share = MakePod("x").GpuShare(500);
  for (int i = 0; i < 3; ++i) {
    world.Pass(Seconds(20));
    const std::string name = "job-" + std::to_string(i);
    REQUIRE(Start(world, name, "job", share) == "n0");
    REQUIRE(world.Pod(name).bound_gpus.front().value == 0);
    Fails(world, name);
  }
  REQUIRE(Out(world, "n0"));
  CHECK(LeftOutOf(world, "n0")->gpus == std::vector<cluster::GpuIndex>{cluster::GpuIndex{0}});
  CHECK(world.engine().Count().nodes_left_out == 0);
  CHECK(world.engine().Count().gpus_left_out == 1);
  CHECK(Start(world, "job-3", "job", share) == "n0");
  CHECK(world.Pod("job-3").bound_gpus.front().value == 1);
  // Not a reason to say that four devices on one node can never be had.
  world.Add(MakePod("all").Constraints({}).GpuShare(500, 4).Select("kubernetes.io/hostname", "n0"));
  world.Add(MakeNode("n0")
                .Gpus(4)
                .Sharing(cluster::GpuSharing::Fractional())
                .Label("kubernetes.io/hostname", "n0"));
  world.Settle();
  CHECK(world.Gang("all").state == GangState::kQueued);
  world.Pass(Seconds(310));
  CHECK(world.Gang("all").state == GangState::kReserved);
}

TEST_CASE("two devices left out are the node", "[engine][leftout]") {
  Harness world;
  for (int i = 0; i < 4; ++i) {
    world.Add(MakeNode("n" + std::to_string(i)).Gpus(4).Sharing(cluster::GpuSharing::Fractional()));
  }
  for (int i = 0; i < 6; ++i) {
    world.Pass(Seconds(20));
    const std::string name = "job-" + std::to_string(i);
    REQUIRE(Start(world, name, "job", MakePod("x").GpuShare(500)) == "n0");
    Fails(world, name);
  }
  CHECK(LeftOutOf(world, "n0")->gpus.empty());
  CHECK(world.engine().Count().nodes_left_out == 1);
  CHECK(Start(world, "job-6", "job", MakePod("x").GpuShare(500)) == "n1");
}

TEST_CASE("a gang that only the left-out node suits says so, and never that it cannot fit",
          "[engine][leftout]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8).Label("zone", "a"));
  for (int i = 1; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  FailsOn(world, "a", "job-a");
  FailsOn(world, "b", "job-b");
  REQUIRE(Out(world, "n0"));
  world.Add(MakePod("picky").Gpus(8).Select("zone", "a").Gated());
  world.Add(MakePod("big").Gpus(9).Gated());
  world.AddGang("all", 4, 8, 4);
  world.Settle();
  CHECK(world.Gang("picky").state == GangState::kQueued);
  CHECK(world.Gang("picky").reason.code == ReasonCode::kNodesLeftOut);
  CHECK(world.Gang("big").state == GangState::kUnsatisfiable);
  CHECK(world.Gang("all").state == GangState::kQueued);
  CHECK(engine::Describe(world.Gang("all").reason) ==
        "not enough free GPUs: it wants 32 GPUs (4 × 8), 24 were free on the 3 nodes that it may "
        "use, the cluster has 32; 3/4 nodes had room at its last try: 1 left out because pods "
        "failed there at their start; 3 of 4 members would fit");
}

TEST_CASE("a plan on a node that is left out is made again", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  REQUIRE(Start(world, "a", "job-a") == "n0");
  REQUIRE(Start(world, "b", "job-b") == "n0");
  world.AddGang("train", 2, 1, 2);
  world.Settle();
  REQUIRE(world.Gang("train").members.front().planned_node == "n0");
  Fails(world, "a");
  Fails(world, "b");
  world.Pass(cluster::Seconds(1));
  CHECK(world.Gang("train").members.front().planned_node == "n1");
}

TEST_CASE("after a restart failed pods that still exist are counted again", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  FailsOn(world, "a", "job-a");
  FailsOn(world, "b", "job-b");
  world.Restart();
  world.Settle();
  CHECK(Out(world, "n0"));
  // Not those that are older than what started well since.
  world.Pass(Seconds(400));
  REQUIRE(Start(world, "good") == "n0");
  Runs(world, "good");
  world.Pass(Seconds(20));
  world.Restart();
  world.Settle();
  world.Pass(Seconds(20));
  CHECK_FALSE(Out(world, "n0"));
}

TEST_CASE("another node of that name begins without a past", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  FailsOn(world, "a", "job-a");
  FailsOn(world, "b", "job-b");
  REQUIRE(Out(world, "n0"));
  world.Add(MakeNode("n0").Uid("another").Gpus(8));
  world.Settle();
  CHECK_FALSE(Out(world, "n0"));
  CHECK(Start(world, "c") == "n0");
}

TEST_CASE("a heartbeat does not bring a left-out node back", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  FailsOn(world, "a", "job-a");
  FailsOn(world, "b", "job-b");
  world.Add(MakeNode("n0").Gpus(8).Label("heart", "beat"));
  world.Settle();
  CHECK(Out(world, "n0"));
  CHECK(Start(world, "c") == "n1");
}

TEST_CASE("failed starts take no memory without bound", "[engine][leftout]") {
  Harness world;
  AddNodes(world, 4);
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "p-" + std::to_string(i);
    cluster::Pod pod = MakePod(name).Gpus(1).BoundTo("n" + std::to_string(i % 4));
    pod.phase = cluster::PodPhase::kFailed;
    pod.start_failure = std::make_shared<const cluster::StartFailure>(
        cluster::StartFailure{true, "OutOfcpu", world.now(), {}});
    world.Add(pod);
    world.RemovePod(name);
  }
  world.Settle();  // its audit counts them
  CHECK(world.engine().Count().starts_refused == 5000);
}

}  // namespace
}  // namespace muster::testing
