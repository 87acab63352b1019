#include "engine/gangs/membership.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/builders.hpp"

namespace muster::engine {
namespace {

using testing::MakePod;

struct World {
  cluster::ClusterState cluster;
  Options options;
  Membership members{cluster, options};

  const cluster::Pod& Know(const cluster::Pod& pod) {
    cluster.Upsert(pod);
    return *cluster.FindPod(pod.uid);
  }
};

TEST_CASE("a pod belongs to the gang of its PodGroup, else to one of its own",
          "[engine][members]") {
  CHECK(Membership::IdFor(MakePod("a").InGroup("train").Build()) ==
        GangId{{"default", "train"}, false});
  CHECK(Membership::IdFor(MakePod("a").Build()) == GangId{{"default", "a"}, true});
}

TEST_CASE("a pod is claimed by its schedulerName, by a Filter call, or because Muster bound it",
          "[engine][members]") {
  World world;
  CHECK(world.members.Claimed(MakePod("a").Build()));
  cluster::Pod other = MakePod("b").Scheduler("default-scheduler").Build();
  CHECK_FALSE(world.members.Claimed(other));
  world.members.Claim(other.uid);
  CHECK(world.members.Claimed(other));
  world.members.Forget(other.uid);
  CHECK_FALSE(world.members.Claimed(other));
  other.node_name = "n0";
  other.bound_by_muster = true;
  CHECK(world.members.Claimed(other));
}

TEST_CASE("where one member is claimed all pods of the gang are managed", "[engine][members]") {
  World world;
  const cluster::Pod& other =
      world.Know(MakePod("b").InGroup("train").Scheduler("default-scheduler").Build());
  CHECK_FALSE(world.members.Managed(other));
  world.members.AddUnmanaged(other);
  world.members.Add(world.Know(MakePod("a").InGroup("train").Build()));
  CHECK(world.members.Managed(other));
  CHECK(world.members.TakeUnmanaged({"default", "train"}) == std::set{other.uid});
  CHECK(world.members.TakeUnmanaged({"default", "train"}).empty());
  world.members.Add(other);
  CHECK(world.members.member_count() == 2);
  CHECK(world.members.GangOf(other.uid)->members.size() == 2);
  CHECK(world.members.Audit().empty());
}

TEST_CASE("a gang ends with its last member, or with its PodGroup", "[engine][members]") {
  World world;
  const PlacedMember at = world.members.Add(world.Know(MakePod("a").InGroup("train").Build()));
  CHECK_FALSE(world.members.Ended(*at.gang));
  world.cluster.Upsert(testing::MakePodGroup("train").MinMember(1).Build());
  CHECK(world.members.GroupOf(*at.gang) != nullptr);
  world.members.Remove(at.member->uid);
  CHECK_FALSE(world.members.Ended(*at.gang));
  world.cluster.Remove(world.cluster.FindPodGroup({"default", "train"})->uid);
  CHECK(world.members.Ended(*at.gang));
}

TEST_CASE("a pod that only a Filter call has shown waits to be confirmed", "[engine][members]") {
  World world;
  const cluster::PodUid a("a");
  const cluster::PodUid b("b");
  world.members.AwaitConfirmation(a, cluster::Time(1'000));
  world.members.AwaitConfirmation(b, cluster::Time(3'000));
  const auto late = [&](int64_t now) {
    return world.members.Unconfirmed(cluster::Seconds(10), cluster::Time(now));
  };
  CHECK(late(10'999).empty());
  CHECK(late(11'000) == std::vector{a});
  CHECK(late(13'000) == std::vector{a, b});
  world.members.Confirm(a);
  CHECK(late(13'000) == std::vector{b});
}

TEST_CASE("what was deferred while a pod was being bound is asked about once",
          "[engine][members]") {
  World world;
  const cluster::Pod& pod = world.Know(MakePod("a").InGroup("train").Build());
  world.members.Add(pod);
  world.members.Defer(pod.uid);
  CHECK(world.members.TakeDeferred(pod.uid));
  CHECK_FALSE(world.members.TakeDeferred(pod.uid));
  world.members.Defer(pod.uid);
  world.members.Remove(pod.uid);
  CHECK_FALSE(world.members.TakeDeferred(pod.uid));
}

TEST_CASE("the audit sees a member without a pod, and an unmanaged pod that is a member",
          "[engine][members]") {
  World world;
  const cluster::Pod& pod = world.Know(MakePod("a").InGroup("train").Build());
  world.members.AddUnmanaged(pod);
  world.members.Add(pod);
  CHECK(
      world.members.Audit() ==
      std::vector<std::string>{"a pod of PodGroup default/train is a member, or gone, and apart"});
  world.members.RemoveUnmanaged({"default", "train"}, pod.uid);
  CHECK(world.members.Audit().empty());
  world.cluster.Remove(cluster::PodUid(pod.uid));
  CHECK(world.members.Audit().front() == "pod default/a is a member but not known");
}

}  // namespace
}  // namespace muster::engine
