// Attach limits and volumes made by hand: members are planned together, where their volumes can be
// attached and where there is one for each claim.
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>

#include "tests/engine/volume_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using cluster::StorageKind;
using engine::GangState;
using engine::ReasonCode;

constexpr const char* kNodes[] = {"a0x", "a0y", "a1x", "a1y"};

// Every node takes one volume, and there are claims data-0 … of a class that waits.
struct LimitWorld : VolumeWorld {
  explicit LimitWorld(engine::Options options = {}) : VolumeWorld(std::move(options)) {
    for (const char* node : kNodes) Limit(node, 1);
    for (int i = 0; i < 8; ++i) Tell(UnboundClaim("data-" + std::to_string(i), "late"));
  }
  // A pod of another scheduler with that claim.
  void Attach(const std::string& pod, const std::string& node, const std::string& claim) {
    Add(NamingClaim(MakePod(pod).Scheduler("default-scheduler").BoundTo(node), claim));
  }
};

TEST_CASE("members with a volume each go to nodes that can attach one each", "[engine][volumes]") {
  LimitWorld world;
  world.AddWithClaims("train", 4, "data");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  for (const char* node : kNodes) CHECK(world.OnNode("train", 4, node) == 1);
}

TEST_CASE("a gang with more volumes than nodes can attach waits until they take more",
          "[engine][volumes]") {
  LimitWorld world;
  world.AddWithClaims("train", 5, "data");
  world.Settle();
  CHECK(world.Gang("train").state != GangState::kReserved);
  CHECK(world.Why("train").find("too few nodes can attach its volumes") != std::string::npos);
  SECTION("a node takes two") { world.Limit("a1x", 2); }
  SECTION("a node has no limit any more") { world.Tell(cluster::NodeDrivers{"a1x", {}}); }
  SECTION("a node's drivers go") { world.Forget(StorageKind::kNodeDrivers, {"", "a1x"}); }
  SECTION("another driver is limited") {
    world.Tell(cluster::NodeDrivers{"a1x", {{"other.example.com", 0}}});
  }
  world.Pass(Seconds(20));
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.OnNode("train", 5, "a1x") >= 2);
}

TEST_CASE("a volume that members share counts once", "[engine][volumes]") {
  LimitWorld world;
  world.Add(MakePodGroup("train").MinMember(8));
  for (int i = 0; i < 8; ++i) {
    PodBuilder pod = MakePod("train-" + std::to_string(i));
    world.Add(NamingClaim(pod.Gpus(1).InGroup("train").Gated(), "data-0"));
  }
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kReserved);
  std::set<std::string> nodes;
  for (int i = 0; i < 8; ++i) nodes.insert(world.NodeOf("train-" + std::to_string(i)));
  CHECK(nodes.size() == 1);
}

TEST_CASE("one volume under two names counts once", "[engine][volumes]") {
  LimitWorld world;
  for (const char* node : {"a0y", "a1x", "a1y"}) world.Limit(node, 0);
  const auto tell = [&](const std::string& handle) {
    for (const char* name : {"one", "two"}) {
      cluster::Volume volume = VolumeOf(name, {});
      volume.driver = "csi.example.com";
      volume.handle = handle;
      world.Tell(BoundClaim(name));
      world.Tell(volume);
    }
  };
  tell("");
  world.Add(MakePodGroup("train").MinMember(2));
  world.Add(NamingClaim(MakePod("train-0").Gpus(1).InGroup("train").Gated(), "one"));
  world.Add(NamingClaim(MakePod("train-1").Gpus(1).InGroup("train").Gated(), "two"));
  world.Settle();
  CHECK(world.Gang("train").state != GangState::kReserved);
  tell("share");
  world.Pass(Seconds(20));
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.OnNode("train", 2, "a0x") == 2);
}

TEST_CASE("what others have attached counts until they go", "[engine][volumes]") {
  LimitWorld world;
  for (int i = 4; i < 8; ++i)
    world.Attach("other-" + std::to_string(i), kNodes[i - 4], "data-" + std::to_string(i));
  SECTION("a gang with volumes of its own waits") {
    world.AddWithClaims("train", 1, "data");
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kQueued);
    CHECK(world.Gang("train").reason.code == ReasonCode::kNodeVolumes);
    world.RemovePod("other-6");
    world.Pass(Seconds(20));
    CHECK(world.NodeOf("train-0") == "a1x");
  }
  SECTION("one that uses the volume of one of them goes there") {
    world.AddWorkers("train", 1, "data-6");
    world.Settle();
    CHECK(world.NodeOf("train-00") == "a1x");
  }
  SECTION("one without volumes is not concerned") {
    world.AddGang("train", 4, 8, 4);
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kReserved);
  }
}

