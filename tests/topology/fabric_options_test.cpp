// Which levels a name is said of, and what is wrong with a gang's terms.
#include "topology/fabric/fabric_options.hpp"

#include <catch2/catch.hpp>

namespace muster::topology {
namespace {

FabricTree Preset(std::string name, FabricPreset preset) { return {std::move(name), preset, {}}; }

FabricLevel Level(std::string name, std::string label) {
  return {std::move(name), {std::move(label)}, Unlabelled::kOutside};
}

// A tree of three levels, and one of two.
FabricOptions TwoTrees() {
  return {{{"dc",
            FabricPreset::kNone,
            {Level("zone", "zone"), Level("rack", "example.com/rack"), Level("nvl", "nvl")}},
           {"cloud", FabricPreset::kNone, {Level("region", "region"), Level("rack", "rack")}}}};
}

std::string Text(const std::vector<LevelRef>& levels) {
  std::string text;
  for (const LevelRef& level : levels)
    text += std::to_string(level.tree) + "." + std::to_string(level.level) + " ";
  return text;
}

std::string Text(const std::vector<LevelSpan>& spans) {
  std::string text;
  for (const LevelSpan& span : spans) {
    text += std::to_string(span.tree) + ":" + std::to_string(span.innermost) + "-" +
            std::to_string(span.outermost) + " ";
  }
  return text;
}

TEST_CASE("a node's path is its labels in the first tree that it is in", "[topology][fabric]") {
  struct Case {
    cluster::Labels labels;
    std::string want;
  };
  const Case cases[] = {
      {{{"zone", "z"}, {"example.com/rack", "r"}, {"nvl", "n"}}, "z/r/n/node"},
      {{{"zone", "z"}, {"nvl", "n"}, {"region", "else"}}, "z/n/node"},
      {{{"zone", ""}, {"region", "eu"}, {"rack", "7"}}, "eu/7/node"},
      {{{"nvl", "node"}}, ""},  // nothing but its own name
      {{}, ""},
  };
  for (const Case& c : cases) {
    cluster::Node node;
    node.name = "node";
    node.labels = c.labels;
    CHECK(PathOf(TwoTrees(), node) == c.want);
  }
  CHECK(PathOf({}, cluster::Node()).empty());
}

TEST_CASE("a node's path is by one generation of labels", "[topology][fabric]") {
  const FabricOptions fabric{{Preset("t", FabricPreset::kTopograph)}};
  const std::string named = "network.topology.nvidia.com/";
  cluster::Node node;
  node.name = "node";
  node.labels = {{named + "core", "c"},
                 {named + "spine", "s"},
                 {named + "leaf", "old"},
                 {"fabric.topograph.run/tier-0", "new"},
                 {"nvidia.com/gpu.clique", "q"}};
  CHECK(PathOf(fabric, node) == "c/s/old/q/node");
}

TEST_CASE("a level's name is looked up in each tree", "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  CHECK(Text(FindLevels(fabric, "rack")) == "0.1 1.1 ");
  CHECK(Text(FindLevels(fabric, "cloud/rack")) == "1.1 ");
  CHECK(Text(FindLevels(fabric, "example.com/rack")) == "0.1 ");
  CHECK(Text(FindLevels(fabric, "zone")) == "0.0 ");
  CHECK(Text(FindLevels(fabric, "row")).empty());
  CHECK(Text(FindLevels(fabric, "")).empty());
}

TEST_CASE("tiers are counted from the leaf by Topograph, layers from the top by AWS",
          "[topology][fabric]") {
  const FabricOptions fabric{
      {Preset("t", FabricPreset::kTopograph), Preset("a", FabricPreset::kAws)}};
  CHECK(FindLevels(fabric, "fabric.topograph.run/tier-0") == FindLevels(fabric, "leaf"));
  CHECK(FindLevels(fabric, "network.topology.nvidia.com/block") == FindLevels(fabric, "leaf"));
  CHECK(FindLevels(fabric, "fabric.topograph.run/tier-0") >
        FindLevels(fabric, "fabric.topograph.run/tier-1"));
  CHECK(FindLevels(fabric, "topology.k8s.aws/network-node-layer-1") <
        FindLevels(fabric, "topology.k8s.aws/network-node-layer-3"));
  // The outer tiers are levels, too, and Volcano's third tier is still the third from the inside.
  CHECK(FindLevels(fabric, "fabric.topograph.run/tier-3") <
        FindLevels(fabric, "fabric.topograph.run/tier-2"));
  CHECK(FindLevels(fabric, "t/tier-3").empty());
  CHECK(FindLevels(fabric, "tier-3").front() == FindLevels(fabric, "spine").front());
}

TEST_CASE("terms are tried from the preferred level up to the required one", "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  CHECK(Text(SpansOf(fabric, {"rack", ""})) == "0:1-1 1:1-1 ");
  CHECK(Text(SpansOf(fabric, {"", "rack"})) == "0:1-0 1:1-0 ");
  CHECK(Text(SpansOf(fabric, {"zone", "nvl"})) == "0:2-0 ");
  // Within a rack every gang is within one zone.
  CHECK(Text(SpansOf(fabric, {"rack", "zone"})) == "0:1-1 ");
}

TEST_CASE("an unknown level is a defect that names the annotation and the known levels",
          "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  CHECK(DefectOf(fabric, {"rack", "nvl"}).empty());
  CHECK(DefectOf(fabric, {}).empty());
  CHECK(
      DefectOf(fabric, {"row", ""}) ==
      "annotation muster.dev/topology-required: no level \"row\" in the policy's fabric; expected "
      "one of zone, rack, nvl, region");
  CHECK(DefectOf({}, {"", "rack"}) ==
        "annotation muster.dev/topology-preferred: no level \"rack\" in the policy's fabric; the "
        "policy names no fabric");
  CHECK(DefectOf(fabric, {"region", "nvl"}) ==
        "annotation muster.dev/topology-preferred: no tree of the policy's fabric has all of "
        "\"nvl\", \"region\"");
  CHECK(DefectOf(fabric, {"", "", {{"zone", 8, true}, {"row", 4, false}}}) ==
        "annotation muster.dev/topology-segments-preferred: no level \"row\" in the policy's "
        "fabric; expected one of zone, rack, nvl, region");
  CHECK(DefectOf(fabric, {"region", "", {{"nvl", 8, true}}}) ==
        "annotation muster.dev/topology-preferred: no tree of the policy's fabric has all of "
        "\"region\", \"nvl\"");
}

cluster::TopologyTerms SpreadOver(const std::string& level, const std::string& group,
                                  cluster::TopologyTerms terms = {}) {
  terms.spread = level;
  terms.spread_group = group;
  return terms;
}

TEST_CASE("a gang that is to be spread is tried in the domains of that level",
          "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  CHECK(Text(SpansOf(fabric, SpreadOver("rack", "chat"))) == "0:1-0 1:1-0 ");
  CHECK(Text(SpansOf(fabric, SpreadOver("rack", "chat", {"zone", ""}))) == "0:1-0 ");
  CHECK(Text(SpansOf(fabric, SpreadOver("zone", "chat", {"", "nvl"}))) == "0:2-0 ");
  // Within its rack it cannot be spread over zones, but racks can be chosen by them.
  CHECK(Text(SpansOf(fabric, SpreadOver("zone", "chat", {"rack", ""}))) == "0:1-1 ");
}

TEST_CASE("a level to be spread over needs a group and a tree", "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  CHECK(DefectOf(fabric, SpreadOver("rack", "chat")).empty());
  CHECK(DefectOf({}, SpreadOver("", "chat")).empty());
  cluster::TopologyTerms packed;
  packed.balance = cluster::Balance::kPack;
  CHECK(DefectOf({}, packed).empty());
  CHECK(DefectOf(fabric, SpreadOver("rack", "")) ==
        "annotation muster.dev/topology-spread: the gang is in no spread group; add annotation "
        "muster.dev/spread-group with one name on all gangs that are to be spread");
  CHECK(DefectOf(fabric, SpreadOver("row", "chat", {"rack", "", {}, "spec.networkTopology"})) ==
        "annotation muster.dev/topology-spread: no level \"row\" in the policy's fabric; expected "
        "one of zone, rack, nvl, region");
  CHECK(DefectOf(fabric, SpreadOver("nvl", "chat", {"region", ""})) ==
        "annotation muster.dev/topology-spread: no tree of the policy's fabric has all of "
        "\"region\", \"nvl\"");
}

TEST_CASE("Volcano's tiers are counted from the inside, in each tree", "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  CHECK(FindLevels(fabric, "tier-1") == std::vector<LevelRef>{{0, 2}, {1, 1}});
  CHECK(FindLevels(fabric, "tier-3") == std::vector<LevelRef>{{0, 0}});
  for (const std::string none : {"tier-0", "tier-4", "tier-", "tier-1x", "tier--1"})
    CHECK(FindLevels(fabric, none).empty());
  // A level that has the name is that one.
  FabricOptions named = fabric;
  named.trees[0].levels[0].name = "tier-1";
  CHECK(FindLevels(named, "tier-1") == std::vector<LevelRef>{{0, 0}, {1, 1}});
}

TEST_CASE("what is said to other systems counts as far as the policy knows of it",
          "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  const cluster::TopologyTerms said{
      "rack", "row", {{"nvl", 8, true}, {"seat", 4, false}}, "spec.topologyConstraint"};
  CHECK(Heeded({}, said).none());
  CHECK(Heeded({}, SpreadOver("rack", "chat", said)) == SpreadOver("rack", "chat"));
  CHECK(DefectOf({}, said).empty());
  cluster::TopologyTerms known = said;
  known.preferred.clear();
  known.segments.pop_back();
  CHECK(Heeded(fabric, said) == known);
  CHECK(DefectOf(fabric, said).empty());
  CHECK(DefectOf(fabric, {"row", "", {}, "spec.topologyConstraint"}) ==
        "spec.topologyConstraint: no level \"row\" in the policy's fabric; expected one of zone, "
        "rack, nvl, region");
}

TEST_CASE("what is said to other systems and does not count is reported", "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  using Told = std::vector<std::string>;
  const auto told = [](const FabricOptions& by, cluster::TopologyTerms terms) {
    terms.said_by = "spec.x";
    return NotHeeded(by, terms);
  };
  const std::string none =
      "\" in the policy's fabric; the policy names no fabric; it counts where fabric.trees has ";
  CHECK(told({}, {"rack", "row"}) ==
        Told{"spec.x: no level \"rack" + none + "a level with that name or label",
             "spec.x: no level \"row" + none + "a level with that name or label"});
  CHECK(told({}, {"tier-2", ""}) == Told{"spec.x: no level \"tier-2" + none + "so many levels"});
  CHECK(told({}, {"", "", {{"nvl", 8, true}, {"nvl", 4, false}}}).size() == 1);
  CHECK(told({}, {"", "", {}, "", {}, "", "", {{"a", {"a"}, "rack"}}}).size() == 1);
  // What is required and unknown is a defect where there are levels.
  CHECK(told(fabric, {"row", "rack", {{"nvl", 8, true}}}).empty());
  CHECK(told(fabric, {"rack", "row"}) ==
        Told{"spec.x: no level \"row\" in the policy's fabric; expected one of zone, rack, nvl, "
             "region; it counts where fabric.trees has a level with that name or label"});
  // Muster's own are a defect in any case.
  CHECK(NotHeeded({}, {"row", "row"}).empty());
}

TEST_CASE("preferred segments are given up one after the other, the innermost first",
          "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  const cluster::TopologyTerms terms{
      "", "", {{"zone", 16, false}, {"rack", 8, true}, {"nvl", 4, false}}};
  CHECK(MultiplesOf(fabric, terms, 0) == std::vector<Multiples>{{16, 8, 4}, {16, 8, 1}, {8, 8, 1}});
  CHECK(MultiplesOf(fabric, {"rack", ""}, 0) == std::vector<Multiples>{{1, 1, 1}});
}

