// The simulated kube-scheduler's checks among pods and those of placement are written apart: on
// random clusters they say the same of every pod and node.
#include "sim/schedulers/pod_checks.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "policy/fit/pod_conditions.hpp"
#include "tests/support/builders.hpp"

namespace muster::sim::pod_rules {
namespace {

using cluster::Node;
using cluster::Pod;
using cluster::PodRules;
using cluster::PodSelector;
using cluster::PodTerm;
using cluster::SelectorOperator;
using policy::PodConditions;
using testing::MakeNode;
using testing::MakePod;

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  bool Once(int in) { return Below(in) == 0; }

 private:
  std::mt19937 random_;
};

std::string Letter(Dice& dice, int of) {
  return std::string(1, static_cast<char>('a' + dice.Below(of)));
}

PodSelector Selector(Dice& dice) {
  PodSelector selector;
  selector.nobody = dice.Once(10);
  const auto op = dice.Once(3) ? SelectorOperator::kNotIn : SelectorOperator::kIn;
  if (!dice.Once(5)) selector.requirements = {{"app", op, {Letter(dice, 2)}}};
  return selector;
}

std::string Key(Dice& dice) { return dice.Once(2) ? "host" : "zone"; }

PodTerm Term(Dice& dice) {
  PodTerm term;
  term.pods = Selector(dice);
  term.namespaces = {dice.Once(4) ? "other" : "default"};
  term.by_namespace_labels = dice.Once(6);
  term.topology_key = Key(dice);
  return term;
}

PodRules Rules(Dice& dice) {
  PodRules rules;
  if (dice.Once(4)) {
    const std::string ip = dice.Once(2) ? "" : "10.0.0." + std::to_string(dice.Below(2));
    rules.host_ports = {{dice.Once(3) ? cluster::PortProtocol::kUdp : cluster::PortProtocol::kTcp,
                         80 + dice.Below(2), ip}};
  }
  while (dice.Once(3)) rules.affinity.push_back(Term(dice));
  while (dice.Once(3)) rules.anti_affinity.push_back(Term(dice));
  while (dice.Once(3)) {
    cluster::SpreadRule rule;
    rule.max_skew = 1 + dice.Below(2);
    rule.min_domains = 1 + dice.Below(3);
    rule.topology_key = Key(dice);
    rule.pods = Selector(dice);
    rule.heeds_affinity = !dice.Once(3);
    rule.heeds_taints = dice.Once(3);
    rules.spread.push_back(rule);
  }
  return rules;
}

muster::testing::PodBuilder RandomPod(Dice& dice, int number) {
  muster::testing::PodBuilder pod = MakePod("p" + std::to_string(number));
  pod.Label("app", Letter(dice, 2)).Rules(dice.Once(3) ? PodRules() : Rules(dice));
  if (dice.Once(4)) pod.Namespace("other");
  if (dice.Once(4)) pod.Select("pool", "x");
  return pod;
}

Node RandomNode(Dice& dice, int number) {
  const std::string name = "n" + std::to_string(number);
  muster::testing::NodeBuilder node = MakeNode(name);
  if (!dice.Once(8)) node.Label("host", name);
  if (!dice.Once(6)) node.Label("zone", Letter(dice, 3));
  if (!dice.Once(4)) node.Label("pool", "x");
  if (dice.Once(5)) node.Taint("t", "", cluster::TaintEffect::kNoSchedule);
  return node;
}

PodBar Expected(PodConditions::Bar bar) {
  switch (bar) {
    case PodConditions::Bar::kNone:
    case PodConditions::Bar::kAttachLimit:  // these pods have no volumes
    case PodConditions::Bar::kNoVolumeLeft:
      return PodBar::kNone;
    case PodConditions::Bar::kPorts:
      return PodBar::kPorts;
    case PodConditions::Bar::kNoSpreadLabel:
      return PodBar::kSpreadLabel;
    case PodConditions::Bar::kSpread:
      return PodBar::kSpread;
    case PodConditions::Bar::kOthersAntiAffinity:
      return PodBar::kExisting;
    case PodConditions::Bar::kAntiAffinity:
      return PodBar::kAntiAffinity;
    case PodConditions::Bar::kAffinity:
      return PodBar::kAffinity;
  }
  return PodBar::kNone;
}

struct Compared {
  int same = 0;
  int barred = 0;
};

// Members one after the other on any node, allowed or not; after each, what both say of the others.
void CompareOn(uint32_t seed, Compared& compared) {
  Dice dice(seed);
  cluster::ClusterState state;
  std::vector<Node> nodes;
  std::vector<Pod> pods;  // those that run have a node
  for (int i = 0; i < 5; ++i) state.Upsert(nodes.emplace_back(RandomNode(dice, i)));
  const auto running = 2 + dice.Below(5);
  for (int i = 0; i < running + 3; ++i) {
    muster::testing::PodBuilder pod = RandomPod(dice, i);
    if (i < running) pod.BoundTo("n" + std::to_string(dice.Below(5)));
    if (i < running && dice.Once(6)) pod.Deleting();
    state.Upsert(pods.emplace_back(pod.Build()));
  }
  std::vector<policy::Demand> demands;
  for (const Pod& pod : pods) {
    if (pod.bound()) continue;
    policy::Demand demand;
    demand.pod = pod.uid;
    demand.spec = pod.spec;
    demand.face = cluster::FaceOf(pod);
    demands.push_back(demand);
  }
  cluster::Transaction tx(state.TakeSnapshot());
  const auto conditions = PodConditions::Of(tx, demands);
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  std::vector<PodThere> there;
  for (const Pod& pod : pods) {
    for (const Node& node : nodes) {
      if (pod.node_name == node.name) there.push_back({&pod, &node});
    }
  }
  for (size_t placed = 0; placed < demands.size(); ++placed) {
    for (size_t i = placed; i < demands.size(); ++i) {
      const Pod& pod = pods[static_cast<size_t>(running) + i];
      for (const Node& node : nodes) {
        const PodBar want = CheckPods(pod, node, all, there);
        const auto bar = conditions == nullptr
                             ? PodConditions::Bar::kNone
                             : conditions->On(demands[i], state.IndexOf(node.name));
        CAPTURE(seed, pod.key.name, node.name, placed);
        REQUIRE(Expected(bar) == want);
        ++compared.same;
        compared.barred += want == PodBar::kNone ? 0 : 1;
      }
    }
    const Node& node = nodes[static_cast<size_t>(dice.Below(5))];
    tx.Place({demands[placed].pod, state.IndexOf(node.name), {}, {}});
    there.push_back({&pods[static_cast<size_t>(running) + placed], &node});
  }
}

TEST_CASE("placement and the simulated kube-scheduler judge pods among pods alike",
          "[sim][podrules]") {
  Compared compared;
  for (uint32_t seed = 0; seed < 400; ++seed) CompareOn(seed, compared);
  CHECK(compared.same > 10'000);
  // Both a good part barred, and a good part open.
  CHECK(compared.barred > compared.same / 10);
  CHECK(compared.barred < compared.same * 9 / 10);
}

}  // namespace
}  // namespace muster::sim::pod_rules
