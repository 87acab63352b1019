#include "policy/fit/eligibility.hpp"

#include <algorithm>
#include <utility>

#include "cluster/holdings/allocation.hpp"

namespace muster::policy {

using cluster::DeviceAmount;
using cluster::GpuRequest;
using cluster::Node;
using cluster::NodeConstraints;
using cluster::NodeTable;

namespace {

uint8_t TaintBars(const NodeConstraints& constraints, const Node& node) {
  if (node.taints.empty() || cluster::ToleratesAll(constraints.tolerations, node.taints)) return 0;
  std::vector<cluster::Taint> lasting;
  std::copy_if(node.taints.begin(), node.taints.end(), std::back_inserter(lasting),
               [](const cluster::Taint& taint) { return !IsPassing(taint); });
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

DeviceAmount ShareOf(const GpuRequest& request, const Node* node) {
  DeviceAmount common;
  if (node == nullptr || request.none()) return common;
  bool first = true;
  for (const cluster::Gpu& gpu : node->gpus) {
    if (!gpu.usable()) continue;  // nothing is free on it, so it is never chosen
    const DeviceAmount share = cluster::ShareOn(gpu, request);
    if (!first && share != common) return Eligibility::kDiffers;
    common = share;
    first = false;
  }
  return common;
}

}  // namespace

void Eligibility::Learn(size_t i) {
  const Node* record = node(i);
  facts_[i].cpu = record == nullptr ? 0 : record->allocatable.cpu.value();
  all_gpus_ -= facts_[i].gpus;
  facts_[i].gpus = record == nullptr ? 0 : std::ssize(record->gpus);
  all_gpus_ += facts_[i].gpus;
  facts_[i].links = record == nullptr ? nullptr : links_.Of(*record);
  if (record != nullptr) facts_[i].rank = ranks_.Of(record->name);
  for (auto& [constraints, bars] : bars_) bars[i] = BarsOf(constraints, record);
  for (auto& [request, shares] : shares_) shares[i] = ShareOf(request, record);
  for (auto& [constraints, names] : names_) names.Learn(i, constraints, record);
}

std::vector<uint32_t> Eligibility::Follow(const NodeTable& nodes) {
  std::vector<uint32_t> changed;
  std::vector<uint32_t> others;  // nodes whose record is another one
  const NodeTable before = std::exchange(nodes_, nodes);
  const uint32_t size = nodes.size();
  for (uint32_t chunk = 0; chunk < nodes.chunks(); ++chunk) {
    if (size == before.size() && nodes.SameChunk(before, chunk)) continue;
    const size_t known = others.size();
    const uint32_t end = std::min((chunk + 1) * NodeTable::kChunk, size);
    for (uint32_t i = chunk * NodeTable::kChunk; i < end; ++i) {
      if (i >= before.size() || before[i] != nodes[i]) others.push_back(i);
    }
    if (others.size() > known) changed.push_back(chunk);
  }
  if (others.empty()) return changed;
  std::erase_if(names_, [](const auto& entry) { return entry.second.full(); });
  for (size_t i = size; i < facts_.size(); ++i) all_gpus_ -= facts_[i].gpus;
  facts_.resize(size);
  for (auto& [constraints, bars] : bars_) bars.resize(size);
  for (auto& [request, shares] : shares_) shares.resize(size);
  RankNames(before, others);
  for (const uint32_t i : others) Learn(i);
  if (!ranks_.Renumbered()) return changed;
  // Scores that were kept cannot be compared with new ones.
  for (uint32_t i = 0; i < size; ++i) {
    if (node(i) != nullptr) facts_[i].rank = ranks_.Of(node(i)->name);
  }
  changed.clear();
  for (uint32_t chunk = 0; chunk < nodes.chunks(); ++chunk) changed.push_back(chunk);
  return changed;
}

// A node that only changed keeps its rank; one that moved to another slot may.
void Eligibility::RankNames(const NodeTable& before, const std::vector<uint32_t>& others) {
  const auto name = [](const NodeTable& nodes, uint32_t i) {
    return i < nodes.size() && nodes[i] != nullptr ? &nodes[i]->name : nullptr;
  };
  std::vector<uint32_t> renamed;
  for (const uint32_t i : others) {
    const std::string* was = name(before, i);
    const std::string* is = name(nodes_, i);
    if (was != nullptr && is != nullptr && *was == *is) continue;
    renamed.push_back(i);
    if (was != nullptr) ranks_.Drop(*was);
  }
  for (const uint32_t i : renamed) {
    if (const std::string* is = name(nodes_, i)) ranks_.Add(*is);
  }
}

const std::vector<uint8_t>& Eligibility::BarsFor(const NodeConstraints& constraints) {
  const auto [at, added] = bars_.try_emplace(constraints);
  if (added) {
    at->second.reserve(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) at->second.push_back(BarsOf(constraints, node(i)));
  }
  return at->second;
}

const std::vector<DeviceAmount>& Eligibility::SharesFor(const GpuRequest& request) {
  const auto [at, added] = shares_.try_emplace(request);
  if (added) {
    at->second.reserve(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) at->second.push_back(ShareOf(request, node(i)));
  }
  return at->second;
}

const BarNames& Eligibility::NamesFor(const NodeConstraints& constraints) const {
  const auto [at, added] = names_.try_emplace(constraints);
  if (added) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) at->second.Learn(i, constraints, node(i));
  }
  return at->second;
}

void Eligibility::Forget() {
  names_.clear();
  bars_.clear();
  shares_.clear();
}

}  // namespace muster::policy