TEST_CASE("what is wrong with a subgroup's levels is said as of a gang's", "[topology][fabric]") {
  const FabricOptions fabric = TwoTrees();
  const auto defect = [&](std::vector<cluster::TopologySubgroup> subgroups,
                          const std::string& said_by = "") {
    cluster::TopologyTerms terms;
    terms.subgroups = std::move(subgroups);
    terms.said_by = said_by;
    return DefectOf(fabric, terms);
  };
  CHECK(defect({{"a", {"a"}, "zone", "rack"}}).empty());
  CHECK(defect({{"a", {"a"}, "region", "nvl"}}) ==
        "annotation muster.dev/topology-roles-preferred: no tree of the policy's fabric has all of "
        "\"nvl\", \"region\"");
  CHECK_THAT(defect({{"a", {"a"}, "row"}}),
             Catch::StartsWith("annotation muster.dev/topology-roles-required: no level \"row\""));
  cluster::TopologySubgroup segments{"a", {"a"}, "region"};
  segments.segments = {{"nvl", 4, true}};
  CHECK_THAT(defect({segments}, "spec.subGroupPolicy"),
             Catch::StartsWith("spec.subGroupPolicy: no tree"));
  CHECK_THAT(defect({{"a+b", {"a", "b"}, "zone"}, {"b+c", {"b", "c"}, "zone"}}),
             Catch::Contains("role \"b\" is in subgroups a+b and b+c"));
}

}  // namespace
}  // namespace muster::topology
