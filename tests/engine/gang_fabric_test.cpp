// What people are told about where a gang lies in the fabric, and why a domain does not hold it.
#include "engine/contract/gang_fabric.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"
#include "tests/topology/machines.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;

// Racks a0 and a1 of two nodes of four GPUs each.
struct TwoRacks : testing::Harness {
  explicit TwoRacks(Options options = testing::WithFabric()) : Harness(std::move(options)) {
    for (const std::string name : {"a0x", "a0y", "a1x", "a1y"})
      Add(MakeNode(name).Gpus(4).Label("block", "a").Label("rack", name.substr(0, 2)));
  }
  GangFabric Of(const std::string& gang) {
    const auto fabric = engine().FabricOf({"default", gang}, now());
    REQUIRE(fabric.has_value());
    return *fabric;
  }
};

std::string Text(const std::vector<DomainShare>& shares) {
  std::string text;
  for (const DomainShare& share : shares)
    text += (text.empty() ? "" : " ") + share.name + ":" + std::to_string(share.members);
  return text;
}

std::string Text(const std::vector<DomainOffer>& offers) {
  std::string text;
  for (const DomainOffer& offer : offers)
    text += (text.empty() ? "" : " ") + offer.name + ":" + std::to_string(offer.members);
  return text;
}

std::string Text(const GangLevel& level) {
  return level.tree + "/" + level.level + " " + Text(level.domains) + ", " +
         std::to_string(level.crossings) + " out";
}

TEST_CASE("a gang's domains are told level by level, with the links that leave them",
          "[engine][fabric]") {
  TwoRacks world;
  world.AddGang("train", 4, 4, 4);
  world.Settle();
  const GangFabric view = world.Of("train");
  REQUIRE(view.levels.size() == 2);
  CHECK(view.links == 4);
  CHECK(Text(view.levels[0]) == "dc/block a:4, 0 out");
  // From the second to the third, and from the last to the first.
  CHECK(Text(view.levels[1]) == "dc/rack a/a0:2 a/a1:2, 2 out");
  CHECK(view.offers.offers.empty());
}

std::vector<std::string> Text(const std::vector<Crossing>& crossed) {
  std::vector<std::string> texts;
  for (const Crossing& one : crossed) {
    texts.push_back(one.tree + "/" + one.level + " " + one.from + " -> " + one.to + ": " +
                    one.from_domain + " -> " + one.to_domain);
  }
  return texts;
}

TEST_CASE("neighbours in rank that are in different domains are named, the ring closed",
          "[engine][fabric]") {
  TwoRacks world;
  world.AddGang("train", 4, 4, 4);
  world.Settle();
  const GangFabric view = world.Of("train");
  CHECK(Text(view.crossed) == std::vector<std::string>{"dc/rack train-1 -> train-2: a/a0 -> a/a1",
                                                       "dc/rack train-3 -> train-0: a/a1 -> a/a0"});
  CHECK(view.crossings == 2);
}

TEST_CASE("a link out of a block is named once, before the links out of racks",
          "[engine][fabric]") {
  TwoRacks world;
  world.Add(MakeNode("b0x").Gpus(4).Label("block", "b").Label("rack", "b0"));
  world.AddGang("train", 5, 4, 5);
  world.Settle();
  CHECK(Text(world.Of("train").crossed) ==
        std::vector<std::string>{"dc/block train-3 -> train-4: a -> b",
                                 "dc/block train-4 -> train-0: b -> a",
                                 "dc/rack train-1 -> train-2: a/a0 -> a/a1"});
}

TEST_CASE("of many links that leave a domain the first ones are named, and all are counted",
          "[engine][fabric]") {
  TwoRacks world;
  for (int i = 0; i < 30; ++i)
    world.Add(MakeNode("one" + std::to_string(i))
                  .Gpus(8)
                  .Label("block", "c")
                  .Label("rack", "c" + std::to_string(i)));
  world.AddGang("wide", 30, 8, 30);
  world.Settle();
  const GangFabric view = world.Of("wide");
  CHECK(view.crossed.size() == GangFabric::kMostCrossings);
  CHECK(view.crossings == 30);
  CHECK(view.crossed.front().from == "wide-0");
}

