// Who has to leave so that a gang fits (policy/victims/preemption.hpp).
#include "policy/victims/preemption.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::PodUid;
using testing::Dice;
using testing::MakeNode;
using testing::MakePod;
using testing::World;

// A world and those in it who may have to leave.
class Crowd {
 public:
  World world;
  std::vector<Candidate> candidates;

  // A candidate of pods that hold these devices, one pod for each node named.
  void Add(uint64_t owner, const std::vector<std::pair<std::string, std::vector<int>>>& where) {
    Candidate candidate{owner, "", {}};
    for (const auto& [node, gpus] : where) {
      const std::string name = "held-" + std::to_string(++pods_);
      testing::PodBuilder pod = MakePod(name).Gpus(static_cast<int32_t>(gpus.size()));
      world.state.Upsert(pod.BoundTo(node, gpus));
      candidate.held.push_back(world.state.AllocationOf(PodUid("pod-" + name))->placement);
    }
    candidates.push_back(std::move(candidate));
  }
  PreemptionAnswer Find(const std::vector<Demand>& demands) {
    Placer placer(Options{});
    return PlaceByPreemption(placer, {world.state.TakeSnapshot(), nullptr, candidates}, demands);
  }
  std::vector<std::string> Where(const PreemptionAnswer& answer) const {
    std::vector<std::string> where;
    for (const cluster::Placement& placement : answer.placements)
      where.push_back(world.Where(placement));
    return where;
  }

 private:
  int pods_ = 0;
};

using Victims = std::vector<size_t>;

TEST_CASE("the cheapest that make room are the victims", "[policy][preemption]") {
  Crowd crowd;
  for (const char* name : {"n0", "n1", "n2"}) crowd.world.Add(MakeNode(name).Gpus(4));
  crowd.Add(0, {{"n2", {0, 1, 2, 3}}});
  crowd.Add(1, {{"n0", {0, 1, 2, 3}}});
  crowd.Add(2, {{"n1", {0, 1, 2, 3}}});
  const PreemptionAnswer one = crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(4)));
  CHECK(crowd.Where(one) == std::vector<std::string>{"n2:0,1,2,3"});
  CHECK(one.victims == Victims{0});
  const PreemptionAnswer two = crowd.Find(crowd.world.Ask(2, MakePod("b").Gpus(4)));
  CHECK(two.victims == Victims{0, 1});
}

TEST_CASE("who is not in the way stays, however cheap", "[policy][preemption]") {
  Crowd crowd;
  for (const char* name : {"n0", "n1"}) crowd.world.Add(MakeNode(name).Gpus(4));
  crowd.Add(0, {{"n0", {0}}});
  crowd.Add(1, {{"n1", {0, 1}}});
  crowd.Add(2, {{"n1", {2, 3}}});
  crowd.Add(3, {{"n0", {1, 2, 3}}});
  SECTION("a whole node is freed, and no other is touched") {
    const PreemptionAnswer answer = crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(4)));
    REQUIRE(answer.placed);
    CHECK(crowd.Where(answer) == std::vector<std::string>{"n1:0,1,2,3"});
    CHECK(answer.victims == Victims{1, 2});
  }
  SECTION("a share of a node costs one victim") {
    const PreemptionAnswer answer = crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(2)));
    CHECK(answer.victims == Victims{1});
  }
}

TEST_CASE("what is free already is used before anybody goes", "[policy][preemption]") {
  Crowd crowd;
  for (const char* name : {"n0", "n1"}) crowd.world.Add(MakeNode(name).Gpus(4));
  crowd.Add(0, {{"n0", {0, 1, 2, 3}}});
  const PreemptionAnswer answer = crowd.Find(crowd.world.Ask(2, MakePod("a").Gpus(4)));
  REQUIRE(answer.placed);
  CHECK(answer.victims == Victims{0});
}

TEST_CASE("a gang goes with all of its pods", "[policy][preemption]") {
  Crowd crowd;
  for (const char* name : {"n0", "n1"}) crowd.world.Add(MakeNode(name).Gpus(4));
  crowd.Add(0, {{"n0", {0, 1, 2, 3}}, {"n1", {0, 1, 2, 3}}});
  const PreemptionAnswer answer = crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(1)));
  REQUIRE(answer.placed);
  CHECK(answer.victims == Victims{0});
}

