// What pods demand of the pods around them (policy/fit/pod_conditions.hpp): cases worked out by
// hand after kube-scheduler's rules.
#include "policy/fit/pod_conditions.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "policy/placing/placement.hpp"
#include "policy/victims/preemption.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy::pod_rules {
namespace {

using cluster::HostPort;
using cluster::PodRules;
using cluster::PodTerm;
using cluster::PortProtocol;
using cluster::SelectorOperator;
using cluster::SpreadRule;
using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::World;

constexpr const char* kHost = "kubernetes.io/hostname";
constexpr const char* kZone = "zone";

testing::NodeBuilder In(const std::string& zone, const std::string& name) {
  return MakeNode(name).Label(kHost, name).Label(kZone, zone).Gpus(8);
}

cluster::PodSelector App(const std::string& value) {
  return {false, {{"app", SelectorOperator::kIn, {value}}}};
}
PodTerm With(const std::string& app, const std::string& key, const std::string& ns = "default") {
  PodTerm term;
  term.pods = App(app);
  term.namespaces = {ns};
  term.topology_key = key;
  return term;
}
PodRules Apart(const std::string& app, const std::string& key) {
  PodRules rules;
  rules.anti_affinity = {With(app, key)};
  rules.apart = key == kHost;
  return rules;
}
PodRules Together(const std::string& app, const std::string& key) {
  PodRules rules;
  rules.affinity = {With(app, key)};
  return rules;
}
PodRules Port(int32_t port, const std::string& ip = "",
              PortProtocol protocol = PortProtocol::kTcp) {
  PodRules rules;
  rules.host_ports = {HostPort{protocol, port, ip}};
  rules.apart = true;
  return rules;
}
PodRules Spread(const std::string& app, int32_t max_skew, int32_t min_domains = 1) {
  SpreadRule rule;
  rule.topology_key = kZone;
  rule.pods = App(app);
  rule.max_skew = max_skew;
  rule.min_domains = min_domains;
  PodRules rules;
  rules.spread = {rule};
  return rules;
}
PodBuilder Of(const std::string& app, const PodRules& rules = {}) {
  return MakePod("p").Label("app", app).Rules(rules).Gpus(1);
}

PlaceAnswer Place(World& world, const std::vector<Demand>& demands) {
  Placer placer(Options{});
  return world.Place(placer, demands);
}

// "a: 2, b: 1"; why not, where it is not placed.
std::string Where(World& world, const std::vector<Demand>& demands, const std::string& by = kHost) {
  const PlaceAnswer answer = Place(world, demands);
  if (!answer.placed) {
    std::string text = "refused:";
    for (const Cause& cause : answer.shortage.causes)
      text +=
          " " + std::to_string(cause.nodes) + "×" + std::to_string(static_cast<int>(cause.what));
    return text;
  }
  std::map<std::string, int> counts;
  for (const cluster::Placement& one : answer.placements)
    ++counts[world.state.TakeSnapshot()->node(one.node)->labels.at(by)];
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + name + ": " + std::to_string(count);
  return text;
}

std::string Refused(int64_t nodes, Cause::What what) {
  return "refused: " + std::to_string(nodes) + "×" + std::to_string(static_cast<int>(what));
}

TEST_CASE("host ports that somebody has are not free", "[policy][podrules]") {
  struct Case {
    std::string name;
    PodRules taken;
    PodRules wanted;
    bool free;
  };
  const Case c = GENERATE(values<Case>({
      {"the same", Port(80), Port(80), false},
      {"another port", Port(80), Port(81), true},
      {"another protocol", Port(80), Port(80, "", PortProtocol::kUdp), true},
      {"every address against one", Port(80), Port(80, "10.0.0.1"), false},
      {"one against every address", Port(80, "10.0.0.1"), Port(80), false},
      {"two addresses", Port(80, "10.0.0.1"), Port(80, "10.0.0.2"), true},
  }));
  CAPTURE(c.name);
  World world;
  world.Add(In("z", "a"));
  world.Occupy("a", Of("x", c.taken));
  CHECK(Where(world, world.Ask(1, Of("y", c.wanted))) ==
        (c.free ? "a: 1" : Refused(1, Cause::What::kPorts)));
}

TEST_CASE("members with one host port get a node each", "[policy][podrules]") {
  World world;
  world.Add(In("z", "a"));
  world.Add(In("z", "b"));
  CHECK(Where(world, world.Ask(2, Of("x", Port(80)))) == "a: 1, b: 1");
  CHECK_FALSE(Place(world, world.Ask(3, Of("x", Port(80)))).placed);
}

TEST_CASE("members keep apart by host and by zone", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Add(In("y", "b"));
  world.Add(In("z", "c"));
  CHECK(Where(world, world.Ask(3, Of("x", Apart("x", kHost)))) == "a: 1, b: 1, c: 1");
  CHECK_FALSE(Place(world, world.Ask(4, Of("x", Apart("x", kHost)))).placed);
  CHECK(Where(world, world.Ask(2, Of("x", Apart("x", kZone))), kZone) == "y: 1, z: 1");
  CHECK_FALSE(Place(world, world.Ask(3, Of("x", Apart("x", kZone)))).placed);
}

TEST_CASE("anti-affinity holds in both directions, within its namespaces", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Add(In("z", "b"));
  SECTION("of the member") {
    world.Occupy("a", Of("noisy"));
    CHECK(Where(world, world.Ask(2, Of("x", Apart("noisy", kZone)))) == "b: 2");
  }
  SECTION("of the pod that runs") {
    world.Occupy("a", Of("quiet", Apart("x", kZone)));
    CHECK(Where(world, world.Ask(2, Of("x"))) == "b: 2");
    world.Occupy("b", Of("quiet", Apart("x", kZone)));
    CHECK(Where(world, world.Ask(1, Of("x"))) == Refused(2, Cause::What::kOthersAntiAffinity));
    CHECK(Where(world, world.Ask(1, Of("other"))) != Refused(2, Cause::What::kOthersAntiAffinity));
  }
  SECTION("not of a pod that means another namespace") {
    PodRules rules = Apart("x", kZone);
    rules.anti_affinity.front().namespaces = {"elsewhere"};
    world.Occupy("a", Of("quiet", rules));
    world.Occupy("b", Of("quiet", rules));
    CHECK(Place(world, world.Ask(1, Of("x"))).placed);
  }
  SECTION("by the labels of namespaces") {
    cluster::Namespace ns;
    ns.uid = cluster::NamespaceUid("ns");
    ns.key.name = "default";
    ns.labels = {{"team", "red"}};
    world.state.Upsert(ns);
    PodRules rules = Apart("x", kHost);
    rules.anti_affinity.front().namespaces.clear();
    rules.anti_affinity.front().by_namespace_labels = true;
    rules.anti_affinity.front().namespace_labels = {{"team", SelectorOperator::kIn, {"red"}}};
    world.Occupy("a", Of("quiet", rules));
    CHECK(Where(world, world.Ask(1, Of("x"))) == "b: 1");
    ns.labels = {{"team", "blue"}};
    world.state.Upsert(ns);
    world.Occupy("b", Of("quiet", Apart("x", kHost)));
    CHECK(Where(world, world.Ask(1, Of("x"))) == "a: 1");
  }
}

TEST_CASE("members go where those are that they want to be with", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Add(In("z", "b"));
  CHECK(Where(world, world.Ask(1, Of("x", Together("cache", kZone)))) ==
        Refused(2, Cause::What::kPodAffinity));
  world.Occupy("b", Of("cache"));
  CHECK(Where(world, world.Ask(2, Of("x", Together("cache", kZone)))) == "b: 2");
}

TEST_CASE("the first of those that are to be together may start anywhere", "[policy][podrules]") {
  World world;
  // Zone z has less on each node, and room for all.
  world.Add(MakeNode("a").Label(kHost, "a").Label(kZone, "y").Gpus(2));
  world.Add(In("z", "b"));
  CHECK(Where(world, world.Ask(6, Of("x", Together("x", kZone)))) == "b: 6");
  CHECK_FALSE(Place(world, world.Ask(9, Of("x", Together("x", kZone)))).placed);
}

TEST_CASE("a role that looks for another role comes after it", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Add(In("z", "b"));
  std::vector<Demand> gang = world.Ask(1, Of("worker", Together("leader", kHost)).Gpus(4));
  gang.push_back(world.Ask(Of("leader")));
  const PlaceAnswer answer = Place(world, gang);
  REQUIRE(answer.placed);
  CHECK(answer.placements[0].node == answer.placements[1].node);
}

TEST_CASE("members spread over zones, pods that run counting", "[policy][podrules]") {
  World world;
  for (const char* name : {"a", "b"}) world.Add(In("y", name));
  world.Add(In("z", "c"));
  CHECK(Where(world, world.Ask(4, Of("x", Spread("x", 1))), kZone) == "y: 2, z: 2");
  world.Occupy("a", Of("x"));
  world.Occupy("a", Of("x"));
  CHECK(Where(world, world.Ask(2, Of("x", Spread("x", 1))), kZone) == "z: 2");
  // y has 2 and z may have as many as there: 8 GPUs of c, of which the first 3 lead by 1 at most.
  CHECK(Where(world, world.Ask(5, Of("x", Spread("x", 1))), kZone) == "y: 2, z: 3");
  SECTION("a node without the label holds none") {
    World other;
    other.Add(MakeNode("bare").Gpus(8));
    CHECK(Where(other, other.Ask(1, Of("x", Spread("x", 1)))) ==
          Refused(1, Cause::What::kNoSpreadLabel));
  }
  SECTION("too few domains are as if one had none") {
    CHECK(Where(world, world.Ask(1, Of("x", Spread("x", 1, 3))), kZone) == "z: 1");
    CHECK_FALSE(Place(world, world.Ask(2, Of("x", Spread("x", 1, 3)))).placed);
  }
}

TEST_CASE("which nodes a spread counts its policies say", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a").Label("pool", "gpu"));
  world.Add(In("z", "b"));
  world.Occupy("a", Of("x"));
  PodBuilder pod = Of("x", Spread("x", 1)).Select("pool", "gpu");
  // Zone z has no node that it may use: it is none of its domains.
  CHECK(Where(world, world.Ask(2, pod)) == "a: 2");
  PodRules all = Spread("x", 1);
  all.spread.front().heeds_affinity = false;
  CHECK(Where(world, world.Ask(1, pod.Rules(all))) ==
        "refused: 1×" + std::to_string(static_cast<int>(Cause::What::kConstraint)) + " 1×" +
            std::to_string(static_cast<int>(Cause::What::kSpread)));
}

// A candidate that has that pod.
Candidate Holder(World& world, uint64_t owner, const std::string& name, PodBuilder pod,
                 const std::string& node) {
  world.state.Upsert(pod.Uid(name).BoundTo(node).Build());
  return {owner, "", {world.state.AllocationOf(cluster::PodUid(name))->placement}, {}, 0};
}

TEST_CASE("who leaves is who is in the way by a rule, and nobody where that does not help",
          "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Add(In("z", "b").Cordoned());
  std::vector<Candidate> candidates;
  candidates.push_back(Holder(world, 0, "plain", MakePod("plain"), "a"));
  candidates.push_back(Holder(world, 1, "port", MakePod("port").Rules(Port(80)), "a"));
  Placer placer(Options{});
  const auto find = [&](const std::vector<Demand>& demands) {
    return PlaceByPreemption(placer, {world.state.TakeSnapshot(), nullptr, candidates}, demands);
  };
  const std::vector<Demand> gang = world.Ask(1, Of("x", Port(80)));
  PreemptionAnswer answer = find(gang);
  REQUIRE(answer.placed);
  CHECK(answer.victims == std::vector<size_t>{1});
  SECTION("the port is also held by one that stays") {
    world.Occupy("a", MakePod("daemon").Rules(Port(80, "10.0.0.1")));
    answer = find(gang);
    CHECK_FALSE(answer.placed);
    CHECK(answer.victims.empty());
  }
  SECTION("the members themselves are in each other's way") {
    answer = find(world.Ask(2, Of("x", Port(80))));
    CHECK_FALSE(answer.placed);
    CHECK(answer.victims.empty());
  }
}

TEST_CASE("conditions follow a transaction back and forth", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Add(In("z", "b"));
  const std::vector<Demand> gang = world.Ask(2, Of("x", Apart("x", kZone)));
  cluster::Transaction tx(world.state.TakeSnapshot());
  const auto conditions = PodConditions::Of(tx, gang);
  REQUIRE(conditions != nullptr);
  const cluster::NodeIndex a = world.Index("a");
  const cluster::NodeIndex b = world.Index("b");
  using Bar = PodConditions::Bar;
  CHECK(conditions->On(gang[1], a) == Bar::kNone);
  tx.Place({gang[0].pod, a, gang[0].spec->requests, {}});
  CHECK(conditions->On(gang[1], a) == Bar::kAntiAffinity);
  CHECK(conditions->On(gang[1], b) == Bar::kNone);
  tx.RollbackTo(0);
  tx.Place({gang[0].pod, b, gang[0].spec->requests, {}});
  CHECK(conditions->On(gang[1], a) == Bar::kNone);
  CHECK(conditions->On(gang[1], b) == Bar::kAntiAffinity);
  tx.RollbackTo(0);
  CHECK(conditions->ClosedTo(gang[1]).empty());
}

TEST_CASE("gangs that no rule is about pay nothing", "[policy][podrules]") {
  World world;
  world.Add(In("y", "a"));
  world.Occupy("a", Of("quiet", Apart("x", kZone)));
  cluster::Transaction tx(world.state.TakeSnapshot());
  CHECK(PodConditions::Of(tx, world.Ask(2, Of("other"))) == nullptr);
  CHECK(PodConditions::Of(tx, world.Ask(2, Of("x"))) != nullptr);
}

}  // namespace
}  // namespace muster::policy::pod_rules
