// Why a domain of the fabric does not hold a gang, or is not the one that it is in.
#include "engine/reasons/domain_causes.hpp"

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

testing::NodeBuilder InRack(const std::string& name) {
  return MakeNode(name).Gpus(4).Label("block", name.substr(0, 1)).Label("rack", name.substr(0, 2));
}

// DomainCausesRacks of two nodes with four GPUs each: a0 and a1 in block a, or others as named.
struct DomainCausesRacks : testing::Harness {
  explicit DomainCausesRacks(const std::vector<std::string>& racks = {"a0", "a1"},
                             Options options = testing::WithFabric())
      : Harness(std::move(options)) {
    for (const std::string& rack : racks) {
      Add(InRack(rack + "x"));
      Add(InRack(rack + "y"));
    }
  }
  void Occupy(const std::string& node, const std::vector<int>& gpus = {0, 1, 2, 3}) {
    Add(MakePod("on-" + node)
            .Gpus(static_cast<int>(gpus.size()))
            .Scheduler("other")
            .BoundTo(node, gpus));
  }
  // Of `members` with four GPUs each.
  void Require(const std::string& gang, int members, const std::string& level = "rack") {
    AddGang(gang, members, 4, members);
    ChangeGroup(gang, [&](cluster::PodGroup& group) { group.topology.required = level; });
  }
  GangFabric Of(const std::string& gang) {
    Settle();
    const auto fabric = engine().FabricOf({"default", gang}, now());
    REQUIRE(fabric.has_value());
    return *fabric;
  }
};

std::vector<std::string> Texts(const OfferedDomains& offered) {
  std::vector<std::string> texts;
  for (const DomainOffer& offer : offered.offers) {
    texts.push_back(offer.name + " " + std::to_string(offer.members) + " of " +
                    std::to_string(offered.wanted) + ": " + offer.why);
  }
  return texts;
}

using Lines = std::vector<std::string>;

TEST_CASE("each domain says what keeps a gang that waits out of it", "[engine][fabric]") {
  DomainCausesRacks world({"a0", "a1", "a2", "a3", "a4"});
  world.Occupy("a0x");
  world.Add(InRack("a1x").Cordoned());
  world.Add(InRack("a1y").NotReady());
  world.Add(InRack("a2x").Taint("team", "b", cluster::TaintEffect::kNoSchedule));
  world.Add(InRack("a2y").Cpu(0));
  world.Occupy("a3x");
  world.Occupy("a3y", {0});
  world.Require("late", 2);
  world.Occupy("a4x", {1});
  world.Add(InRack("a4y").PodSlots(0));
  for (int i = 0; i < 2; ++i) {
    world.Change("late-" + std::to_string(i), [](cluster::Pod& pod) {
      auto spec = *pod.spec;
      spec.requests.cpu = cluster::MilliCpu(1000);
      pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    });
  }
  CHECK(Texts(world.Of("late").offers) ==
        Lines{"a/a0 1 of 2: 1/2 nodes have room: 1 with 0 of 4 GPUs free (a0x)",
              "a/a1 0 of 2: 0/2 nodes have room: 1 cordoned, 1 not ready",
              "a/a2 0 of 2: 0/2 nodes have room: 1 with taint team=b that it does not tolerate, "
              "1 with less than 1 CPU free (best: a2y, 0 free)",
              "a/a3 0 of 2: 0/2 nodes have room: 2 with 0 to 3 of 4 GPUs free (best: a3y, 3 free)",
              "a/a4 0 of 2: 0/2 nodes have room: 1 with all pod slots in use, 1 with 3 of 4 GPUs "
              "free (a4x)"});
}

TEST_CASE("spares are named as what keeps a gang out", "[engine][fabric]") {
  Options options = testing::WithFabric();
  options.placement.fabric.reserve = {{"rack", 1}};
  DomainCausesRacks world({"a0", "a1"}, options);
  world.Occupy("a1x");
  world.Require("late", 2);
  CHECK(Texts(world.Of("late").offers) ==
        Lines{"a/a0 1 of 2: 1/2 nodes have room: 1 kept from it",
              "a/a1 0 of 2: 0/2 nodes have room: 1 kept from it, 1 with 0 of 4 GPUs free (a1x)"});
}

