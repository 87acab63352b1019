// Gangs whose pods demand something of each other, on a cluster whose kube-scheduler checks that
// for itself: they start at once, and nobody is evicted for one that cannot start.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "engine/scheduler.hpp"
#include "sim/audit/auditor.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

using cluster::PodRules;
using cluster::SelectorOperator;

constexpr const char* kHost = "kubernetes.io/hostname";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kEfa = "vpc.amazonaws.com/efa";

cluster::PodTerm Term(const std::string& gang, const std::string& key) {
  cluster::PodTerm term;
  term.pods = {false, {{"gang", SelectorOperator::kIn, {gang}}}};
  term.namespaces = {"default"};
  term.topology_key = key;
  return term;
}

Options Audited() {
  Options options;
  options.audit = true;
  options.api.gating = GENERATE(Gating::kAll, Gating::kNone);
  options.muster.engine.queues =
      queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  return options;
}

void AddNode(Cluster& cluster, const std::string& name, const std::string& zone, int64_t efa) {
  Create(cluster.api(),
         MakeNode(name).Label(kHost, name).Label(kZone, zone).Gpus(8).Offers(kEfa, efa));
}

// A gang of pods that ask for these many GPUs and cards, and have these rules.
void CreateGang(Cluster& cluster, const std::string& name, int count, const PodRules& rules,
                int64_t efa = 0, int32_t gpus = 1, int32_t priority = 0) {
  Create(cluster.api(), MakePodGroup(name).MinMember(count));
  for (int i = 0; i < count; ++i) {
    Create(cluster.api(), MakePod(name + "-" + std::to_string(i))
                              .InGroup(name)
                              .Label("gang", name)
                              .Wants(kEfa, efa)
                              .Gpus(gpus)
                              .Priority(priority)
                              .Rules(rules));
  }
}

// "n0: 2, n1: 1" of a gang's pods; those without a node under "".
std::string Nodes(const ApiServer& api, const std::string& gang) {
  std::map<std::string, int> counts;
  for (const PodPtr& pod : api.Pods()) {
    if (pod->pod.pod_group == gang) ++counts[pod->pod.node_name];
  }
  std::string text;
  for (const auto& [node, count] : counts)
    text += (text.empty() ? "" : ", ") + node + ": " + std::to_string(count);
  return text;
}

void CheckAudit(Cluster& cluster) { CHECK(cluster.auditor()->findings().empty()); }

TEST_CASE("cards, apart by host, and spread over zones: the gang starts at once",
          "[cluster][podrules]") {
  Cluster cluster(Audited());
  AddNode(cluster, "n0", "y", 4);
  AddNode(cluster, "n1", "y", 4);
  AddNode(cluster, "n2", "y", 4);
  AddNode(cluster, "n3", "z", 4);
  AddNode(cluster, "n4", "z", 4);
  AddNode(cluster, "n5", "z", 3);
  cluster.loop().RunUntil(At(1));
  PodRules rules;
  rules.anti_affinity = {Term("train", kHost)};
  rules.apart = true;
  cluster::SpreadRule spread;
  spread.topology_key = kZone;
  spread.pods = {false, {{"gang", SelectorOperator::kIn, {"train"}}}};
  rules.spread = {spread};
  CreateGang(cluster, "train", 4, rules, 4);
  cluster.loop().RunUntil(At(20));
  CHECK(Nodes(cluster.api(), "train").ends_with("n3: 1, n4: 1"));
  CHECK(BoundPods(cluster.api(), "train") == 4);
  for (const PodPtr& pod : cluster.api().Pods())
    CHECK(pod->pod.phase == cluster::PodPhase::kRunning);
  CheckAudit(cluster);
}

TEST_CASE("those that want to be together start where all of them have room",
          "[cluster][podrules]") {
  Cluster cluster(Audited());
  AddNode(cluster, "n0", "y", 4);
  AddNode(cluster, "n1", "z", 4);
  AddNode(cluster, "n2", "z", 4);
  cluster.loop().RunUntil(At(1));
  PodRules rules;
  rules.affinity = {Term("train", kZone)};
  CreateGang(cluster, "train", 3, rules, 0, 5);  // one fits on a node
  CreateGang(cluster, "pair", 2, rules, 0, 5);   // wants to be with train, which cannot start
  cluster.loop().RunUntil(At(20));
  CHECK(BoundPods(cluster.api()) == 0);
  AddNode(cluster, "n3", "z", 4);
  cluster.loop().RunUntil(At(60));
  CHECK(Nodes(cluster.api(), "train") == "n1: 1, n2: 1, n3: 1");
  CheckAudit(cluster);
}

TEST_CASE("nobody is evicted for a gang that host ports keep out all the same",
          "[cluster][podrules]") {
  Cluster cluster(Audited());
  AddNode(cluster, "n0", "y", 4);
  AddNode(cluster, "n1", "z", 4);
  cluster.loop().RunUntil(At(1));
  CreateGang(cluster, "low", 2, {}, 0, 8);
  PodRules port;
  port.host_ports = {{cluster::PortProtocol::kTcp, 80, ""}};
  port.apart = true;
  for (const char* node : {"n0", "n1"}) {
    Create(cluster.api(),
           MakePod(std::string("daemon-") + node).Daemon().Rules(port).BoundTo(node));
  }
  cluster.loop().RunUntil(At(20));
  REQUIRE(BoundPods(cluster.api(), "low") == 2);
  CreateGang(cluster, "high", 2, port, 0, 8, 1000);
  cluster.loop().RunUntil(At(120));
  CHECK(BoundPods(cluster.api(), "low") == 2);
  CHECK(BoundPods(cluster.api(), "high") == 0);
  CheckAudit(cluster);
}

TEST_CASE("nobody is evicted for cards that no node has enough of", "[cluster][podrules]") {
  Cluster cluster(Audited());
  AddNode(cluster, "n0", "y", 4);
  AddNode(cluster, "n1", "z", 1);
  cluster.loop().RunUntil(At(1));
  CreateGang(cluster, "low", 2, {}, 1, 8);
  cluster.loop().RunUntil(At(20));
  REQUIRE(BoundPods(cluster.api(), "low") == 2);
  CreateGang(cluster, "high", 2, {}, 2, 8, 1000);
  cluster.loop().RunUntil(At(120));
  CHECK(BoundPods(cluster.api(), "low") == 2);
  CHECK(cluster.api().FindPodGroup(Key("high"))->reason == "NeverFits");
  CheckAudit(cluster);
}

}  // namespace
}  // namespace muster::sim::testing