TEST_CASE("volumes of victims leave with them", "[engine][volumes][preemption]") {
  engine::Options options;
  options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  LimitWorld world(options);
  world.AddWithClaims("low", 4, "data");
  world.ScheduleAll("low");
  REQUIRE(world.Gang("low").state == GangState::kRunning);
  for (int i = 0; i < 2; ++i) world.Tell(UnboundClaim("more-" + std::to_string(i), "late"));
  SECTION("for a gang of higher priority") {
    world.AddWithClaims("high", 2, "more", 50);
    world.Pass(Seconds(60));
    CHECK(world.Evictions() == 4);
    CHECK(world.NodeOf("high-0") != "");
    CHECK(world.NodeOf("high-1") != "");
    CHECK(world.NodeOf("high-0") != world.NodeOf("high-1"));
  }
  SECTION("not where even then there are too few") {
    for (const char* node : {"a0y", "a1x", "a1y"}) world.Limit(node, 0);
    world.AddWithClaims("high", 2, "more", 50);
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
  }
}

cluster::Volume Disk(const std::string& name, const std::string& node) {
  return {name, "local", {}, {NodesWith("name", {node})}};
}

// Claims disk-0 … of a class whose volumes are made by hand.
struct DiskWorld : VolumeWorld {
  explicit DiskWorld(engine::Options options = {}) : VolumeWorld(std::move(options)) {
    Tell(cluster::StorageClass{"local", cluster::kNoProvisioner, true, {}});
    for (int i = 0; i < 8; ++i) Tell(UnboundClaim("disk-" + std::to_string(i), "local"));
  }
};

TEST_CASE("each claim has a volume of its own", "[engine][volumes]") {
  DiskWorld world;
  world.Tell(Disk("one", "a0x"));
  world.Tell(Disk("two", "a1y"));
  world.AddWithClaims("train", 3, "disk");
  world.Settle();
  CHECK(world.Gang("train").state != GangState::kReserved);
  CHECK(
      world.Why("train").find("too few nodes can attach its volumes, or reach one that is left") !=
      std::string::npos);
  world.Tell(Disk("three", "a1y"));
  world.Pass(Seconds(20));
  CHECK(world.Gang("train").state == GangState::kReserved);
  CHECK(world.OnNode("train", 3, "a0x") == 1);
  CHECK(world.OnNode("train", 3, "a1y") == 2);
  SECTION("those of a gang that is planned are not another one's") {
    world.Add(MakePodGroup("second").MinMember(1));
    world.Add(NamingClaim(MakePod("second-0").Gpus(1).InGroup("second").Gated(), "disk-7"));
    world.Settle();
    CHECK(world.Gang("second").state == GangState::kQueued);
    CHECK(world.Gang("second").reason.code == ReasonCode::kNodeVolumes);
    world.RemoveGroup("train");
    for (int i = 0; i < 3; ++i) world.RemovePod("train-" + std::to_string(i));
    world.Pass(Seconds(20));
    CHECK(world.Gang("second").state == GangState::kReserved);
  }
  SECTION("as they are bound, the plan stays") {
    // kube-scheduler writes the claim into the volume when the member has its node.
    std::vector<std::string> here = {"two", "three"};
    for (int i = 0; i < 3; ++i) {
      const std::string node = world.NodeOf("train-" + std::to_string(i));
      cluster::Volume volume = Disk(node == "a0x" ? "one" : here.back(), node);
      if (node != "a0x") here.pop_back();
      volume.claim = {"default", "disk-" + std::to_string(i)};
      volume.phase = cluster::Volume::Phase::kBound;
      world.Tell(volume);
      world.Settle();
      CHECK(world.Gang("train").state == GangState::kReserved);
      CHECK(world.NodeOf("train-" + std::to_string(i)) == node);
    }
  }
}

