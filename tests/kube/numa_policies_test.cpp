// NUMA policies of NodeResourceTopologies: decoded, and joined to nodes.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/watch/node_parts.hpp"
#include "kube/watch/resource.hpp"

namespace muster::kube {
namespace {

using cluster::NumaPolicy;

// As a reader gets it: through the sieve.
cluster::Result<Observed> Read(const std::string& fields) {
  const Resource resource = NodeTopologyResource("topology.node.k8s.io/v1alpha2");
  const auto object = KeptObject::Read(
      R"({"metadata":{"name":"n","uid":"u"},"zones":[{"name":"node-0","type":"Node"}])" + fields +
          "}",
      resource.fields, resource.kind, {});
  REQUIRE(object.ok());
  return resource.decode(*object);
}

std::string Attribute(const std::string& policy) {
  return R"(,"attributes":[{"name":"topologyManagerScope","value":"pod"},)"
         R"({"name":"topologyManagerPolicy","value":")" +
         policy + R"("}])";
}

std::string Policies(const std::string& list) { return R"(,"topologyPolicies":[)" + list + "]"; }

TEST_CASE("a NodeResourceTopology says the kubelet's policy, by attribute or by the older list",
          "[kube][numa]") {
  struct Case {
    std::string fields;
    NumaPolicy want;
  };
  const auto& c = GENERATE(values<Case>({
      {Attribute("single-numa-node"), NumaPolicy::kSingleNumaNode},
      {Attribute("restricted"), NumaPolicy::kRestricted},
      {Attribute("best-effort"), NumaPolicy::kBestEffort},
      {Attribute("none"), NumaPolicy::kNone},
      {Policies(R"("SingleNUMANodeContainerLevel")"), NumaPolicy::kSingleNumaNode},
      {Policies(R"("SingleNUMANodePodLevel")"), NumaPolicy::kSingleNumaNode},
      {Policies(R"("RestrictedContainerLevel")"), NumaPolicy::kRestricted},
      {Policies(R"("RestrictedPodLevel")"), NumaPolicy::kRestricted},
      {Policies(R"("Restricted")"), NumaPolicy::kRestricted},
      {Policies(R"("BestEffortContainerLevel")"), NumaPolicy::kBestEffort},
      {Policies(R"("BestEffortPodLevel")"), NumaPolicy::kBestEffort},
      {Policies(R"("BestEffort")"), NumaPolicy::kBestEffort},
      {Policies(R"("None")"), NumaPolicy::kNone},
      // Whoever writes both means the attribute; of several in the list the first counts.
      {Attribute("restricted") + Policies(R"("None")"), NumaPolicy::kRestricted},
      {Policies(R"("Restricted","None")"), NumaPolicy::kRestricted},
      {"", NumaPolicy::kNone},
      {Policies(""), NumaPolicy::kNone},
      {R"(,"attributes":null,"topologyPolicies":null)", NumaPolicy::kNone},
  }));
  CAPTURE(c.fields);
  const auto observed = Read(c.fields);
  REQUIRE(observed.ok());
  CHECK(observed->warnings.empty());
  CHECK(observed->uid == "u");
  CHECK(observed->name == "n");
  const auto& topology = std::get<NodeTopology>(observed->news);
  CHECK(topology.uid == "u");
  CHECK(topology.node == "n");
  CHECK(topology.policy == c.want);
}

TEST_CASE("a policy of a NodeResourceTopology that is not known is none, and the place is said",
          "[kube][numa]") {
  struct Case {
    std::string fields;
    std::string place;
  };
  const auto& c = GENERATE(values<Case>({
      {Attribute("strict"), R"(NodeResourceTopology.attributes[1].value: expected none, best-)"},
      {Attribute("strict") + Policies(R"("Restricted")"), "attributes[1].value"},
      {R"(,"attributes":[{"name":"topologyManagerPolicy"}])", "attributes[0].value"},
      {Policies(R"("strict")"), R"(NodeResourceTopology.topologyPolicies[0]: expected None)"},
  }));
  CAPTURE(c.fields);
  const auto observed = Read(c.fields);
  REQUIRE(observed.ok());
  CHECK(std::get<NodeTopology>(observed->news).policy == NumaPolicy::kNone);
  REQUIRE(observed->warnings.size() == 1);
  CHECK_THAT(observed->warnings[0], Catch::Contains(c.place));
  for (const char* odd : {R"(,"attributes":{"a":1})", R"(,"topologyPolicies":[7])"}) {
    CHECK_THAT(Read(odd).error().ToString(), Catch::Contains("NodeResourceTopology."));
  }
}

TEST_CASE("an annotation that can be read says the policy of its node, also that it is none",
          "[kube][numa]") {
  const auto read = [](const std::string& annotation) {
    const Resource resource = NodeResource();
    const auto object = KeptObject::Read(
        R"({"metadata":{"name":"n","uid":"u","annotations":{)" + annotation + "}}}",
        resource.fields, resource.kind, {});
    REQUIRE(object.ok());
    return resource.decode(*object)->news;
  };
  const std::string key = R"("muster.dev/topology-manager-policy":)";
  const auto own = std::get<NodeOfOwnPolicy>(read(key + R"("restricted")"));
  CHECK(own.node.numa_policy == NumaPolicy::kRestricted);
  CHECK(std::holds_alternative<NodeOfOwnPolicy>(read(key + R"("none")")));
  CHECK(std::holds_alternative<engine::Fact>(read(key + R"("strict")")));
  CHECK(std::holds_alternative<engine::Fact>(read("")));
}

cluster::Node NodeOf(const std::string& name, const std::string& uid) {
  cluster::Node node;
  node.name = name;
  node.uid = cluster::NodeUid(uid);
  return node;
}

