#include "policy/fit/bar_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster::policy {

using cluster::Node;
using cluster::NodeConstraints;
using cluster::NodeSelectorTerm;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;
using cluster::Taint;

namespace {

constexpr std::string_view kModelLabel = "nvidia.com/gpu.product";
// Of one node: more would not be read.
constexpr size_t kMostParts = 3;
// Terms of a required affinity that are told one by one.
constexpr size_t kMostTerms = 2;

std::string Join(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (size_t i = 0; i < std::min(parts.size(), kMostParts); ++i)
    text += (i == 0 ? "" : between) + parts[i];
  return parts.size() > kMostParts ? text + between + "others" : text;
}

std::string Values(const SelectorRequirement& requirement) {
  std::string text = requirement.key;
  const bool numbers =
      requirement.op == SelectorOperator::kGt || requirement.op == SelectorOperator::kLt;
  if (numbers) text += requirement.op == SelectorOperator::kGt ? " > " : " < ";
  if (requirement.values.empty()) return text;
  if (requirement.values.size() == 1)
    return text + (numbers ? "" : "=") + requirement.values.front();
  return text + " in (" + Join(requirement.values, ", ") + ")";
}

// Of a requirement that the node's labels do not meet.
std::string Lacks(const SelectorRequirement& requirement, const Node& node) {
  const bool unwanted = requirement.op == SelectorOperator::kNotIn ||
                        requirement.op == SelectorOperator::kDoesNotExist;
  const auto label = node.labels.find(requirement.key);
  if (!unwanted && requirement.key == kModelLabel && label != node.labels.end())
    return "with another GPU model than " + Join(requirement.values, " or ");
  return (unwanted ? "with label " : "without label ") + Values(requirement);
}

std::string Mismatch(const NodeSelectorTerm& term, const Node& node) {
  std::vector<std::string> parts;
  for (const SelectorRequirement& one : term.match_expressions) {
    if (!cluster::Matches(one, node.labels)) parts.push_back(Lacks(one, node));
  }
  for (const SelectorRequirement& one : term.match_fields) {
    if (cluster::Matches(NodeSelectorTerm{{}, {one}}, node.name, node.labels)) continue;
    const bool unwanted = one.op == SelectorOperator::kNotIn;
    parts.push_back((unwanted ? "named " : "not named ") + Join(one.values, " or "));
  }
  return parts.empty() ? "outside of its node affinity" : Join(parts, " and ");
}

// Empty: they are none, or too many to be told.
std::string MismatchOfAny(const std::vector<NodeSelectorTerm>& terms, const Node& node) {
  std::vector<std::string> parts;
  if (terms.size() > kMostTerms) return {};
  parts.reserve(terms.size());
  for (const NodeSelectorTerm& term : terms) parts.push_back(Mismatch(term, node));
  return Join(parts, ", and ");
}

std::string Untolerated(const NodeConstraints& constraints, const Node& node, bool passing) {
  std::vector<std::string> parts;
  for (const Taint& taint : node.taints) {
    if (IsPassing(taint) != passing || cluster::ToleratesAll(constraints.tolerations, {taint}))
      continue;
    parts.push_back(taint.value.empty() ? taint.key : taint.key + "=" + taint.value);
  }
  return Join(parts, " and ");
}

}  // namespace

bool IsPassing(const Taint& taint) {
  constexpr std::string_view kPrefix = "node.kubernetes.io/";
  const std::string_view key = taint.key;
  if (!key.starts_with(kPrefix)) return false;
  const std::string_view what = key.substr(kPrefix.size());
  return what == "unschedulable" || what == "not-ready" || what == "unreachable";
}

std::string UntoleratedText(const NodeConstraints& constraints, const Node& node) {
  std::string lasting = Untolerated(constraints, node, false);
  return lasting.empty() ? Untolerated(constraints, node, true) : lasting;
}

std::string MismatchText(const NodeConstraints& constraints, const Node& node) {
  if (cluster::MatchesNode(constraints, node.name, node.labels)) return {};
  NodeSelectorTerm selector;
  for (const auto& [key, value] : constraints.node_selector)
    selector.match_expressions.push_back({key, SelectorOperator::kIn, {value}});
  const bool selected = std::all_of(
      selector.match_expressions.begin(), selector.match_expressions.end(),
      [&](const SelectorRequirement& one) { return cluster::Matches(one, node.labels); });
  if (!selected) return Mismatch(selector, node);
  for (const std::vector<NodeSelectorTerm>& places : constraints.volume_places) {
    if (cluster::MatchesAny(places, node.name, node.labels)) continue;
    const std::string why = MismatchOfAny(places, node);
    return "out of reach of its volumes" + (why.empty() ? "" : " (" + why + ")");
  }
  const std::string why = MismatchOfAny(constraints.affinity_terms, node);
  return why.empty() ? "outside of its node affinity" : why;
}

uint32_t BarNames::NumberOf(std::string name) {
  if (name.empty()) return 0;
  const auto [at, added] =
      numbers_.try_emplace(std::move(name), static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back(at->first);
  return at->second;
}

void BarNames::Learn(size_t node, const NodeConstraints& constraints, const Node* record) {
  if (node >= of_.size()) of_.resize(node + 1);
  of_[node] = {};
  if (record == nullptr) return;
  if (!record->taints.empty()) of_[node].taint = NumberOf(UntoleratedText(constraints, *record));
  of_[node].mismatch = NumberOf(MismatchText(constraints, *record));
}

}  // namespace muster::policy