TEST_CASE("room for each role by itself is not room for all of them", "[engine][fabric]") {
  DomainCausesRacks world({"a0"});
  world.Add(testing::MakePodGroup("mixed").MinMember(3).Build());
  world.ChangeGroup("mixed", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  for (const char* pod : {"mixed-0", "mixed-1"})
    world.Add(MakePod(pod).Gpus(3).InGroup("mixed").Gated());
  world.Add(MakePod("mixed-2").Gpus(4).InGroup("mixed").Gated());
  CHECK(Texts(world.Of("mixed").offers) ==
        Lines{"a/a0 3 of 3: room for each role, not for all together: 2/2 nodes have room for a "
              "member with 3 GPUs"});
}

TEST_CASE("a gang that lost a member shows that the others are elsewhere", "[engine][fabric]") {
  DomainCausesRacks world;
  world.Require("train", 2);
  world.ScheduleAll("train");
  const std::string node = world.Pod("train-1").node_name;
  world.RemovePod("train-1");
  world.Occupy(node);
  world.Add(MakePod("train-1").Uid("again").Gpus(4).InGroup("train").Gated());
  const OfferedDomains offers = world.Of("train").offers;
  const std::string own = "a/" + node.substr(0, 2);
  const std::string other = own == "a/a0" ? "a/a1" : "a/a0";
  CHECK(Texts(offers) == Lines{other + " 1 of 1: its other members are in " + own,
                               own + " 0 of 1: 0/2 nodes have room: 2 with 0 of 4 GPUs free"});
}

TEST_CASE("a gang with nodes shows why it is in none of the other domains", "[engine][fabric]") {
  DomainCausesRacks world({"a0", "a1", "a2"});
  world.Add(InRack("a2z"));
  world.Occupy("a1x");
  world.Require("train", 2);
  world.ScheduleAll("train");
  REQUIRE(world.Pod("train-0").node_name.substr(0, 2) == "a0");
  const GangFabric view = world.Of("train");
  CHECK(view.offers.offers.empty());
  CHECK(view.others.level == "rack");
  CHECK(view.others.domains == 2);
  CHECK(Texts(view.others) ==
        Lines{"a/a2 2 of 2: a larger set of free nodes would be broken there than in its own",
              "a/a1 1 of 2: 1/2 nodes have room: 1 with 0 of 4 GPUs free (a1x)"});
  SECTION("equal ones go by name") {
    world.RemoveNode("a2z");
    CHECK(Texts(world.Of("train").others).front() ==
          "a/a2 2 of 2: as good as its own, which is before it by name");
  }
  SECTION("what became free since does not count as a reason") {
    world.Add(InRack("a0z"));
    world.RemoveNode("a2z");
    CHECK(Texts(world.Of("train").others).front() ==
          "a/a2 2 of 2: others would lose less there now");
  }
}

TEST_CASE("where others lose nothing the room that is left is reported", "[engine][fabric]") {
  DomainCausesRacks world({"a0", "a1"});
  world.Add(InRack("a1z"));
  for (const char* node : {"a0x", "a0y", "a1x", "a1y", "a1z"}) world.Occupy(node, {0});
  world.AddGang("train", 2, 3, 2);
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.ScheduleAll("train");
  CHECK(Texts(world.Of("train").others) ==
        Lines{"a/a1 2 of 2: room for 1 more member would be left there, for 0 in its own"});
  world.Add(InRack("a0z"));
  world.Occupy("a0z", {0});
  CHECK(Texts(world.Of("train").others) ==
        Lines{"a/a1 2 of 2: as good as its own, which is before it by name"});
}

TEST_CASE("it is reported that a domain takes more free nodes", "[engine][fabric]") {
  DomainCausesRacks world({"a0", "a1"});
  world.Occupy("a0x", {0, 1});
  world.AddGang("train", 3, 2, 3);
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.ScheduleAll("train");
  CHECK(Texts(world.Of("train").others) ==
        Lines{"a/a1 3 of 3: it would take 2 free nodes there, 1 in its own"});
}

TEST_CASE("where it names no level those beside its own innermost domain are told",
          "[engine][fabric]") {
  DomainCausesRacks world({"a0", "a1", "b0"});
  world.AddGang("pair", 2, 4, 2);
  world.AddGang("wide", 2, 4, 2);
  world.ScheduleAll("pair");
  CHECK(world.Of("pair").others.level == "rack");
  CHECK(world.Of("pair").others.domains == 2);
  world.AddGang("one", 1, 1, 1);
  world.ScheduleAll("one");
  CHECK(world.Of("one").others.domains == 0);
}

TEST_CASE("it is reported that the gang would be further apart in a domain", "[engine][fabric]") {
  // Block b has room in two racks, one node each.
  DomainCausesRacks world({"a0", "b0", "b1"});
  world.Occupy("b0x");
  world.Occupy("b1x");
  world.Require("train", 2, "block");
  world.ScheduleAll("train");
  CHECK(Texts(world.Of("train").others) ==
        Lines{"b 2 of 2: in 2 domains of level rack there, in one in its own"});
}

TEST_CASE("it is reported that the gang would need several nodes in a domain", "[engine][fabric]") {
  DomainCausesRacks world({"a0", "a1"});
  world.Add(InRack("a0x").Gpus(8));
  world.Require("train", 2);
  world.ScheduleAll("train");
  CHECK(Texts(world.Of("train").others) ==
        Lines{"a/a1 2 of 2: on 2 nodes there, on one in its own"});
}

TEST_CASE("it is reported that its spread group is in a domain", "[engine][fabric]") {
  DomainCausesRacks world({"a0", "b0"});
  const auto spread = [&](const std::string& gang) {
    world.AddGang(gang, 1, 1, 1);
    world.ChangeGroup(gang, [](cluster::PodGroup& group) {
      group.topology.spread = "block";
      group.topology.spread_group = "serving";
    });
    world.ScheduleAll(gang);
  };
  spread("one");
  spread("two");
  const std::string own = world.Pod("two-0").node_name.substr(0, 1);
  CHECK(Texts(world.Of("two").others) ==
        Lines{std::string(own == "a" ? "b" : "a") +
              " 1 of 1: 1 gang of its spread group there, 0 in its own"});
}

TEST_CASE("where the rings differ both are told", "[engine][fabric]") {
  testing::Harness world(testing::WithFabric());
  for (const std::string name : {"a0x", "a1x"}) {
    cluster::Node node = MakeNode(name)
                             .Gpus(8, "Tesla-V100-SXM2-32GB", 32'768)
                             .Label("block", "a")
                             .Label("rack", name.substr(0, 2))
                             .Build();
    node.topology = topology::testing::kDgx1v;
    world.Add(node);
  }
  // Left are 0 and 7 of a1x, with no NVLink between them.
  world.Add(MakePod("x").Gpus(6).Scheduler("other").BoundTo("a1x", {1, 2, 3, 4, 5, 6}));
  world.Add(MakePod("y").Gpus(4).Scheduler("other").BoundTo("a0x", {4, 5, 6, 7}));
  world.AddGang("pair", 1, 2, 1);
  world.ChangeGroup("pair", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.ScheduleAll("pair");
  const auto view = world.engine().FabricOf({"default", "pair"}, world.now());
  REQUIRE(view.has_value());
  REQUIRE(view->others.offers.size() == 1);
  CHECK(view->others.offers.front().why == "slowest ring 6 GB/s there, 50 in its own");
}

TEST_CASE("of many domains those with the most room are told, each tried", "[engine][fabric]") {
  const bool required = GENERATE(true, false);
  std::vector<std::string> racks;
  for (char rack = 'a'; rack <= 'z'; ++rack) racks.push_back(std::string("r") + rack);
  DomainCausesRacks world(racks);
  world.AddGang("train", 2, 4, 2);
  world.ChangeGroup("train", [&](cluster::PodGroup& group) {
    (required ? group.topology.required : group.topology.preferred) = "rack";
  });
  world.ScheduleAll("train");
  const OfferedDomains others = world.Of("train").others;
  CHECK(others.domains == 25);
  CHECK(others.offers.size() == OfferedDomains::kMostOffers);
  for (const DomainOffer& offer : others.offers)
    CHECK(offer.why == "as good as its own, which is before it by name");
}

}  // namespace
}  // namespace muster::engine
