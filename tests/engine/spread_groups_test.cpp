// Replicas of one service, each a gang: they are spread over racks, however they come and go.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/gang_world.hpp"
#include "tests/engine/harness.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;

// Racks a0 to a2 of two nodes of four GPUs each.
struct Service : testing::Harness {
  explicit Service(bool by_pods = false) : Harness(WithFabric()), by_pods_(by_pods) {
    for (const char* name : {"a0x", "a0y", "a1x", "a1y", "a2x", "a2y"})
      Add(MakeNode(name).Gpus(4).Label("block", "a").Label("rack", std::string(name, 2)));
  }
  static Options WithFabric() {
    Options options;
    options.placement.fabric = testing::BlocksAndRacks();
    return options;
  }
  static cluster::TopologyTerms Over(const std::string& level, const std::string& group) {
    cluster::TopologyTerms terms;
    terms.spread = level;
    terms.spread_group = group;
    return terms;
  }
  // Two pods of one GPU each, in rank order.
  void AddReplica(const std::string& name, const std::string& group = "chat") {
    cluster::PodGroup one = MakePodGroup(name).MinMember(2).CreatedAt(now().milliseconds());
    if (!by_pods_) one.topology = Over("rack", group);
    Add(one);
    for (const char* pod : {"-0", "-1"}) {
      cluster::Pod member = MakePod(name + pod).Gpus(1).InGroup(name).Gated();
      auto spec = std::make_shared<cluster::PodSpec>(*member.spec);
      if (by_pods_) spec->topology = Over("rack", group);
      member.spec = spec;
      Add(member);
    }
    Settle();
  }
  void Start(const std::string& name) {
    ScheduleAll(name);
    Settle();
    REQUIRE(Gang(name).state == GangState::kRunning);
  }
  void Delete(const std::string& name) {
    for (const char* pod : {"-0", "-1"}) RemovePod(name + pod);
    RemoveGroup(name);
    Settle();
  }
  // The rack in which all of its members are or will be.
  std::string RackOf(const std::string& name) {
    std::string rack;
    for (const MemberView& member : Gang(name).members) {
      const std::string& node = member.bound_node.empty() ? member.planned_node : member.bound_node;
      if (!rack.empty() && rack != node.substr(0, 2)) return "several";
      rack = node.empty() ? "none" : node.substr(0, 2);
    }
    return rack;
  }

  bool by_pods_;
};

TEST_CASE("one replica after the other takes another rack", "[engine][spread]") {
  Service world(GENERATE(false, true));
  const bool start = GENERATE(false, true);
  for (const std::string name : {"r0", "r1", "r2"}) {
    world.AddReplica(name);
    if (start) world.Start(name);
    CHECK(world.RackOf(name) == "a" + name.substr(1));
  }
  world.AddReplica("r3");
  CHECK(world.RackOf("r3") == "a0");
}

TEST_CASE("replicas that come together are spread too", "[engine][spread]") {
  Service world;
  world.engine().SetOptions({});  // nothing is known of racks
  for (const std::string name : {"r0", "r1", "r2"}) world.AddReplica(name);
  CHECK(world.Gang("r1").state == GangState::kInvalid);
  world.engine().SetOptions(Service::WithFabric());
  world.Settle();
  CHECK(world.RackOf("r0") == "a0");
  CHECK(world.RackOf("r1") == "a1");
  CHECK(world.RackOf("r2") == "a2");
}

TEST_CASE("a replica that is recreated goes back to the emptiest rack", "[engine][spread]") {
  Service world;
  for (const std::string name : {"r0", "r1", "r2"}) {
    world.AddReplica(name);
    world.Start(name);
  }
  SECTION("when it is gone") { world.Delete("r1"); }
  SECTION("while its pods end") {
    for (const char* pod : {"r1-0", "r1-1"})
      world.Change(pod, [](cluster::Pod& one) { one.deleting = true; });
    world.Settle();
  }
  SECTION("after a restart of Muster") {
    world.Delete("r1");
    world.Restart();
    world.Settle();
  }
  world.AddReplica("r3");
  CHECK(world.RackOf("r3") == "a1");
}