TEST_CASE("a gang's surplus goes before the gang, and with it", "[policy][preemption]") {
  Crowd crowd;
  for (const char* name : {"n0", "n1"}) crowd.world.Add(MakeNode(name).Gpus(4));
  crowd.Add(7, {{"n0", {0, 1}}});
  crowd.Add(7, {{"n0", {2, 3}}, {"n1", {0, 1, 2, 3}}});
  SECTION("the surplus is enough") {
    CHECK(crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(2))).victims == Victims{0});
  }
  SECTION("it is not: it goes too, though nobody takes its place") {
    const auto gang = crowd.world.Ask(1, MakePod("a").Gpus(4).Select("zone", "x"));
    crowd.world.Add(MakeNode("n1").Gpus(4).Label("zone", "x"));
    CHECK(crowd.Find(gang).victims == Victims{0, 1});
  }
}

// Four nodes of four GPUs, on each four members of a gang of which four are needed; the surplus is
// listed by turns of the nodes, and one that is needed is on each.
struct ElasticCrowd : Crowd {
  ElasticCrowd() {
    for (const char* name : {"n0", "n1", "n2", "n3"}) world.Add(MakeNode(name).Gpus(4));
    for (int gpu = 3; gpu > 0; --gpu) {
      for (const char* name : {"n0", "n1", "n2", "n3"}) Add(7, {{name, {gpu}}});
    }
    Add(7, {{"n0", {0}}, {"n1", {0}}, {"n2", {0}}, {"n3", {0}}});
    auto pool = std::make_shared<std::vector<cluster::Placement>>();
    for (const Candidate& one : candidates)
      pool->insert(pool->end(), one.held.begin(), one.held.end());
    for (size_t i = 0; i + 1 < candidates.size(); ++i) candidates[i].alike = pool;
  }
  PreemptionAnswer ByPlace(const std::vector<Demand>& demands, VictimSets* sets = nullptr,
                           const cluster::NodeSet* first = nullptr) {
    Placer placer(Options{});
    return PlaceByPreemption(
        placer, {world.state.TakeSnapshot(), nullptr, candidates, sets, true, first}, demands);
  }
  std::map<std::string, int> Left(const PreemptionAnswer& answer) const {
    std::map<std::string, int> left;
    for (const PodUid& pod : answer.pods)
      ++left[world.state.node(world.state.AllocationOf(pod)->placement.node)->name];
    return left;
  }
};

// No more than so many, whoever it is.
class AtMost final : public VictimSets {
 public:
  explicit AtMost(size_t most) : most_(most) {}
  bool Allows(const std::vector<bool>& chosen) override {
    return static_cast<size_t>(std::count(chosen.begin(), chosen.end(), true)) <= most_;
  }
  bool AllowsParts(const std::vector<bool>& chosen) override { return Allows(chosen); }
  std::vector<bool> AllowsInOrder(const std::vector<size_t>& order) override {
    std::vector<bool> allowed(order.size(), false);
    std::fill_n(allowed.begin(), std::min(most_, order.size()), true);
    return allowed;
  }

 private:
  const size_t most_;
};

TEST_CASE("surplus goes where it is in the way, whichever of its gang it is",
          "[policy][preemption]") {
  ElasticCrowd crowd;
  using Left = std::map<std::string, int>;
  SECTION("a node is freed") {
    const PreemptionAnswer answer = crowd.ByPlace(crowd.world.Ask(1, MakePod("a").Gpus(4)));
    CHECK(crowd.Left(answer) == Left{{"n0", 4}});
    CHECK(answer.victims.size() == 4);
  }
  SECTION("of another one if that is to come first") {
    cluster::NodeSet first;
    first.Add(crowd.world.Index("n2"));
    const auto demands = crowd.world.Ask(1, MakePod("a").Gpus(4));
    CHECK(crowd.Left(crowd.ByPlace(demands, nullptr, &first)) == Left{{"n2", 4}});
  }
  SECTION("no more than what is in the way of some GPUs") {
    const PreemptionAnswer answer = crowd.ByPlace(crowd.world.Ask(1, MakePod("a").Gpus(2)));
    CHECK(crowd.Left(answer) == Left{{"n0", 2}});
    CHECK(answer.victims == Victims{0, 1});
  }
  SECTION("three nodes are the surplus, and more is the gang") {
    CHECK(crowd.Left(crowd.ByPlace(crowd.world.Ask(3, MakePod("a").Gpus(4)))) ==
          Left{{"n0", 4}, {"n1", 4}, {"n2", 4}});
    CHECK(crowd.ByPlace(crowd.world.Ask(4, MakePod("b").Gpus(4))).pods.size() == 16);
  }
  SECTION("so many as may go") {
    AtMost four(4);
    CHECK(crowd.Left(crowd.ByPlace(crowd.world.Ask(1, MakePod("a").Gpus(4)), &four)) ==
          Left{{"n0", 4}});
    AtMost three(3);
    CHECK_FALSE(crowd.ByPlace(crowd.world.Ask(1, MakePod("b").Gpus(4)), &three).placed);
  }
  SECTION("in the order of the list, it goes by itself too") {
    CHECK(crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(3))).victims.size() == 3);
  }
}

