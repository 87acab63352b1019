// Volumes: gangs wait for claims, start where all of their volumes are, and have nobody evicted for
// what cannot start.
#include "engine/judging/volumes.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/volume_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using cluster::StorageKind;
using engine::GangState;
using engine::ReasonCode;

TEST_CASE("a gang starts in the one domain where the volume of one member is",
          "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(BoundClaim("data"));
  world.Tell(VolumeOf("data", {NodesWith("rack", {"a1"})}));
  world.AddWorkers("train", 16, "data");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.PlannedOn("train", "a1") == 16);
}

TEST_CASE("a member whose volume is on one node has a place there in a domain that is full",
          "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(BoundClaim("data"));
  for (const std::string node : {"a0x", "a0y", "a1x", "a1y"}) {
    DYNAMIC_SECTION(node) {
      world.Tell(VolumeOf("data", {NodesWith("name", {node})}));
      for (const std::string name : {"a0x", "a0y", "a1x", "a1y"}) {
        world.Add(MakeNode(name)
                      .Gpus(8)
                      .Label("block", "a")
                      .Label("rack", name.substr(0, 2))
                      .Label("name", name));
      }
      world.AddWorkers("train", 16, "data");
      world.Settle();
      CHECK(world.Gang("train").state == GangState::kReserved);
      CHECK(world.NodeOf("train-15") == node);
      CHECK(world.PlannedOn("train", node.substr(0, 2)) == 16);
    }
  }
}

TEST_CASE("a missing claim keeps a gang Forming until it is there, and is named",
          "[engine][volumes]") {
  VolumeWorld world;
  world.AddWorkers("train", 2, "data");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.Gang("train").reason.code == ReasonCode::kVolumesNotReady);
  CHECK(world.Why("train") ==
        "pod train-01: persistentvolumeclaim \"data\" not found; create it in namespace default");
  world.Tell(UnboundClaim("data", "fast"));
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.Why("train") ==
        "pod train-01: pod has unbound immediate PersistentVolumeClaims: persistentvolumeclaim "
        "\"data\" waits for its volume; kubectl describe pvc data says why");
  SECTION("its volume comes first") {
    world.Tell(VolumeOf("data", {NodesWith("rack", {"a1"})}));
    world.Tell(BoundClaim("data"));
  }
  SECTION("its volume is reported after it was bound") {
    world.Tell(BoundClaim("data"));
    world.Settle();
    world.Tell(VolumeOf("data", {NodesWith("rack", {"a1"})}));
  }
  world.Pass(Seconds(3));  // a plan that broke pauses for a second
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.NodeOf("train-01").starts_with("a1"));
  CHECK(world.NodeOf("train-00").starts_with("a1"));
}

TEST_CASE("a claim that goes takes the plan with it", "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(BoundClaim("data"));
  world.AddWorkers("train", 2, "data");
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kReserved);
  SECTION("deleted") {
    cluster::VolumeClaim claim = BoundClaim("data");
    claim.deleting = true;
    world.Tell(claim);
    world.Settle();
    CHECK(world.Why("train") ==
          "pod train-01: persistentvolumeclaim \"data\" is being deleted; create it again when it "
          "is gone");
  }
  SECTION("gone") {
    world.Forget(StorageKind::kClaim, {"default", "data"});
    world.Settle();
  }
  SECTION("lost its volume") {
    cluster::VolumeClaim claim = BoundClaim("data");
    claim.lost = true;
    world.Tell(claim);
    world.Settle();
  }
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.Gang("train").reason.code == ReasonCode::kVolumesNotReady);
  world.Tell(BoundClaim("data"));
  world.Pass(Seconds(3));  // the plan that broke pauses for a second
  CHECK(world.Gang("train").state == GangState::kReserved);
}

TEST_CASE("a gang that has started keeps running whatever becomes of its claims",
          "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(BoundClaim("data"));
  world.AddWorkers("train", 2, "data");
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.Forget(StorageKind::kClaim, {"default", "data"});
  world.Pass(Seconds(600));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a claim that waits for its pod goes where its class allows", "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(UnboundClaim("data", "late"));
  SECTION("everywhere") {
    world.AddWorkers("train", 16, "data");
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kReserved);
  }
  SECTION("in one rack") {
    world.Tell(cluster::StorageClass{"late", "csi.example.com", true, {NodesWith("rack", {"a1"})}});
    world.AddWorkers("train", 16, "data");
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kReserved);
    CHECK(world.PlannedOn("train", "a1") == 16);
  }
  SECTION("for the node that was chosen before") {
    cluster::VolumeClaim claim = UnboundClaim("data", "late");
    claim.selected_node = "a1y";
    world.Tell(claim);
    world.AddWorkers("train", 16, "data");
    world.Settle();
    CHECK(world.NodeOf("train-15") == "a1y");
  }
  SECTION("what kube-scheduler makes of it does not break the plan") {
    world.AddWorkers("train", 2, "data");
    world.Settle();
    const std::string node = world.NodeOf("train-01");
    cluster::VolumeClaim claim = UnboundClaim("data", "late");
    claim.selected_node = node;
    world.Tell(claim);
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kReserved);
    claim = BoundClaim("data");
    claim.storage_class = "late";
    world.Tell(claim);
    world.Settle();
    world.Tell(VolumeOf("data", {NodesWith("rack", {node.substr(0, 2)})}));
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kReserved);
    CHECK(world.NodeOf("train-01") == node);
  }
}

