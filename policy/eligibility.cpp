#include "policy/eligibility.hpp"

#include <algorithm>
#include <string_view>

#include "cluster/allocation.hpp"

namespace muster::policy {

using cluster::FreeTable;
using cluster::GpuRequest;
using cluster::Node;
using cluster::NodeConstraints;
using cluster::NodeTable;

namespace {

bool Passing(const cluster::Taint& taint) {
  constexpr std::string_view kPrefix = "node.kubernetes.io/";
  const std::string_view key = taint.key;
  if (!key.starts_with(kPrefix)) return false;
  const std::string_view what = key.substr(kPrefix.size());
  return what == "unschedulable" || what == "not-ready" || what == "unreachable";
}

uint8_t TaintBars(const NodeConstraints& constraints, const Node& node) {
  if (node.taints.empty() || cluster::ToleratesAll(constraints.tolerations, node.taints)) return 0;
  std::vector<cluster::Taint> lasting;
  std::copy_if(node.taints.begin(), node.taints.end(), std::back_inserter(lasting),
               [](const cluster::Taint& taint) { return !Passing(taint); });
  return cluster::ToleratesAll(constraints.tolerations, lasting) ? Bar::kPassingTaint : Bar::kTaint;
}

uint8_t BarsOf(const NodeConstraints& constraints, const Node* node) {
  if (node == nullptr) return Bar::kNoNode;
  uint8_t bars = TaintBars(constraints, *node);
  if (!node->ready || node->unschedulable) bars |= Bar::kUnschedulable;
  if (node->left_out) bars |= Bar::kLeftOut;
  if (!cluster::MatchesNode(constraints, node->name, node->labels)) bars |= Bar::kConstraint;
  return bars;
}

int16_t ShareOf(const GpuRequest& request, const Node* node) {
  if (node == nullptr || request.none()) return 0;
  int64_t common = 0;
  bool first = true;
  for (const cluster::Gpu& gpu : node->gpus) {
    if (!gpu.usable()) continue;  // nothing is free on it, so it is never chosen
    const int64_t share = cluster::ShareOn(gpu, request).value();
    if (!first && share != common) return Eligibility::kDiffers;
    common = share;
    first = false;
  }
  return static_cast<int16_t>(common);
}

}  // namespace

bool Eligibility::SameNames(const NodeTable& nodes) const {
  if (nodes_ == nullptr || nodes.size() != nodes_->size()) return false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == (*nodes_)[i]) continue;
    if (!nodes[i] || !(*nodes_)[i] || nodes[i]->name != (*nodes_)[i]->name) return false;
  }
  return true;
}

void Eligibility::RankNames() {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < nodes_->size(); ++i) {
    if (node(i) != nullptr) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return node(a)->name < node(b)->name; });
  for (uint32_t rank = 0; rank < order.size(); ++rank) facts_[order[rank]].rank = rank;
}

void Eligibility::Learn(size_t i) {
  const Node* record = node(i);
  facts_[i].cpu = record == nullptr ? 0 : record->allocatable.cpu.value();
  facts_[i].has_gpus = record != nullptr && !record->gpus.empty();
  for (auto& [constraints, bars] : bars_) bars[i] = BarsOf(constraints, record);
  for (auto& [request, shares] : shares_) shares[i] = ShareOf(request, record);
}

std::vector<uint32_t> Eligibility::Follow(const std::shared_ptr<const NodeTable>& nodes) {
  std::vector<uint32_t> changed;
  if (nodes_ == nodes) return changed;
  const bool same_names = SameNames(*nodes);
  const std::shared_ptr<const NodeTable> before = std::exchange(nodes_, nodes);
  const size_t size = nodes->size();
  facts_.resize(size);
  for (auto& [constraints, bars] : bars_) bars.resize(size);
  for (auto& [request, shares] : shares_) shares.resize(size);
  for (size_t i = 0; i < size; ++i) {
    const bool known = before != nullptr && i < before->size();
    if (known && (*before)[i] == (*nodes)[i]) continue;
    Learn(i);
    const auto chunk = static_cast<uint32_t>(i / FreeTable::kChunk);
    if (changed.empty() || changed.back() != chunk) changed.push_back(chunk);
  }
  if (same_names) return changed;
  // A new name moves the ranks of others, so scores that were kept cannot be compared with new
  // ones.
  RankNames();
  changed.clear();
  for (uint32_t chunk = 0; chunk * FreeTable::kChunk < size; ++chunk) changed.push_back(chunk);
  return changed;
}

const std::vector<uint8_t>& Eligibility::BarsFor(const NodeConstraints& constraints) {
  const auto [at, added] = bars_.try_emplace(constraints);
  if (added) {
    at->second.reserve(nodes_->size());
    for (const auto& record : *nodes_) at->second.push_back(BarsOf(constraints, record.get()));
  }
  return at->second;
}

const std::vector<int16_t>& Eligibility::SharesFor(const GpuRequest& request) {
  const auto [at, added] = shares_.try_emplace(request);
  if (added) {
    at->second.reserve(nodes_->size());
    for (const auto& record : *nodes_) at->second.push_back(ShareOf(request, record.get()));
  }
  return at->second;
}

void Eligibility::Forget() {
  bars_.clear();
  shares_.clear();
}

}  // namespace muster::policy
