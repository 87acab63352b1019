// What would have to change so that a gang fits: worked out by hand.
#include "engine/reasons/room_changes.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using testing::Harness;
using testing::MakeNode;
using testing::MakePod;

constexpr auto kRoomChangesNoSchedule = cluster::TaintEffect::kNoSchedule;
using Lines = std::vector<std::string>;

Lines Changes(Harness& world, const std::string& gang) {
  world.Settle();
  Lines lines;
  for (const LeastChange& change : world.engine().ChangesFor({"default", gang}, world.now())) {
    if (change.what == LeastChange::What::kEnds) continue;  // see least_changes_test
    lines.push_back(std::string(ToString(change.what)) + ": " + change.text);
  }
  return lines;
}

void Occupy(Harness& world, const std::string& node, int gpus) {
  std::vector<int> indices;
  for (int i = 0; i < gpus; ++i) indices.push_back(i);
  world.Add(MakePod("on-" + node).Gpus(gpus).Scheduler("other").BoundTo(node, indices));
}

TEST_CASE("the fewest GPUs that have to become free are told", "[engine][explain]") {
  struct Case {
    std::string name;
    std::vector<int> used;  // of 8, node by node
    int members;
    int gpus;
    Lines want;
  };
  for (const Case& c : std::vector<Case>{
           {"on the node that lacks fewest",
            {6, 2, 4},
            1,
            8,
            {"free: 2 more GPUs become free on n1"}},
           {"one GPU", {8, 1}, 1, 8, {"free: 1 more GPU becomes free on n1"}},
           {"on several nodes",
            {6, 2, 4},
            2,
            8,
            {"free: 6 more GPUs become free: 2 on n1 and 4 on n2"}},
           {"only for members that are without a node",
            {0, 3, 5},
            2,
            8,
            {"free: 3 more GPUs become free on n1", "fewer: it asks for 1 member in place of 2"}},
           {"on a node that takes a member as it is",
            {3, 7},
            2,
            3,
            {"free: 1 more GPU becomes free on n0", "fewer: it asks for 1 member in place of 2"}},
       }) {
    DYNAMIC_SECTION(c.name) {
      Harness world;
      for (size_t i = 0; i < c.used.size(); ++i) {
        const std::string name = "n" + std::to_string(i);
        world.Add(MakeNode(name).Gpus(8));
        if (c.used[i] > 0) Occupy(world, name, c.used[i]);
      }
      world.AddGang("train", c.members, c.gpus, c.members);
      CHECK(Changes(world, "train") == c.want);
    }
  }
}

TEST_CASE("GPUs that nobody could use for want of CPU are not told", "[engine][explain]") {
  Harness world;
  world.Add(MakeNode("a").Gpus(8).Cpu(1));
  world.Add(MakePod("on-a").Gpus(1).MilliCpu(500).Scheduler("other").BoundTo("a", {0}));
  world.Add(MakeNode("b").Gpus(8));
  Occupy(world, "b", 5);
  world.AddGang("train", 1, 8, 1);
  CHECK(Changes(world, "train") == Lines{"free: 5 more GPUs become free on b"});
}

TEST_CASE("a taint that keeps it off enough nodes is named", "[engine][explain]") {
  Harness world;
  for (const char* name : {"a", "b"}) {
    world.Add(MakeNode(name).Gpus(8).Taint("gpu", "yes", kRoomChangesNoSchedule));
  }
  world.Add(MakeNode("c").Gpus(8).Taint("team", "", kRoomChangesNoSchedule));
  world.AddGang("train", 2, 8, 2);
  CHECK(Changes(world, "train") == Lines{"tolerate: its pods tolerate taint gpu=yes (of 2 nodes)"});
}

TEST_CASE("where a taint is not all that is in the way both changes are told together",
          "[engine][explain]") {
  Harness world;
  world.Add(MakeNode("a").Gpus(8).Taint("gpu", "", kRoomChangesNoSchedule));
  world.Add(MakeNode("b").Gpus(4).Taint("other", "", kRoomChangesNoSchedule));
  Occupy(world, "a", 3);
  world.AddGang("train", 1, 8, 1);
  CHECK(Changes(world, "train") ==
        Lines{"tolerate: its pods tolerate taint gpu, and 3 more GPUs become free on a"});
}

TEST_CASE("nodes that are away are named as far as they are needed", "[engine][explain]") {
  Harness world;
  world.Add(MakeNode("a").Gpus(8).Cordoned());
  world.Add(MakeNode("b").Gpus(8).NotReady());
  world.Add(MakeNode("c").Gpus(4).Cordoned());
  SECTION("one") {
    world.AddGang("train", 1, 8, 1);
    CHECK(Changes(world, "train") == Lines{"nodes: node a (cordoned) can be used again"});
  }
  SECTION("two") {
    world.AddGang("train", 2, 8, 2);
    CHECK(Changes(world, "train") ==
          Lines{"nodes: nodes a (cordoned) and b (not ready) can be used again"});
  }
}

TEST_CASE("where it requires one domain GPUs of one domain are told", "[engine][explain]") {
  Harness world(testing::WithFabric());
  for (const std::string name : {"a0x", "a0y", "a1x", "a1y"}) {
    world.Add(MakeNode(name).Gpus(4).Label("block", "a").Label("rack", name.substr(0, 2)));
  }
  Occupy(world, "a0x", 1);
  Occupy(world, "a1y", 3);
  world.AddGang("train", 2, 4, 2);
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  CHECK(Changes(world, "train") ==
        Lines{"free: 1 more GPU becomes free on a0x", "fewer: it asks for 1 member in place of 2"});
}

TEST_CASE("nothing is suggested for a gang that runs or waits for its turn", "[engine][explain]") {
  Harness world;
  world.Add(MakeNode("a").Gpus(8));
  world.AddGang("train", 1, 8, 1);
  CHECK(Changes(world, "train").empty());
}

}  // namespace
}  // namespace muster::engine