TEST_CASE("a volume made by hand suits the claim or is none", "[engine][volumes]") {
  DiskWorld world;
  constexpr int64_t kGibibyte = int64_t{1} << 30;
  cluster::VolumeClaim claim = UnboundClaim("disk-0", "local");
  claim.terms = {10 * kGibibyte, cluster::kOneNode, false, {}};
  claim.selector = {{"disk", cluster::SelectorOperator::kIn, {"fast"}}};
  world.Tell(claim);
  cluster::Volume suitable = Disk("one", "a1x");
  suitable.terms = {10 * kGibibyte, cluster::kOneNode | cluster::kManyRead, false, {}};
  suitable.labels = {{"disk", "fast"}};
  struct Case {
    const char* name;
    std::function<void(cluster::Volume&)> change;
  };
  const Case cases[] = {
      {"too small", [](auto& volume) { --volume.terms.bytes; }},
      {"another access mode", [](auto& volume) { volume.terms.modes = cluster::kManyRead; }},
      {"a block device", [](auto& volume) { volume.terms.block = true; }},
      {"of other attributes", [](auto& volume) { volume.terms.attributes_class = "gold"; }},
      {"with another label", [](auto& volume) { volume.labels["disk"] = "slow"; }},
      {"without the label", [](auto& volume) { volume.labels.clear(); }},
      {"of another class", [](auto& volume) { volume.storage_class = "other"; }},
      {"kept for another claim",
       [](auto& volume) {
         volume.claim = {"default", "other"};
       }},
      {"released", [](auto& volume) { volume.phase = cluster::Volume::Phase::kSpent; }},
  };
  for (const Case& one : cases) {
    DYNAMIC_SECTION(one.name) {
      cluster::Volume volume = suitable;
      one.change(volume);
      world.Tell(volume);
      world.AddWithClaims("train", 1, "disk");
      world.Settle();
      CHECK(world.Gang("train").state == GangState::kForming);
      const bool any = volume.storage_class == "local" && volume.claim.name.empty() &&
                       volume.phase == cluster::Volume::Phase::kFree;
      CHECK(world.Why("train") ==
            std::string("pod train-0: didn't find available persistent volumes to bind to "
                        "persistentvolumeclaim \"disk-0\"; create one of class local") +
                (any ? " that suits it: size, selector, access modes, volumeMode" : ""));
      world.Tell(suitable);
      world.Pass(Seconds(20));
      CHECK(world.NodeOf("train-0") == "a1x");
    }
  }
}

TEST_CASE("the volume that is kept for a claim is the one", "[engine][volumes]") {
  DiskWorld world;
  world.Tell(Disk("one", "a0x"));
  cluster::Volume kept = Disk("two", "a1y");
  kept.claim = {"default", "disk-0"};
  world.Tell(kept);
  world.AddWithClaims("train", 2, "disk");
  world.Settle();
  CHECK(world.NodeOf("train-0") == "a1y");
  CHECK(world.NodeOf("train-1") == "a0x");
}

TEST_CASE("small claims take small volumes and leave the large ones", "[engine][volumes]") {
  DiskWorld world;
  const auto sized = [&](const std::string& name, int64_t bytes) {
    cluster::Volume disk = Disk(name, "a1x");
    disk.terms.bytes = bytes;
    world.Tell(disk);
  };
  sized("large", 100);
  sized("small", 10);
  cluster::VolumeClaim large = UnboundClaim("disk-1", "local");
  large.terms.bytes = 50;
  world.Tell(large);
  world.AddWithClaims("train", 2, "disk");
  world.Settle();
  CHECK(world.OnNode("train", 2, "a1x") == 2);
}

TEST_CASE("limits and volumes made by hand are known after a restart", "[engine][volumes]") {
  DiskWorld world;
  world.Tell(Disk("one", "a0x"));
  world.Tell(Disk("two", "a1y"));
  for (const char* node : kNodes) world.Limit(node, 1);
  for (int i = 0; i < 8; ++i) world.Tell(UnboundClaim("data-" + std::to_string(i), "late"));
  world.AddWithClaims("local", 2, "disk");
  world.AddWithClaims("train", 4, "data");
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kReserved);
  world.Restart();
  for (const cluster::StorageRecord& record : world.storage)
    world.engine().Apply(record, world.now());
  world.engine().Apply(engine::StorageReadable{true}, world.now());
  world.Settle();
  CHECK(world.OnNode("local", 2, "a0x") == 1);
  CHECK(world.OnNode("local", 2, "a1y") == 1);
  for (const char* node : kNodes) CHECK(world.OnNode("train", 4, node) == 1);
}

}  // namespace
}  // namespace muster::testing
