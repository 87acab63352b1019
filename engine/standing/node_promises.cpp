#include "engine/standing/node_promises.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::NodeIndex;

void NodePromises::Reset(size_t claims) {
  nodes_.assign(claims, {});
  claims_.clear();
}

std::optional<size_t> NodePromises::ClaimOn(NodeIndex node) const {
  const auto at = claims_.find(node);
  return at == claims_.end() ? std::nullopt : std::optional(at->second);
}

void NodePromises::Give(size_t claim, NodeIndex node) {
  Drop(node);
  nodes_[claim].insert(node);
  claims_[node] = claim;
}

void NodePromises::Drop(NodeIndex node) {
  const auto at = claims_.find(node);
  if (at == claims_.end()) return;
  nodes_[at->second].erase(node);
  claims_.erase(at);
}

void NodePromises::Fill(size_t claim, int64_t wanted, uint32_t end, const Suits& suits) {
  auto missing = wanted - std::ssize(nodes_[claim]);
  if (missing <= 0) return;
  std::vector<std::pair<NodeSuits, NodeIndex>> free;
  for (NodeIndex node{0}; node.value < end; ++node.value) {
    if (claims_.contains(node)) continue;
    if (const auto suit = suits(claim, node)) free.emplace_back(*suit, node);
  }
  std::sort(free.begin(), free.end());
  for (const auto& [suit, node] : free) {
    if (missing == 0) return;
    Give(claim, node);
    --missing;
  }
  for (std::set<size_t> asked; missing > 0 && Exchange(claim, end, suits, asked); asked.clear())
    --missing;
}

// Each claim that is asked gives a node away only when it has another one.
bool NodePromises::Exchange(size_t claim, uint32_t end, const Suits& suits,
                            std::set<size_t>& asked) {
  asked.insert(claim);
  std::optional<std::pair<NodeSuits, NodeIndex>> best;
  for (NodeIndex node{0}; node.value < end; ++node.value) {
    if (claims_.contains(node)) continue;
    const auto suit = suits(claim, node);
    if (suit && (!best || std::pair(*suit, node) < *best)) best = std::pair(*suit, node);
  }
  if (best) {
    Give(claim, best->second);
    return true;
  }
  for (size_t other = 0; other < nodes_.size(); ++other) {
    if (asked.contains(other)) continue;
    const auto has = std::find_if(nodes_[other].begin(), nodes_[other].end(),
                                  [&](NodeIndex node) { return suits(claim, node).has_value(); });
    if (has == nodes_[other].end()) continue;
    const NodeIndex node = *has;
    if (!Exchange(other, end, suits, asked)) continue;
    Give(claim, node);
    return true;
  }
  return false;
}

}  // namespace muster::engine
