// Members beyond a gang's minimum: where segments are required they start in whole ones only.
#include "engine/judging/elastic.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;

// Racks of two nodes of one GPU each, a gang "train" of four in segments of two.
struct Pairs : Harness {
  explicit Pairs(int racks, bool required = true, std::vector<queues::QueueSpec> queues = {})
      : Harness(WithQueues(std::move(queues))) {
    for (int rack = 0; rack < racks; ++rack) {
      for (const std::string end : {"x", "y"}) {
        const std::string name = "r" + std::to_string(rack);
        Add(MakeNode(name + end).Gpus(1).Label("block", "a").Label("rack", name));
      }
    }
    cluster::PodGroup group = MakePodGroup("train").MinMember(4);
    group.topology.segments = {{"rack", 2, required}};
    Harness::Add(group);
  }
  static engine::Options WithQueues(std::vector<queues::QueueSpec> queues) {
    engine::Options options = WithFabric();
    options.queues = std::move(queues);
    return options;
  }
  void AddPods(int first, int last) {
    for (int i = first; i <= last; ++i)
      Harness::Add(MakePod("train-" + std::to_string(i)).Gpus(1).InGroup("train").Gated());
    ScheduleAll("train");
  }
  // How many members of the gang are in each rack.
  std::map<std::string, int> Racks() {
    std::map<std::string, int> racks;
    for (const engine::MemberView& member : Gang("train").members) {
      const std::string& node = member.bound_node.empty() ? member.planned_node : member.bound_node;
      if (!node.empty()) ++racks[node.substr(0, 2)];
    }
    return racks;
  }
  bool Whole() {
    for (const auto& [rack, count] : Racks()) {
      if (count != 2) return false;
    }
    return true;
  }
};

TEST_CASE("members that make up no whole segment wait, and the sum is shown",
          "[engine][fabric][elastic]") {
  Pairs world(4);
  world.AddPods(0, 4);
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 4);
  CHECK(world.Whole());
  CHECK(world.Gang("train").remainder ==
        "1 of its pods waits until there are whole segments: 5 = 2 × 2 + 1");
  CHECK(world.Filter("train-4").refusal ==
        "muster: waiting for more members, which make up a whole segment together");
  world.AddPods(5, 5);
  CHECK(world.BoundIn("train") == 6);
  CHECK(world.Whole());
  CHECK(world.Gang("train").remainder.empty());
  world.AddPods(6, 8);
  CHECK(world.BoundIn("train") == 8);
  CHECK(world.Whole());
  CHECK(world.Gang("train").remainder ==
        "1 of its pods waits until there are whole segments: 9 = 4 × 2 + 1");
}

TEST_CASE("a queue's limit takes whole segments from a plan", "[engine][fabric][elastic][queues]") {
  const queues::Resource gpu{queues::Resource::Kind::kGpu};
  queues::QueueSpec root{.name = "root"};
  root.limit.Set(gpu, queues::Limit(5'000));
  Pairs world(3, true, {root});
  world.AddPods(0, 5);
  CHECK(world.BoundIn("train") == 4);
  CHECK(world.Whole());
  root.limit.Set(gpu, queues::Limit(6'000));
  world.engine().SetOptions(Pairs::WithQueues({root}));
  world.Settle();
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 6);
  CHECK(world.Whole());
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("whole segments start where there is room for them", "[engine][fabric][elastic]") {
  Pairs world(3);
  world.Add(MakePod("one").Gpus(1).BoundTo("r2y", {0}));
  world.AddPods(0, 5);
  CHECK(world.BoundIn("train") == 4);
  CHECK(world.Gang("train").remainder.empty());  // for room
  CHECK(world.Filter("train-4").refusal == "muster: waiting for room for another elastic member");
  world.RemovePod("one");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 6);
  CHECK(world.Whole());
}

TEST_CASE("a lost elastic member of a segment comes back alone", "[engine][fabric][elastic]") {
  Pairs world(4);
  world.AddPods(0, 5);
  REQUIRE(world.BoundIn("train") == 6);
  const std::string rack = world.Pod("train-5").node_name.substr(0, 2);
  world.RemovePod("train-5");
  world.Settle();
  world.Add(MakePod("train-5").Uid("again").Gpus(1).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 6);
  CHECK(world.Pod("train-5").node_name.substr(0, 2) == rack);
  CHECK(world.Whole());
  // One that is lost and two that are new: the first makes up for it, the last one waits.
  world.RemovePod("train-0");
  world.Settle();
  world.Add(MakePod("train-0").Uid("anew").Gpus(1).InGroup("train").Gated());
  world.AddPods(6, 6);
  CHECK(world.BoundIn("train") == 6);
  CHECK(world.Whole());
  CHECK(world.Gang("train").remainder ==
        "1 of its pods waits until there are whole segments: 7 = 3 × 2 + 1");
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("preferred segments hold nobody back", "[engine][fabric][elastic]") {
  Pairs world(4, false);
  world.AddPods(0, 4);
  CHECK(world.BoundIn("train") == 5);
  CHECK(world.Gang("train").remainder.empty());
}

TEST_CASE("segments that pods ask for hold back those pods only", "[engine][fabric][elastic]") {
  Harness world(WithFabric());
  for (const std::string name : {"r0x", "r0y", "r1x", "r1y", "r2x", "r2y"})
    world.Add(MakeNode(name).Gpus(1).Label("block", "a").Label("rack", name.substr(0, 2)));
  world.Add(MakePodGroup("train").MinMember(2));
  const auto add = [&](const std::string& name, bool in_segments) {
    cluster::Pod pod = MakePod(name).Gpus(1).InGroup("train").Gated();
    cluster::PodSpec spec = *pod.spec;
    if (in_segments) spec.topology.segments = {{"rack", 2, true}};
    if (!in_segments) spec.requests.cpu = cluster::MilliCpu(1);
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    world.Add(pod);
  };
  add("a-0", true);
  add("a-1", true);
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  add("a-2", true);
  add("b-0", false);
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 3);
  CHECK(world.Pod("a-2").node_name.empty());
  CHECK_FALSE(world.Pod("b-0").node_name.empty());
}

TEST_CASE("a gang whose last pod has just gone can be looked at", "[engine][elastic]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(1));
  world.AddGang("train", 1, 1, 1);
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.engine().Apply(engine::PodRemoved{world.Pod("train-0").uid}, world.now());
  CHECK(world.engine().Gangs().front().members.empty());
}

}  // namespace
}  // namespace muster::testing
