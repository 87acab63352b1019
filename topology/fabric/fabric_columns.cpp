#include "topology/fabric/fabric_columns.hpp"

#include <algorithm>
#include <utility>

namespace muster::topology {
namespace {

using Nodes = std::vector<LabelledNode>;

// At how many of a tree's levels the node has a label of the generation.
size_t LevelsWith(const Generation& generation, const FabricColumn* levels,
                  const LabelledNode& node) {
  size_t count = 0;
  for (size_t level = 0; level < generation.size(); ++level) {
    const bool has = std::any_of(
        generation[level].begin(), generation[level].end(),
        [&](size_t key) { return !node.values[levels[level].first_key + key].empty(); });
    if (has) ++count;
  }
  return count;
}

Generation ChooseGeneration(std::vector<Generation> generations, const FabricColumn* levels,
                            const Nodes& nodes) {
  if (generations.size() == 1) return std::move(generations.front());
  std::vector<size_t> have(generations.size(), 0);
  for (const LabelledNode& node : nodes) {
    if (node.name.empty()) continue;
    std::vector<size_t> counts;
    counts.reserve(generations.size());
    for (const Generation& generation : generations)
      counts.push_back(LevelsWith(generation, levels, node));
    const size_t most = *std::max_element(counts.begin(), counts.end());
    for (size_t i = 0; i < have.size() && most > 0; ++i) {
      if (counts[i] == most) ++have[i];
    }
  }
  const auto best = std::max_element(have.begin(), have.end());
  return std::move(generations[static_cast<size_t>(best - have.begin())]);
}

void ChooseKey(const Nodes& nodes, FabricColumn* column) {
  for (const size_t key : column->keys) {
    const auto have = static_cast<size_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](const LabelledNode& node) {
          return !node.name.empty() && !node.values[column->first_key + key].empty();
        }));
    if (column->key && have <= column->nodes) continue;
    column->nodes = have;
    column->key = key;
  }
  column->there = column->nodes > 0 || column->level.unlabelled == Unlabelled::kAlone;
}

}  // namespace

std::vector<FabricColumn> ChooseColumns(const FabricOptions& options, const Nodes& nodes) {
  std::vector<FabricColumn> columns;
  size_t first_key = 0;
  for (size_t tree = 0; tree < options.trees.size(); ++tree) {
    const std::vector<FabricLevel> levels = LevelsOf(options.trees[tree]);
    const size_t first = columns.size();
    for (size_t level = 0; level < levels.size(); ++level) {
      columns.push_back({{tree, level}, levels[level], first_key});
      first_key += levels[level].labels.size();
    }
    const Generation generation =
        ChooseGeneration(GenerationsOf(options.trees[tree]), columns.data() + first, nodes);
    for (size_t level = 0; level < levels.size(); ++level) {
      columns[first + level].keys = generation[level];
      ChooseKey(nodes, &columns[first + level]);
    }
  }
  return columns;
}

}  // namespace muster::topology