TEST_CASE("the ring over each member's GPUs is shown where the links of its node are known",
          "[engine][fabric]") {
  testing::Harness world;  // without a fabric
  for (const std::string name : {"a", "b"}) {
    cluster::Node node = MakeNode(name).Gpus(8, "Tesla-V100-SXM2-32GB", 32'768);
    if (name == "a") node.topology = topology::testing::kDgx1v;
    world.Add(node);
  }
  const auto bind = [&](const std::string& pod, const std::string& node,
                        const std::vector<int>& gpus) {
    world.Add(MakePod(pod).Gpus(static_cast<int>(gpus.size())).InGroup("ran").BoundTo(node, gpus));
  };
  world.Add(testing::MakePodGroup("ran").MinMember(4).Build());
  bind("ran-0", "a", {0, 3});  // two NVLinks of 25 GB/s
  bind("ran-1", "a", {1, 4});  // SYS
  bind("ran-2", "a", {2});
  bind("ran-3", "b", {0, 1});
  world.Settle();
  const auto view = world.engine().FabricOf({"default", "ran"}, world.now());
  REQUIRE(view.has_value());
  REQUIRE(view->rings.size() == 2);
  CHECK(view->rings[0].pod == "ran-0");
  CHECK(view->rings[0].megabytes == 50'000);
  CHECK(view->rings[1].pod == "ran-1");
  CHECK(view->rings[1].node == "a");
  CHECK(view->rings[1].megabytes < 25'000);
}

TEST_CASE("two members have one link, a single one none", "[engine][fabric]") {
  TwoRacks world;
  world.AddGang("pair", 2, 4, 2);
  world.AddGang("one", 1, 4, 1);
  world.Settle();
  CHECK(world.Of("pair").links == 1);
  CHECK(world.Of("one").links == 0);
  CHECK(world.Of("one").levels[1].crossings == 0);
}

TEST_CASE("a waiting gang's view shows what each domain of its level has for it",
          "[engine][fabric]") {
  TwoRacks world;
  world.Add(MakePod("other").Gpus(4).Scheduler("other").BoundTo("a0x", {0, 1, 2, 3}));
  world.AddGang("late", 3, 4, 3);
  world.ChangeGroup("late", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Settle();
  const GangFabric view = world.Of("late");
  CHECK(view.levels.empty());
  CHECK(view.offers.level == "rack");
  CHECK(view.offers.wanted == 3);
  CHECK(view.offers.domains == 2);
  CHECK(Text(view.offers.offers) == "a/a1:2 a/a0:1");
}

// A gang of `priority` that has both nodes of the rack.
void RunOn(TwoRacks& world, const std::string& name, const std::string& rack, int priority) {
  world.Add(testing::MakePodGroup(name).MinMember(2).Build());
  for (const std::string node : {"x", "y"}) {
    world.Add(MakePod(name + "-" + node)
                  .Gpus(4)
                  .InGroup(name)
                  .Priority(priority)
                  .BoundTo(rack + node, {0, 1, 2, 3}));
  }
}

TEST_CASE("the view of a gang that requires a level names the domain cheapest to free for it",
          "[engine][fabric]") {
  Options options = testing::WithFabric();
  options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  TwoRacks world(std::move(options));
  RunOn(world, "dear", "a0", 5);
  RunOn(world, "cheap", "a1", 0);
  world.Add(testing::MakePodGroup("late").MinMember(2).Build());
  for (const char* name : {"late-0", "late-1"}) {
    cluster::Pod pod = MakePod(name).Gpus(4).InGroup("late").Priority(5).Gated();
    cluster::PodSpec spec = *pod.spec;
    spec.preempts = false;
    pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
    world.Add(std::move(pod));
  }
  world.ChangeGroup("late", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Settle();
  const GangFabric view = world.Of("late");
  REQUIRE(view.cheapest.has_value());
  CHECK(view.cheapest->name == "a/a1");
  CHECK(view.cheapest->missing == 2);
  CHECK_FALSE(view.cheapest->blocked);
  CHECK(view.cheapest->gangs == std::vector<std::string>{"default/cheap"});
  CHECK(view.cheapest->gpu_milli == 8000);
  CHECK(view.cheapest->pods.empty());
}

TEST_CASE("where nobody may be evicted the pods in the way are named", "[engine][fabric]") {
  TwoRacks world;
  RunOn(world, "dear", "a0", 5);
  RunOn(world, "dear2", "a1", 5);
  world.AddGang("late", 2, 4, 2);
  world.ChangeGroup("late", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Settle();
  const GangFabric view = world.Of("late");
  REQUIRE(view.cheapest.has_value());
  CHECK(view.cheapest->blocked);
  CHECK(view.cheapest->gangs.empty());
  CHECK(view.cheapest->name == "a/a0");
  CHECK(view.cheapest->pods == std::vector<std::string>{"default/dear-x", "default/dear-y"});
}

TEST_CASE("of blocked domains the one with the most room is named", "[engine][fabric]") {
  TwoRacks world;
  RunOn(world, "dear", "a0", 5);
  world.Add(MakePod("other").Gpus(4).Scheduler("other").Priority(5).BoundTo("a1x", {0, 1, 2, 3}));
  world.AddGang("late", 2, 4, 2);
  world.ChangeGroup("late", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Settle();
  const GangFabric view = world.Of("late");
  REQUIRE(view.cheapest.has_value());
  CHECK(view.cheapest->name == "a/a1");
  CHECK(view.cheapest->missing == 1);
  CHECK(view.cheapest->pods == std::vector<std::string>{"default/other"});
}

TEST_CASE("the view of a gang that lost a member shows its own domain, and who else is there",
          "[engine][fabric]") {
  TwoRacks world;
  world.AddGang("train", 2, 4, 2);
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.ScheduleAll("train");
  const std::string node = world.Pod("train-1").node_name;
  const std::string rack = node.substr(0, 2);
  world.RemovePod("train-1");
  world.Add(MakePod("other").Gpus(4).Scheduler("other").BoundTo(node, {0, 1, 2, 3}));
  world.Add(MakePod("train-1").Uid("again").Gpus(4).InGroup("train").Gated());
  world.Settle();
  const GangFabric view = world.Of("train");
  REQUIRE(view.cheapest.has_value());
  CHECK(view.cheapest->name == "a/" + rack);  // though the other rack is free
  CHECK(view.cheapest->blocked);
  CHECK(view.cheapest->pods == std::vector<std::string>{"default/other"});
}

TEST_CASE("a member outside of all domains is said to be there", "[engine][fabric]") {
  TwoRacks world;
  world.Add(MakeNode("outside").Gpus(8).Label("block", "a"));
  world.AddGang("big", 1, 8, 1);
  world.Settle();
  CHECK(Text(world.Of("big").levels[1]) == "dc/rack :1, 0 out");
}

TEST_CASE("without a fabric, or for a gang that does not exist, nothing is shown",
          "[engine][fabric]") {
  TwoRacks world{Options()};
  world.AddGang("train", 2, 4, 2);
  world.Settle();
  CHECK(world.Of("train").levels.empty());
  CHECK_FALSE(world.engine().FabricOf({"default", "none"}, world.now()).has_value());
}

}  // namespace
}  // namespace muster::engine
