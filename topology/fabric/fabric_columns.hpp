// FabricColumns: which of the labels that a policy lists for the levels of its trees count, by what
// the nodes have. Internal to topology/. Plain values and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric/fabric_options.hpp"

namespace muster::topology {

// What of a node counts for a Fabric; an empty name: there is none.
struct LabelledNode {
  std::string name;
  // Of all label keys of all levels of all trees, in order, with repetitions; empty: no label.
  std::vector<std::string> values;
  bool gpus = false;  // it has some
  bool operator==(const LabelledNode&) const = default;
};

// A level of a tree.
struct FabricColumn {
  LevelRef ref;
  FabricLevel level;
  size_t first_key = 0;            // of its labels among all
  std::vector<size_t> keys = {};   // places of those of the generation that counts
  std::optional<size_t> key = {};  // of them the one that counts
  size_t nodes = 0;                // that have it
  bool there = false;              // it has domains
};

// Tree by tree, the outermost level first.
//   1. Of a tree's generations the one counts that most nodes have, the newest of several. A node
//      has those of which it has labels at the most levels: some labels are of two.
//   2. Of a level's labels of that generation the one counts that most nodes have, the first of
//      several.
std::vector<FabricColumn> ChooseColumns(const FabricOptions& options,
                                        const std::vector<LabelledNode>& nodes);

}  // namespace muster::topology