NodeTopology Topology(const std::string& uid, const std::string& node, NumaPolicy policy) {
  return {uid, node, policy};
}

// The only node that is reported, or nothing.
std::optional<cluster::Node> One(NodeParts::Told told) {
  CHECK(told.warnings.empty());
  CHECK(told.nodes.size() <= 1);
  if (told.nodes.empty()) return std::nullopt;
  return std::move(told.nodes.front());
}

NumaPolicy Joined(NodeParts& parts, const std::string& name, const std::string& uid) {
  return One(parts.Join(NodeOf(name, uid), false))->numa_policy;
}

TEST_CASE("a node has the policy of its NodeResourceTopology, whichever comes first",
          "[kube][numa]") {
  NodeParts parts;
  CHECK_FALSE(One(parts.Observe(Topology("t", "n", NumaPolicy::kRestricted))));
  CHECK(Joined(parts, "n", "1") == NumaPolicy::kRestricted);
  CHECK(Joined(parts, "m", "2") == NumaPolicy::kNone);
  const auto changed = One(parts.Observe(Topology("t2", "m", NumaPolicy::kSingleNumaNode)));
  REQUIRE(changed);
  CHECK(changed->uid == cluster::NodeUid("2"));
  CHECK(changed->numa_policy == NumaPolicy::kSingleNumaNode);
  // The exporter writes every minute, for other reasons.
  CHECK_FALSE(One(parts.Observe(Topology("t2", "m", NumaPolicy::kSingleNumaNode))));
  CHECK(Joined(parts, "m", "2") == NumaPolicy::kSingleNumaNode);
}

TEST_CASE("a node whose annotation says its policy keeps that, until the annotation goes",
          "[kube][numa]") {
  NodeParts parts;
  parts.Observe(Topology("t", "n", NumaPolicy::kRestricted));
  cluster::Node node = NodeOf("n", "1");
  node.numa_policy = NumaPolicy::kBestEffort;
  CHECK(One(parts.Join(node, true))->numa_policy == NumaPolicy::kBestEffort);
  CHECK(parts.copies() == 0);
  CHECK_FALSE(One(parts.Observe(Topology("t", "n", NumaPolicy::kSingleNumaNode))));
  CHECK(Joined(parts, "n", "1") == NumaPolicy::kSingleNumaNode);
  CHECK(parts.copies() == 1);
  parts.Join(node, true);
  CHECK(parts.copies() == 0);
}

TEST_CASE("a policy goes with its NodeResourceTopology, and a node's with the node",
          "[kube][numa]") {
  NodeParts parts;
  Joined(parts, "n", "1");
  REQUIRE(One(parts.Observe(Topology("t", "n", NumaPolicy::kRestricted))));
  CHECK_FALSE(One(parts.Observe(NodeTopologyRemoved{"another"})));
  const auto back = One(parts.Observe(NodeTopologyRemoved{"t"}));
  REQUIRE(back);
  CHECK(back->numa_policy == NumaPolicy::kNone);
  CHECK_FALSE(One(parts.Observe(NodeTopologyRemoved{"t"})));

  REQUIRE(One(parts.Observe(Topology("t", "n", NumaPolicy::kRestricted))));
  parts.Forget(cluster::NodeUid("1"));
  CHECK_FALSE(One(parts.Observe(Topology("t", "n", NumaPolicy::kNone))));
  CHECK_FALSE(One(parts.Observe(Topology("t", "n", NumaPolicy::kBestEffort))));
  // A machine of the same name.
  CHECK(Joined(parts, "n", "2") == NumaPolicy::kBestEffort);
  parts.Forget(cluster::NodeUid("1"));
  CHECK(One(parts.Observe(NodeTopologyRemoved{"t"})));
}

TEST_CASE("objects that are made again under their names take the place of the old ones",
          "[kube][numa]") {
  NodeParts parts;
  Joined(parts, "n", "1");
  CHECK(One(parts.Observe(Topology("old", "n", NumaPolicy::kRestricted))));
  CHECK(One(parts.Observe(Topology("new", "n", NumaPolicy::kBestEffort))));
  CHECK_FALSE(One(parts.Observe(NodeTopologyRemoved{"old"})));  // late
  CHECK(Joined(parts, "n", "2") == NumaPolicy::kBestEffort);
  parts.Forget(cluster::NodeUid("1"));  // late, too
  const auto back = One(parts.Observe(NodeTopologyRemoved{"new"}));
  REQUIRE(back);
  CHECK(back->uid == cluster::NodeUid("2"));
}

TEST_CASE("while there are no NodeResourceTopologies no node is kept, and then all are wanted",
          "[kube][numa]") {
  NodeParts parts;
  Joined(parts, "n", "1");
  CHECK(parts.copies() == 1);  // one may come with the first list
  parts.Settle();
  CHECK(parts.copies() == 0);
  Joined(parts, "n", "1");
  CHECK(parts.copies() == 0);
  const auto first = parts.Observe(Topology("t", "n", NumaPolicy::kRestricted));
  CHECK(first.read_nodes);
  CHECK(first.nodes.empty());
  CHECK_FALSE(parts.Observe(Topology("u", "m", NumaPolicy::kRestricted)).read_nodes);
  parts.Settle();
  CHECK(Joined(parts, "n", "1") == NumaPolicy::kRestricted);
  CHECK(parts.copies() == 1);
  parts.Observe(NodeTopologyRemoved{"u"});
  CHECK(One(parts.Observe(NodeTopologyRemoved{"t"})));
  parts.Settle();
  CHECK(parts.copies() == 0);
}

}  // namespace
}  // namespace muster::kube
