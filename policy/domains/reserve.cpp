#include "policy/domains/reserve.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster::policy {

using cluster::Node;
using cluster::NodeIndex;
using cluster::NodeSet;
using topology::LevelRef;

namespace {

bool IsWholeAndFree(const cluster::Snapshot& nodes, NodeIndex index, NodeFilter filter) {
  const Node* node = nodes.node(index);
  if (node == nullptr || node->gpus.empty()) return false;
  const bool open = node->schedulable() && !node->left_out;
  if (filter == NodeFilter::kSchedulable && !open) return false;
  return static_cast<size_t>(nodes.free().at(index).gpu_whole) == node->gpus.size();
}

// Of one domain, in no order.
void KeepIn(const cluster::Snapshot& nodes, const NodeSet& domain, int64_t most, NodeFilter filter,
            NodeSet& kept) {
  std::vector<NodeIndex> free;
  int64_t wanted = most;
  for (const NodeIndex node : domain.Nodes()) {
    if (node.value >= nodes.size()) break;
    if (kept.Contains(node)) {
      --wanted;
    } else if (IsWholeAndFree(nodes, node, filter)) {
      free.push_back(node);
    }
  }
  const auto keep = std::clamp<int64_t>(wanted, 0, std::ssize(free));
  std::partial_sort(free.begin(), free.begin() + keep, free.end(), [&](NodeIndex a, NodeIndex b) {
    return nodes.node(a)->name > nodes.node(b)->name;
  });
  for (int64_t i = 0; i < keep; ++i) kept.Add(free[static_cast<size_t>(i)]);
}

}  // namespace

std::shared_ptr<const NodeSet> KeptNodes(const cluster::Snapshot& nodes,
                                         const topology::Fabric& fabric, NodeFilter filter) {
  std::vector<std::pair<LevelRef, int64_t>> levels;
  for (const topology::FabricReserve& reserve : fabric.options().reserve) {
    for (const LevelRef& level : FindLevels(fabric.options(), reserve.level))
      levels.emplace_back(level, reserve.nodes);
  }
  if (levels.empty()) return nullptr;
  std::sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.tree, b.first.level) < std::pair(b.first.tree, a.first.level);
  });
  auto kept = std::make_shared<NodeSet>();
  for (const auto& [level, most] : levels) {
    const topology::Fabric::Range range = fabric.At(level);
    for (topology::DomainId id = range.first; id < range.last; ++id)
      KeepIn(nodes, *fabric.domains()[id].nodes, most, filter, *kept);
  }
  return kept;
}

std::string TextOfReserve(const topology::FabricOptions& fabric) {
  std::string text;
  int64_t nodes = 0;
  for (const topology::FabricReserve& reserve : fabric.reserve) {
    text += (text.empty() ? "" : ", ") + std::to_string(reserve.nodes) +
            (reserve.nodes == 1 ? " node of each " : " nodes of each ") + reserve.level;
    nodes += reserve.nodes;
  }
  if (text.empty()) return text;
  return text + (nodes == 1 ? " is" : " are") + " kept for lost members";
}

}  // namespace muster::policy
