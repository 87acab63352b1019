// Domains and findings from labels, and sums by domain.
#include "topology/fabric/fabric.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::topology {
namespace {

using cluster::ClusterState;
using cluster::NodeIndex;
using muster::testing::MakeNode;

FabricOptions Racks() {
  return {{{"dc",
            FabricPreset::kNone,
            {{"block", {"block"}, Unlabelled::kOutside},
             {"rack", {"rack"}, Unlabelled::kOutside},
             {"nvl", {"clique"}, Unlabelled::kAlone}}}}};
}

using Labels = std::map<std::string, std::string>;

cluster::Node Node(const std::string& name, const Labels& labels) {
  muster::testing::NodeBuilder node = MakeNode(name);
  for (const auto& [key, value] : labels) node.Label(key, value);
  return node.Build();
}

struct Nodes {
  ClusterState state;
  FabricMaker maker;
  explicit Nodes(FabricOptions options = Racks()) : maker(std::move(options)) {}
  void Add(const std::string& name, const Labels& labels) { state.Upsert(Node(name, labels)); }
  std::shared_ptr<const Fabric> Now() { return maker.Follow(state.TakeSnapshot()->nodes()); }
  // "b1(2) b1/r1(2) …"
  std::string Domains() {
    std::string text;
    for (const FabricDomain& domain : Now()->domains()) {
      CHECK(domain.nodes->count() == domain.node_count);
      text +=
          (text.empty() ? "" : " ") + domain.name + "(" + std::to_string(domain.node_count) + ")";
    }
    return text;
  }
};

TEST_CASE("a domain is the nodes with one path of values", "[topology][fabric]") {
  Nodes nodes;
  nodes.Add("n0", {{"block", "b1"}, {"rack", "r1"}, {"clique", "c"}});
  nodes.Add("n1", {{"block", "b1"}, {"rack", "r1"}, {"clique", "c"}});
  nodes.Add("n2", {{"block", "b1"}, {"rack", "r2"}, {"clique", ""}});
  nodes.Add("n3", {{"block", "b1"}, {"rack", "r2"}});
  nodes.Add("n4", {});
  // Without label it is its own NVLink domain, but in no rack.
  CHECK(nodes.Domains() == "b1(4) b1/r1(2) b1/r2(2) b1/r1/c(2) b1/r2/n2(1) b1/r2/n3(1)");
  CHECK(nodes.Now()->findings().empty());
  const auto fabric = nodes.Now();
  CHECK(fabric->Of({0, 1}, nodes.state.IndexOf("n3")) == 2);
  CHECK(fabric->Of({0, 0}, nodes.state.IndexOf("n4")) == Fabric::kNone);
}

TEST_CASE("a level without any label is not there", "[topology][fabric]") {
  Nodes nodes;
  nodes.Add("n0", {{"rack", "r1"}});
  nodes.Add("n1", {{"rack", "r1"}});
  CHECK(nodes.Domains() == "r1(2) r1/n0(1) r1/n1(1)");
  CHECK(nodes.Now()->findings().empty());
  const Fabric::Range blocks = nodes.Now()->At({0, 0});
  CHECK(blocks.first == blocks.last);
}

TEST_CASE("domains do not depend on the order in which nodes were learnt", "[topology][fabric]") {
  Nodes one;
  Nodes other;
  for (int i = 0; i < 100; ++i) {
    const auto add = [](Nodes& to, int number) {
      to.Add("n" + std::to_string(number), {{"block", "b" + std::to_string(number % 3)},
                                            {"rack", "r" + std::to_string(number % 7)}});
    };
    add(one, i);
    add(other, 99 - i);
  }
  CHECK(one.Domains() == other.Domains());
  CHECK(one.Now()->findings() == other.Now()->findings());
}

TEST_CASE("half-labelled nodes are outside, and told", "[topology][fabric]") {
  Nodes nodes;
  nodes.Add("n0", {{"block", "b1"}, {"rack", "r1"}});
  nodes.Add("n1", {{"rack", "r1"}});
  CHECK(nodes.Domains() == "b1(1) b1/r1(1) b1/r1/n0(1)");
  REQUIRE(nodes.Now()->findings().size() == 1);
  CHECK(nodes.Now()->findings().front() ==
        "tree dc: node n1 has rack=r1 but no block: it is in no block, nor in a domain below");
}

TEST_CASE("GPU nodes without the label of an inner level are told, by domain",
          "[topology][fabric]") {
  Nodes nodes;
  const auto add = [&](const std::string& name, const Labels& labels) {
    cluster::Node node = Node(name, labels);
    node.gpus.resize(8);
    nodes.state.Upsert(std::move(node));
  };
  add("n0", {{"block", "b1"}, {"rack", "r1"}});
  add("n1", {{"block", "b1"}});
  CHECK(nodes.Domains() == "b1(2) b1/r1(1) b1/r1/n0(1)");
  REQUIRE(nodes.Now()->findings().size() == 1);
  CHECK(nodes.Now()->findings().front() ==
        "tree dc: in block \"b1\" node n1 has no rack, as others there have: it is in no rack, nor "
        "in a domain below");
  add("n2", {{"block", "b1"}});
  nodes.Add("cpu", {{"block", "b1"}});
  REQUIRE(nodes.Now()->findings().size() == 1);
  CHECK(nodes.Now()->findings().front() ==
        "tree dc: in block \"b1\" node n1 and 1 more have no rack, as others there have: they are "
        "in no rack, nor in a domain below");
  // Where the network has no racks nobody misses one.
  add("n3", {{"block", "b2"}});
  CHECK(nodes.Now()->findings().size() == 1);
}

TEST_CASE("a rack under two blocks is two domains, and told", "[topology][fabric]") {
  Nodes nodes;
  nodes.Add("n0", {{"block", "b1"}, {"rack", "r1"}, {"clique", "c"}});
  nodes.Add("n1", {{"block", "b2"}, {"rack", "r1"}, {"clique", "d"}});
  CHECK(nodes.Domains() == "b1(1) b2(1) b1/r1(1) b2/r1(1) b1/r1/c(1) b2/r1/d(1)");
  REQUIRE(nodes.Now()->findings().size() == 1);
  CHECK(nodes.Now()->findings().front() ==
        "tree dc: rack \"r1\" lies in 2 domains of level block: in \"b1\" by node n0, in \"b2\" by "
        "node n1; each counts as a domain of its own");
}

TEST_CASE("labels in a cycle are told", "[topology][fabric]") {
  Nodes nodes;
  nodes.Add("n0", {{"block", "a"}, {"rack", "b"}});
  nodes.Add("n1", {{"block", "b"}, {"rack", "c"}});
  nodes.Add("n2", {{"block", "c"}, {"rack", "a"}});
  nodes.Add("n3", {{"block", "x"}, {"rack", "a"}});  // leads into it, and is a second parent
  const std::vector<std::string>& found = nodes.Now()->findings();
  REQUIRE(found.size() == 2);
  CHECK(found[1] ==
        "tree dc: labels form a cycle: \"a\" above \"b\" (node n0), \"b\" above \"c\" (node n1), "
        "\"c\" above \"a\" (node n2); each path of values counts as a domain of its own");
}

TEST_CASE("two generations of labels do not make two trees", "[topology][fabric]") {
  Nodes nodes({{{"t", FabricPreset::kTopograph, {}}}});
  const std::string leaf = "network.topology.nvidia.com/leaf";
  nodes.Add("n0", {{leaf, "old1"}});
  nodes.Add("n1", {{leaf, "old1"}, {"fabric.topograph.run/tier-0", "new"}});
  nodes.Add("n2", {{"fabric.topograph.run/tier-0", "new"}});
  // As many have the one as the other: the newer counts.
  CHECK(nodes.Domains() == "new(2) new/n1(1) new/n2(1)");
  REQUIRE(nodes.Now()->findings().size() == 1);
  CHECK(nodes.Now()->findings().front() ==
        "tree t: node n0 has network.topology.nvidia.com/leaf for level leaf, but most nodes have "
        "fabric.topograph.run/tier-0 and others of its generation, so only those count");
  nodes.Add("n3", {{leaf, "old2"}});
  CHECK(nodes.Domains() == "old1(2) old2(1) old1/n0(1) old1/n1(1) old2/n3(1)");
}

Labels Tiers(const std::string& spine, const std::string& leaf) {
  const std::string tier = "fabric.topograph.run/tier-";
  return {{tier + "1", spine}, {tier + "0", leaf}, {"nvidia.com/gpu.clique", "c" + leaf}};
}

Labels Named(const std::string& core, const std::string& spine, const std::string& leaf) {
  const std::string named = "network.topology.nvidia.com/";
  return {{named + "core", core}, {named + "spine", spine}, {named + "leaf", leaf}};
}

TEST_CASE("one generation of Topograph's labels makes the whole tree", "[topology][fabric]") {
  Nodes nodes({{{"t", FabricPreset::kTopograph, {}}}});
  for (int i = 0; i < 6; ++i)
    nodes.Add("new" + std::to_string(i), Tiers("s", "l" + std::to_string(i / 3)));
  for (int i = 0; i < 4; ++i) nodes.Add("old" + std::to_string(i), Named("c", "s", "l0"));
  // Only the old ones name a core: it is no part of this tree.
  CHECK(nodes.Domains() == "s(6) s/l0(3) s/l1(3) s/l0/cl0(3) s/l1/cl1(3)");
  const std::vector<std::string>& found = nodes.Now()->findings();
  REQUIRE(found.size() == 4);
  CHECK(found[0] ==
        "tree t: node old0 has network.topology.nvidia.com/core for level core, but most nodes "
        "have fabric.topograph.run/tier-1 and others of its generation, so only those count");
  // A node with both is of both.
  Labels both = Tiers("s", "l0");
  both.merge(Named("c", "s", "l0"));
  for (int i = 0; i < 3; ++i) nodes.Add("old" + std::to_string(i), both);
  CHECK(nodes.Domains() == "s(9) s/l0(6) s/l1(3) s/l0/cl0(6) s/l1/cl1(3)");
  CHECK(nodes.Now()->findings().size() == 1);
}

TEST_CASE("Topograph's first labels share one with those after it", "[topology][fabric]") {
  Nodes nodes({{{"t", FabricPreset::kTopograph, {}}}});
  const std::string named = "network.topology.nvidia.com/";
  for (int i = 0; i < 3; ++i) {
    nodes.Add("first" + std::to_string(i),
              {{named + "datacenter", "d"}, {named + "spine", "s"}, {named + "block", "b"}});
  }
  nodes.Add("later0", Named("d", "s", "b"));
  nodes.Add("later1", Named("d", "s", "b"));
  CHECK(nodes.Domains() == "d(3) d/s(3) d/s/b(3) d/s/b/first0(1) d/s/b/first1(1) d/s/b/first2(1)");
  CHECK(nodes.Now()->findings().size() == 2);
}

TEST_CASE("further tiers of Topograph are domains of their own", "[topology][fabric]") {
  Nodes nodes({{{"t", FabricPreset::kTopograph, {}}}});
  const std::string tier = "fabric.topograph.run/tier-";
  nodes.Add("n0", {{tier + "4", "x"}, {tier + "3", "a"}, {tier + "2", "c"}, {tier + "0", "l"}});
  nodes.Add("n1", {{tier + "4", "x"}, {tier + "3", "b"}, {tier + "2", "c"}, {tier + "0", "l"}});
  CHECK(nodes.Domains() ==
        "x(2) x/a(1) x/b(1) x/a/c(1) x/b/c(1) x/a/c/l(1) x/b/c/l(1) x/a/c/l/n0(1) x/b/c/l/n1(1)");
}

TEST_CASE("levels that list as many labels each have generations of them", "[topology][fabric]") {
  const auto tree = [](std::vector<std::string> rack) {
    return FabricOptions{{{"dc",
                           FabricPreset::kNone,
                           {{"block", {"block", "old-block"}, Unlabelled::kOutside},
                            {"rack", std::move(rack), Unlabelled::kOutside}}}}};
  };
  const auto add = [](Nodes& nodes) {
    nodes.Add("n0", {{"rack", "r"}});
    nodes.Add("n1", {{"rack", "r"}});
    nodes.Add("n2", {{"old-block", "b"}});
  };
  Nodes generations(tree({"rack", "old-rack"}));
  add(generations);
  CHECK(generations.Domains() == "r(2)");
  REQUIRE(generations.Now()->findings().size() == 1);
  CHECK(generations.Now()->findings().front() ==
        "tree dc: node n2 has old-block for level block, but most nodes have rack and others of "
        "its generation, so only those count");
  // Otherwise each level has the label that most nodes have.
  Nodes alone(tree({"rack"}));
  add(alone);
  CHECK(alone.Domains() == "b(1)");
}

TEST_CASE("a fabric stays the same object until a label that counts changes",
          "[topology][fabric]") {
  Nodes nodes;
  for (int i = 0; i < 200; ++i)
    nodes.Add("n" + std::to_string(i), {{"block", "b"}, {"rack", "r" + std::to_string(i / 10)}});
  const auto before = nodes.Now();
  nodes.state.Upsert(
      MakeNode("n7").Label("block", "b").Label("rack", "r0").Label("x", "y").Cordoned());
  CHECK(nodes.Now() == before);
  nodes.Add("n7", {{"block", "b"}, {"rack", "r1"}});  // it moves
  REQUIRE(nodes.Now() != before);
  CHECK(nodes.Now()->domains()[1].node_count == 9);
  CHECK(nodes.state.Remove(cluster::NodeUid("node-n7")));
  CHECK(nodes.Now()->domains()[0].node_count == 199);
}

TEST_CASE("ten thousand values are as many domains", "[topology][fabric]") {
  Nodes nodes;
  for (int i = 0; i < 10'000; ++i)
    nodes.Add("n" + std::to_string(i), {{"block", "b"}, {"rack", "r" + std::to_string(i)}});
  CHECK(nodes.Now()->domains().size() == 20'001);
  // Findings are bounded, too.
  for (int i = 0; i < 1000; ++i) nodes.Add("m" + std::to_string(i), {{"rack", "r"}});
  REQUIRE(nodes.Now()->findings().size() == Fabric::kMostFindings + 1);
  CHECK(nodes.Now()->findings().back() == "tree dc: 950 more findings like these");
}

TEST_CASE("sums follow the numbers of the nodes, at every level", "[topology][fabric]") {
  Nodes nodes;
  nodes.Add("n0", {{"block", "b1"}, {"rack", "r1"}});
  nodes.Add("n1", {{"block", "b1"}, {"rack", "r2"}});
  DomainSums sums(nodes.Now());
  sums.Set(nodes.state.IndexOf("n0"), 3);
  sums.Set(nodes.state.IndexOf("n1"), 4);
  sums.Set(nodes.state.IndexOf("n0"), 1);
  CHECK(sums.Of(0) == 5);  // b1
  CHECK(sums.Of(1) == 1);  // b1/r1
  CHECK(sums.Of(2) == 4);  // b1/r2
}

}  // namespace
}  // namespace muster::topology