TEST_CASE("volumes that are made by hand are where they are", "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(cluster::StorageClass{"local", cluster::kNoProvisioner, true, {}});
  world.Tell(UnboundClaim("data", "local"));
  world.AddWorkers("train", 16, "data");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.Why("train") ==
        "pod train-15: didn't find available persistent volumes to bind to persistentvolumeclaim "
        "\"data\"; create one of class local");
  world.Tell(cluster::Volume{"disk-0", "local", {"default", "other"}, {NodesWith("rack", {"a0"})}});
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
  world.Tell(cluster::Volume{"disk-1", "local", {}, {NodesWith("rack", {"a1"})}});
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.PlannedOn("train", "a1") == 16);
}

TEST_CASE("a claim for one pod has one pod", "[engine][volumes]") {
  VolumeWorld world;
  cluster::VolumeClaim claim = BoundClaim("data");
  claim.single_pod = true;
  world.Tell(claim);
  SECTION("another gang has it") {
    world.AddWorkers("first", 2, "data");
    world.ScheduleAll("first");
    REQUIRE(world.Gang("first").state == GangState::kRunning);
    world.AddWorkers("second", 2, "data");
    world.Settle();
    CHECK(world.Gang("second").state == GangState::kForming);
    CHECK(
        world.Why("second") ==
        "pod second-01: persistentvolumeclaim \"data\" is used by pod first-01, and with "
        "ReadWriteOncePod by no other; wait until that ends, or give each pod a claim of its own");
    SECTION("it ends") { world.Succeed("first-01"); }
    SECTION("it goes") { world.RemovePod("first-01"); }
    world.Settle();
    CHECK(world.Gang("second").state == GangState::kReserved);
  }
  SECTION("two pods of one gang cannot both have it") {
    world.Add(MakePodGroup("train").MinMember(2));
    for (const char* name : {"train-1", "train-0"})
      world.Add(NamingClaim(MakePod(name).Gpus(1).InGroup("train").Gated(), "data"));
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kForming);
    CHECK(
        world.Why("train").starts_with("pod train-1: persistentvolumeclaim \"data\" is used by "
                                       "pod train-0, "));
  }
}

TEST_CASE("the claim of an ephemeral volume is the pod's own", "[engine][volumes]") {
  VolumeWorld world;
  world.Add(MakePodGroup("train").MinMember(1));
  world.Add(NamingClaim(MakePod("train-0").Gpus(1).InGroup("train").Gated(), "scratch", true));
  world.Settle();
  CHECK(world.Why("train") ==
        "pod train-0: waiting for ephemeral volume controller to create the persistentvolumeclaim "
        "\"train-0-scratch\"");
  cluster::VolumeClaim claim = UnboundClaim("train-0-scratch", "late");
  world.Tell(claim);
  world.Settle();
  CHECK(world.Why("train") ==
        "pod train-0: persistentvolumeclaim \"train-0-scratch\" was not created for the pod; "
        "delete it, so that it is made anew");
  claim.owner_pod = world.Pod("train-0").uid.text();
  world.Tell(claim);
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
}

TEST_CASE("without the right to read storage gangs are planned without it", "[engine][volumes]") {
  VolumeWorld world;
  world.engine().Apply(engine::StorageReadable{false}, world.now());
  world.AddWorkers("train", 2, "data");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  world.engine().Apply(engine::StorageReadable{true}, world.now());
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kForming);
}

TEST_CASE("nobody is evicted for a gang whose volumes keep it from starting",
          "[engine][volumes][preemption]") {
  engine::Options options;
  options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  VolumeWorld world(options);
  // Rack a0 is held by gangs of low priority, rack a1 by one of high priority.
  for (const char* name : {"low-a", "low-b"}) world.AddGang(name, 2, 4, 2);
  for (const char* name : {"low-a", "low-b"}) world.ScheduleAll(name);
  world.Add(MakePodGroup("keep").MinMember(2));
  for (const std::string name : {"keep-0", "keep-1"})
    world.Add(MakePod(name).Gpus(8).Priority(100).InGroup("keep").Gated());
  world.ScheduleAll("keep");
  REQUIRE(world.Gang("keep").state == GangState::kRunning);
  const std::string high = world.Pod("keep-0").node_name.substr(0, 2);
  SECTION("its claim is missing") {
    world.AddWorkers("train", 16, "data", 50);
    world.Pass(Seconds(1800));
    CHECK(world.Gang("train").state == GangState::kForming);
    CHECK(world.Evictions() == 0);
  }
  SECTION("its volume is where nobody may be evicted") {
    world.Tell(BoundClaim("data"));
    world.Tell(VolumeOf("data", {NodesWith("rack", {high})}));
    world.AddWorkers("train", 16, "data", 50);
    world.Pass(Seconds(1800));
    CHECK(world.Gang("train").state == GangState::kQueued);
    CHECK(world.Evictions() == 0);
  }
  SECTION("its volume is where gangs of lower priority run") {
    world.Tell(BoundClaim("data"));
    world.Tell(VolumeOf("data", {NodesWith("rack", {high == "a0" ? "a1" : "a0"})}));
    world.AddWorkers("train", 16, "data", 50);
    world.Pass(Seconds(60));
    CHECK(world.Evictions() == 4);
    CHECK(world.PlannedOn("train", high == "a0" ? "a1" : "a0") == 16);
  }
}

TEST_CASE("after a restart the same is known, in whatever order it arrives", "[engine][volumes]") {
  VolumeWorld world;
  world.Tell(BoundClaim("data"));
  world.Tell(VolumeOf("data", {NodesWith("rack", {"a1"})}));
  world.AddWorkers("train", 16, "data");
  world.AddWorkers("later", 2, "missing");
  world.Restart();
  for (const cluster::StorageRecord& record : world.storage)
    world.engine().Apply(record, world.now());
  world.engine().Apply(engine::StorageReadable{true}, world.now());
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.PlannedOn("train", "a1") == 16);
  CHECK(world.Gang("later").reason.code == ReasonCode::kVolumesNotReady);
}

}  // namespace
}  // namespace muster::testing
