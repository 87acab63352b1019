#include "engine/standing/refusals.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/builders.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using testing::MakePod;

const GangId kGang{{"default", "train"}, false};
constexpr const char* kAffinity =
    "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.";

struct RefusedWorld {
  explicit RefusedWorld(int count = 1) {
    auto spec = MakePod("x").Gpus(8).Build().spec;
    for (int i = 0; i < count; ++i) {
      pods.push_back(MakePod("train-" + std::to_string(i)).Build());
      pods.back().spec = spec;
    }
    for (cluster::Pod& pod : pods) {
      members.emplace_back();
      members.back().uid = pod.uid;
      members.back().pod = &pod;
    }
  }
  void Refuse() { refusals.Refuse(kGang, {members.data()}, kAffinity, now); }
  Time From() const { return refusals.RetryFrom(*refusals.Of(kGang)); }
  bool KeepsOff(const std::string& node) const {
    return refusals.KeepsOff(*refusals.Of(kGang), *pods[0].spec, node);
  }
  std::vector<cluster::Pod> pods;
  std::vector<Member> members;
  Refusals refusals;
  Time now{1'000'000};
};

TEST_CASE("words count as kube-scheduler's where Filter has had no say", "[engine][refusals]") {
  cluster::Pod pod = MakePod("a").Build();
  CHECK(WordsOn(pod) == nullptr);
  const auto say = [&](const char* words) {
    pod.unschedulable = std::make_shared<const std::string>(words);
    return WordsOn(pod) != nullptr;
  };
  CHECK(say(kAffinity));
  CHECK(say(""));
  CHECK_FALSE(say("0/2 nodes are available: 2 muster: gang is Queued: not enough free GPUs."));
}

TEST_CASE("kube-scheduler relents where something is missing that is not room",
          "[engine][refusals]") {
  const std::string affinity = kAffinity;
  const std::string room = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";
  const std::string both =
      "0/16 nodes are available: 3 node(s) didn't match pod anti-affinity rules, 13 Insufficient "
      "cpu. preemption: 0/16 nodes are available: 16 No preemption victims found.";
  const std::string claim =
      "0/2 nodes are available: persistentvolumeclaim \"data\" not found. no new claims to "
      "deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful.";
  CHECK(Relents(affinity, room));
  CHECK(Relents(claim, room));
  CHECK(Relents(both, room));
  CHECK_FALSE(Relents(affinity, both));
  CHECK_FALSE(Relents(both, affinity));
  CHECK_FALSE(Relents(room, affinity));
  CHECK_FALSE(Relents(affinity, affinity));
  CHECK_FALSE(NamesUnplanned(affinity));
  CHECK_FALSE(NamesUnplanned("0/0 nodes are available."));
  CHECK(NamesUnplanned(claim));
  CHECK_FALSE(NamesUnplanned(room));
  CHECK_FALSE(
      NamesUnplanned("0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had "
                     "untolerated taint(s)."));
}

TEST_CASE("a gang that is refused waits for evidence, later after each vain try",
          "[engine][refusals]") {
  RefusedWorld world;
  world.Refuse();
  CHECK(world.From() == Time::Never());
  CHECK(world.refusals.TakeStirred().empty());
  world.refusals.Changed();
  CHECK(world.refusals.TakeStirred() == std::vector<GangId>{kGang});
  world.refusals.Changed();
  CHECK(world.refusals.TakeStirred().empty());
  CHECK(world.From() == world.now + Seconds(5));
  world.refusals.Retry(kGang);
  world.Refuse();
  CHECK(world.From() == Time::Never());
  world.refusals.NodeChanged("n7");
  CHECK(world.From() == world.now + Seconds(10));
  for (int i = 0; i < 12; ++i) {
    world.refusals.Retry(kGang);
    world.Refuse();
  }
  world.refusals.Changed();
  CHECK(world.From() == world.now + Seconds(300));
  SECTION("but not where kube-scheduler asks itself") {
    CHECK(world.refusals.Asked(kGang, world.members[0], {"n3"}));
    CHECK_FALSE(world.refusals.Asked(kGang, world.members[0], {"n3"}));
    CHECK(world.From() == world.now + Seconds(5));
  }
}

TEST_CASE("pods of a refused template are kept off the nodes that are as they were",
          "[engine][refusals]") {
  RefusedWorld world;
  world.Refuse();
  CHECK(world.KeepsOff("n0"));
  world.refusals.NodeChanged("n1");
  CHECK(world.KeepsOff("n0"));
  CHECK_FALSE(world.KeepsOff("n1"));
  SECTION("also after a vain look for room") {
    world.refusals.Retry(kGang);
    world.refusals.FoundNoRoom(kGang, world.now);
    CHECK(world.From() == Time::Never());
    CHECK_FALSE(world.KeepsOff("n1"));
  }
  SECTION("but not off those that kube-scheduler names") {
    world.refusals.Asked(kGang, world.members[0], {"n2"});
    CHECK_FALSE(world.KeepsOff("n2"));
    CHECK_FALSE(world.KeepsOff("n1"));
    CHECK(world.KeepsOff("n0"));
  }
  SECTION("and off none when something else has changed") {
    world.refusals.Changed();
    CHECK_FALSE(world.KeepsOff("n0"));
  }
}

TEST_CASE("nobody is evicted for a refused gang before kube-scheduler changes its mind",
          "[engine][refusals]") {
  RefusedWorld world(2);
  world.Refuse();
  world.refusals.Changed();
  world.refusals.NodeChanged("n0");
  CHECK_FALSE(world.refusals.Of(kGang)->may_evict);
  world.refusals.Asked(kGang, world.members[1], {"n0"});  // it was not refused
  CHECK_FALSE(world.refusals.Of(kGang)->may_evict);
  world.refusals.Asked(kGang, world.members[0], {});
  CHECK_FALSE(world.refusals.Of(kGang)->may_evict);
  SECTION("by a Filter call") {
    world.refusals.Asked(kGang, world.members[0], {"n0"});
    CHECK(world.refusals.Of(kGang)->may_evict);
  }
  SECTION("by other words") {
    world.refusals.Relented(kGang, world.pods[0].uid);
    CHECK(world.refusals.Of(kGang)->may_evict);
  }
}

TEST_CASE("the pause after silence ends by itself, and for a new node", "[engine][refusals]") {
  RefusedWorld world;
  world.refusals.Await(kGang, {world.members.data()}, world.now + Seconds(120), world.now);
  CHECK(world.From() == world.now + Seconds(120));
  world.refusals.Changed();  // says nothing of who was silent
  CHECK(world.From() == world.now + Seconds(120));
  CHECK(world.refusals.Of(kGang)->may_evict);
  world.refusals.NodeChanged("new");
  CHECK(world.From() == world.now + Seconds(5));
}

}  // namespace
}  // namespace muster::engine
