// FabricOptions: which node labels say where in the network a node is. config/ fills it from the
// policy file. Plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/records/node.hpp"
#include "cluster/records/topology_terms.hpp"

namespace muster::topology {

// What a node is at a level whose label it does not have.
//   kOutside  in no domain of this level, nor of those below it
//   kAlone    a domain of its own (levels that are NVLink domains)
enum class Unlabelled { kOutside, kAlone };

struct FabricLevel {
  std::string name;
  // Label keys that can say it, the newest first. One of them counts for all nodes: of those of the
  // tree's generation that counts (GenerationsOf) the one that most nodes have, the first of
  // several.
  std::vector<std::string> labels;
  Unlabelled unlabelled = Unlabelled::kOutside;
  bool operator==(const FabricLevel&) const = default;
};

// Levels that are known by name; LevelsOf says which.
enum class FabricPreset { kNone, kKubernetes, kTopograph, kAws, kGcp, kGpuClique };

struct FabricTree {
  std::string name;
  FabricPreset preset = FabricPreset::kNone;
  std::vector<FabricLevel> levels;  // the outermost first; none with a preset
  bool operator==(const FabricTree&) const = default;
};

// Of each domain of a level so many whole free nodes are kept for members that were lost.
struct FabricReserve {
  std::string level;  // as FindLevels has it; of one tree
  int64_t nodes = 0;
  bool operator==(const FabricReserve&) const = default;
};

struct FabricOptions {
  std::vector<FabricTree> trees;
  std::vector<FabricReserve> reserve = {};
  bool operator==(const FabricOptions&) const = default;
};

// Those of the tree's preset, or else its own.
std::vector<FabricLevel> LevelsOf(const FabricTree& tree);

// Labels that say a tree's levels together, by level: their places in FabricLevel::labels. A label
// may be of several generations, and a generation may have none at a level.
using Generation = std::vector<std::vector<size_t>>;

// The newest first, at least one. Where all levels of a tree have as many labels, the first ones
// are a generation, the second ones another, …; else there is one, which has all labels. So two
// generations of labels never make two trees, nor one mixed tree.
std::vector<Generation> GenerationsOf(const FabricTree& tree);

// Where a node is, for people: its label values in the first tree in which it has one, from the
// outermost level to the innermost, then its name, '/' in between. Of the generation of which the
// node has labels at the most levels, a level's first one counts that the node has; levels without
// one are passed over. Empty: it is in no tree.
std::string PathOf(const FabricOptions& fabric, const cluster::Node& node);

// A level of a tree, by position.
struct LevelRef {
  size_t tree = 0;
  size_t level = 0;  // 0 is the outermost
  auto operator<=>(const LevelRef&) const = default;
};

// The levels that `name` is said of, at most one of each tree: LEVEL in every tree that has it,
// TREE/LEVEL in that tree, or one of the level's label keys. Where a tree has no such level, tier-N
// is its N-th one from the inside, 1 the innermost, as Volcano counts.
std::vector<LevelRef> FindLevels(const FabricOptions& fabric, std::string_view name);

// What a subgroup of a gang asks for, as a gang would; the gang's terms are said by `said_by`.
cluster::TopologyTerms TermsOf(const cluster::TopologySubgroup& subgroup,
                               const std::string& said_by);

// What is wrong with a gang's terms, and what to do about it; empty: nothing.
std::string DefectOf(const FabricOptions& fabric, const cluster::TopologyTerms& terms);

// The terms, as far as they are Muster's to keep. Of what is said to other systems nothing is where
// the policy names no fabric, and no preference for a level that the policy does not know.
// `balance`, `spread` and `spread_group` always are.
cluster::TopologyTerms Heeded(const FabricOptions& fabric, const cluster::TopologyTerms& terms);

// The levels that Heeded() leaves out, each once, and what to do about them, for people.
std::vector<std::string> NotHeeded(const FabricOptions& fabric,
                                   const cluster::TopologyTerms& terms);

// The levels of each tree in which a gang with these terms, which have no defect, is tried: from
// the first to the last, `innermost` ≥ `outermost`. Only trees that have all levels of the terms.
// A gang that is to be spread over domains of a level is tried in those too, one after the other.
struct LevelSpan {
  size_t tree = 0;
  size_t innermost = 0;
  size_t outermost = 0;
};
std::vector<LevelSpan> SpansOf(const FabricOptions& fabric, const cluster::TopologyTerms& terms);

// By level of the tree, which has the levels of all segments: of what number of pods the share of
// each domain must be a multiple.
using Multiples = std::vector<int64_t>;
// With all segments; then without the innermost of those that are preferred, and so on; the last
// one has none of them. Never empty; without segments one that asks for nothing.
std::vector<Multiples> MultiplesOf(const FabricOptions& fabric, const cluster::TopologyTerms& terms,
                                   size_t tree);

}  // namespace muster::topology
