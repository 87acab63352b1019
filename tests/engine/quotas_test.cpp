// ResourceQuotas: why members that a gang lacks are not created.
#include "engine/gangs/quotas.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::QuotaLine;
using cluster::ResourceQuota;
using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

ResourceQuota Quota(QuotaLine line, const std::string& name = "team") {
  ResourceQuota quota;
  quota.uid = cluster::ResourceQuotaUid("q-" + name);
  quota.key = {"default", name};
  quota.lines = {std::move(line)};
  return quota;
}

// Two of three members are there, of two GPUs each.
struct MissingOne : Harness {
  MissingOne() {
    Add(MakeNode("n0").Gpus(8));
    Add(MakePodGroup("train").MinMember(3).CreatedAt(1));
    for (const char* name : {"train-0", "train-1"})
      Harness::Add(MakePod(name).Gpus(2).InGroup("train").Gated());
    Settle();
  }
  std::string Says(const ResourceQuota& quota) {
    engine().Apply(quota, now());
    Settle();
    const engine::Reason reason = Gang("train").reason;
    return reason.code == ReasonCode::kResourceQuota ? reason.detail : "";
  }
};

TEST_CASE("a member that is missing and over a quota names the quota", "[engine][quota]") {
  MissingOne world;
  CHECK(world.Gang("train").reason.code == ReasonCode::kWaitingForMembers);
  CHECK(
      world.Says(Quota({QuotaLine::Kind::kGpus, "requests.nvidia.com/gpu", 8'000, 6'000})).empty());
  CHECK(world.Says(Quota({QuotaLine::Kind::kGpus, "requests.nvidia.com/gpu", 7'000, 6'000})) ==
        "ResourceQuota team, requests.nvidia.com/gpu: used 6 of 7, 1 missing pod asks for 2");
  CHECK(world.Gang("train").reason.have == 2);
  CHECK(world.Gang("train").reason.need == 3);
  CHECK(world.Says(Quota({QuotaLine::Kind::kGpus, "requests.nvidia.com/gpu", 5'000, 4'000})) ==
        "ResourceQuota team, requests.nvidia.com/gpu: used 4 of 5, 1 missing pod asks for 2; its "
        "minimum asks for 6, more than the quota ever lets it have");
  SECTION("the third one comes: what is there is charged already") {
    world.Add(MakePod("train-2").Gpus(2).InGroup("train").Gated());
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kReserved);
  }
  SECTION("the quota goes") {
    world.engine().Apply(engine::ResourceQuotaRemoved{cluster::ResourceQuotaUid("q-team")},
                         world.now());
    world.Settle();
    CHECK(world.Gang("train").reason.code == ReasonCode::kWaitingForMembers);
  }
}

TEST_CASE("a quota of pods counts before any pod exists", "[engine][quota]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("train").MinMember(3).CreatedAt(1));
  world.Add(MakePod("other").Gpus(1).Gated());
  world.engine().Apply(Quota({QuotaLine::Kind::kPods, "count/pods", 2, 1}), world.now());
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kResourceQuota);
}

TEST_CASE("a quota of other PriorityClasses is not the gang's", "[engine][quota]") {
  MissingOne world;
  cluster::PriorityClass urgent;
  urgent.uid = cluster::PriorityClassUid("c");
  urgent.key.name = "urgent";
  urgent.value = 100;
  world.engine().Apply(urgent, world.now());
  ResourceQuota quota = Quota({QuotaLine::Kind::kPods, "pods", 2, 2});
  quota.priority_classes = {{"PriorityClass", cluster::SelectorOperator::kIn, {"urgent"}}};
  CHECK(world.Says(quota).empty());
  quota.priority_classes.front().op = cluster::SelectorOperator::kNotIn;
  CHECK_FALSE(world.Says(quota).empty());
}

TEST_CASE("a lost member that a quota keeps away is reported", "[engine][quota]") {
  MissingOne world;
  world.Add(MakePod("train-2").Gpus(2).InGroup("train").Gated());
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.engine().Apply(Quota({QuotaLine::Kind::kPods, "pods", 3, 3}), world.now());
  world.RemovePod("train-1");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Gang("train").reason.detail ==
        "ResourceQuota team, pods: used 3 of 3, 1 missing pod asks for 1");
  // Nothing else changes, and the reason goes with the quota.
  world.engine().Apply(Quota({QuotaLine::Kind::kPods, "pods", 4, 3}), world.now());
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kMembersLost);
}

TEST_CASE("the first pods of a role stand for the others that a quota keeps away",
          "[engine][quota]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  cluster::PodGroup group = MakePodGroup("train").MinMember(3).CreatedAt(1);
  group.roles = {{"w", 2}, {"w/first", 1}};
  world.Add(group);
  cluster::Pod first = MakePod("train-0").Gpus(2).InGroup("train").Gated();
  first.role = "w/first";
  world.Add(first);
  world.engine().Apply(Quota({QuotaLine::Kind::kGpus, "requests.nvidia.com/gpu", 7'000, 4'000}),
                       world.now());
  world.Settle();
  CHECK(world.Gang("train").reason.detail ==
        "ResourceQuota team, requests.nvidia.com/gpu: used 4 of 7, 2 missing pods ask for 4");
}

TEST_CASE("a role of which no pod is known counts as pods alone", "[engine][quota]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  cluster::PodGroup group = MakePodGroup("train").MinMember(2).CreatedAt(1);
  group.roles = {{"worker", 1}, {"launcher", 1}};
  world.Add(group);
  cluster::Pod worker = MakePod("train-0").Gpus(4).InGroup("train").Gated();
  worker.role = "worker";
  world.Add(worker);
  world.engine().Apply(Quota({QuotaLine::Kind::kGpus, "requests.nvidia.com/gpu", 4'000, 4'000}),
                       world.now());
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kWaitingForMembers);
}

}  // namespace
}  // namespace muster::testing