TEST_CASE("nobody is a victim where the gang would not fit anyway", "[policy][preemption]") {
  Crowd crowd;
  crowd.world.Add(MakeNode("n0").Gpus(4));
  crowd.world.Occupy("n0", MakePod("dear").Gpus(1), {0});
  crowd.Add(0, {{"n0", {1, 2, 3}}});
  const PreemptionAnswer answer = crowd.Find(crowd.world.Ask(1, MakePod("a").Gpus(4)));
  CHECK_FALSE(answer.placed);
  CHECK(answer.placements.empty());
  CHECK(answer.victims.empty());
  crowd.candidates.clear();
  CHECK_FALSE(crowd.Find(crowd.world.Ask(1, MakePod("b").Gpus(1))).placed);
}

// Pods of random gangs, bound where a Placer put them; each gang is a candidate.
void Fill(Dice& dice, Crowd& crowd, Placer& placer) {
  for (int nodes = dice.Roll(1, 5); nodes > 0; --nodes)
    crowd.world.Add(RandomNode(dice, "n" + std::to_string(nodes)));
  for (int gangs = dice.Roll(1, 6); gangs > 0; --gangs) {
    const auto demands = crowd.world.Ask(dice.Roll(1, 3), RandomPod(dice));
    const PlaceAnswer held = crowd.world.PlaceAndHold(placer, demands);
    for (const cluster::Placement& placement : held.placements) {
      cluster::Pod pod = *crowd.world.state.FindPod(placement.pod);
      pod.node_name = crowd.world.state.node(placement.node)->name;
      crowd.world.state.Upsert(pod);
    }
    if (!held.placed || dice.OneIn(4)) continue;  // some are dearer than the preemptor
    crowd.candidates.push_back({static_cast<uint64_t>(gangs), "", held.placements});
  }
}

// The placement still fits if all victims but this one go.
bool CouldStay(Crowd& crowd, const PreemptionAnswer& answer, size_t staying) {
  cluster::Transaction tx(crowd.world.state.TakeSnapshot());
  for (const size_t victim : answer.victims) {
    if (victim == staying) continue;
    for (const cluster::Placement& held : crowd.candidates[victim].held) tx.Evict(held);
  }
  for (const cluster::Placement& placement : answer.placements) {
    if (!tx.free().Fits(*tx.node(placement.node), placement)) return false;
    tx.Place(placement);
  }
  return true;
}

TEST_CASE(
    "a gang of equal pods preempts exactly when it fits without all candidates, and no victim "
    "is one in vain",
    "[policy][preemption][property]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  int preempted = 0;
  for (int round = 0; round < testing::Rounds(400); ++round) {
    INFO("round " << round);
    Crowd crowd;
    Placer placer(Options{dice.OneIn(2) ? Strategy::kBinpack : Strategy::kSpread});
    Fill(dice, crowd, placer);
    const std::vector<Demand> gang = crowd.world.Ask(dice.Roll(1, 4), RandomPod(dice));
    if (crowd.candidates.empty() || crowd.world.Place(placer, gang).placed) continue;
    const PreemptionAnswer answer = PlaceByPreemption(
        placer, {crowd.world.state.TakeSnapshot(), nullptr, crowd.candidates}, gang);
    REQUIRE(answer.placed == !answer.victims.empty());
    for (const size_t victim : answer.victims) REQUIRE_FALSE(CouldStay(crowd, answer, victim));
    for (const size_t victim : answer.victims) {
      for (const cluster::Placement& held : crowd.candidates[victim].held)
        crowd.world.state.Remove(held.pod);
    }
    if (answer.placed) {
      REQUIRE(FaultOf(crowd.world, gang, {true, answer.placements, {}}) == "");
      ++preempted;
    }
    for (const Candidate& candidate : crowd.candidates) {
      for (const cluster::Placement& held : candidate.held) crowd.world.state.Remove(held.pod);
    }
    REQUIRE(crowd.world.Place(placer, gang).placed == answer.placed);
  }
  if (testing::Rounds(400) >= 100) CHECK(preempted > 0);
}

}  // namespace
}  // namespace muster::policy
