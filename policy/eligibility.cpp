#include "policy/eligibility.hpp"

#include <algorithm>

#include "cluster/allocation.hpp"

namespace muster::policy {
namespace {

Bar BarOf(const cluster::PodSpec& spec, const cluster::Node* node) {
  if (node == nullptr) return Bar::kNoNode;
  const cluster::NodeConstraints& wants = spec.constraints;
  if (!cluster::ToleratesAll(wants.tolerations, node->taints)) return Bar::kTaint;
  if (!cluster::MatchesNode(wants, node->name, node->labels)) return Bar::kConstraint;
  // Last, because a node that can never serve the pod stays out when it comes back.
  return node->schedulable() ? Bar::kNone : Bar::kUnschedulable;
}

int16_t ShareOf(const cluster::PodSpec& spec, const cluster::Node* node) {
  if (node == nullptr || spec.gpus.none() || node->gpus.empty()) return 0;
  const int64_t first = cluster::ShareOn(node->gpus.front(), spec.gpus).value();
  for (const cluster::Gpu& gpu : node->gpus) {
    if (cluster::ShareOn(gpu, spec.gpus).value() != first) return -1;
  }
  return static_cast<int16_t>(first);
}

}  // namespace

Eligibility Judge(const cluster::PodSpec& spec, const cluster::NodeTable& nodes) {
  Eligibility result;
  result.bars.reserve(nodes.size());
  result.share.reserve(nodes.size());
  for (const auto& node : nodes) {
    result.bars.push_back(BarOf(spec, node.get()));
    result.share.push_back(ShareOf(spec, node.get()));
  }
  return result;
}

std::vector<uint32_t> NameRanks(const cluster::NodeTable& nodes) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return nodes[a]->name < nodes[b]->name; });
  std::vector<uint32_t> ranks(nodes.size(), UINT32_MAX);
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

}  // namespace muster::policy