TEST_CASE("replicas that are nominated keep their racks across a restart", "[engine][spread]") {
  Service world;
  for (const std::string name : {"r0", "r1", "r2"}) world.AddReplica(name);
  world.Restart();
  world.Settle();
  for (const std::string name : {"r0", "r1", "r2"})
    CHECK(world.RackOf(name) == "a" + name.substr(1));
}

TEST_CASE("a lost member is replaced in its replica's rack", "[engine][spread]") {
  Service world;
  for (const std::string name : {"r0", "r1"}) {
    world.AddReplica(name);
    world.Start(name);
  }
  cluster::Pod again = world.Pod("r1-1");
  world.RemovePod("r1-1");
  world.Settle();
  again.uid = cluster::PodUid("again");
  again.node_name.clear();
  again.nominated_node.clear();
  again.phase = cluster::PodPhase::kPending;
  again.gates = {cluster::kGangGate};
  world.Add(again);
  world.Settle();
  CHECK(world.RackOf("r1") == "a1");
}

TEST_CASE("other services, and those of other namespaces, are not kept away", "[engine][spread]") {
  Service world;
  world.AddReplica("r0");
  world.AddReplica("m0", "mail");
  CHECK(world.RackOf("m0") == "a0");
  cluster::Pod solo = MakePod("elsewhere").Namespace("other").Gpus(1).Gated();
  auto spec = std::make_shared<cluster::PodSpec>(*solo.spec);
  spec->topology = Service::Over("rack", "chat");
  solo.spec = spec;
  world.Add(solo);
  world.Settle();
  const std::optional<GangView> elsewhere = world.engine().FindGang({"other", "elsewhere"});
  REQUIRE(elsewhere);
  CHECK(elsewhere->members.front().planned_node.substr(0, 2) == "a0");
}

TEST_CASE("a replica whose annotation changes is counted where it belongs now",
          "[engine][spread]") {
  Service world;
  world.AddReplica("r0");
  world.Start("r0");
  world.ChangeGroup("r0", [](cluster::PodGroup& group) { group.topology.spread_group = "mail"; });
  world.Settle();
  world.AddReplica("r1");
  CHECK(world.RackOf("r1") == "a0");
  world.AddReplica("m1", "mail");
  CHECK(world.RackOf("m1") == "a1");
}

TEST_CASE("a level without a group is invalid, and says what is missing", "[engine][spread]") {
  Service world(GENERATE(false, true));
  world.AddReplica("r0", "");
  CHECK(world.Gang("r0").state == GangState::kInvalid);
  CHECK(Describe(world.Gang("r0").reason).find("add annotation muster.dev/spread-group") !=
        std::string::npos);
}

TEST_CASE("a spread group is as long as there are gangs in it", "[engine][members]") {
  testing::GangWorld world(1);
  Membership& members = world.state.members;
  CHECK(members.SpreadGroupOf(world.gang()).empty());
  members.SetSpreadGroup(world.gang(), "chat");
  CHECK(members.SpreadGroupOf(world.gang()).size() == 1);
  Gang& other = members.Make({{"default", "other"}, false});
  members.SetSpreadGroup(other, "chat");
  CHECK(members.SpreadGroupOf(world.gang()).size() == 2);
  CHECK(members.Audit().empty());
  members.SetSpreadGroup(world.gang(), "mail");
  CHECK(members.SpreadGroupOf(other).size() == 1);
  members.Erase(GangId(other.id));
  members.SetSpreadGroup(world.gang(), "");
  CHECK(members.SpreadGroupOf(world.gang()).empty());
  CHECK(members.Audit().empty());
}

}  // namespace
}  // namespace muster::engine
