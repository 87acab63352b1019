#include "cluster/records/selector.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace muster::cluster {
namespace {

// A decimal int64 with an optional sign, and nothing else: what Go's ParseInt(text, 10, 64) reads.
std::optional<int64_t> ParseInteger(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool Contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// kGt and kLt: the label's value against the one number that is given.
bool MatchesNumber(const SelectorRequirement& requirement, std::string_view value) {
  if (requirement.values.size() != 1) return false;
  const std::optional<int64_t> have = ParseInteger(value);
  const std::optional<int64_t> bound = ParseInteger(requirement.values.front());
  if (!have || !bound) return false;
  return requirement.op == SelectorOperator::kGt ? *have > *bound : *have < *bound;
}

// A whole number as the API server lets it be in a toleration that compares: no "+", no zeros in
// front.
std::optional<int64_t> ParseDecimal(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  const bool zero = text == "0";
  if (!zero && (digits.empty() || digits.front() < '1' || digits.front() > '9'))
    return std::nullopt;
  return ParseInteger(text);
}

// kGt and kLt: the taint's value against the toleration's (ToleratesTaint in
// staging/src/k8s.io/api/core/v1/toleration.go of k8s.io/kubernetes v1.37.0).
bool ToleratesNumber(const Toleration& toleration, std::string_view value) {
  const std::optional<int64_t> have = ParseDecimal(value);
  const std::optional<int64_t> bound = ParseDecimal(toleration.value);
  if (!have || !bound) return false;
  return toleration.op == Toleration::Op::kGt ? *have > *bound : *have < *bound;
}

bool MatchesField(const SelectorRequirement& requirement, std::string_view node_name) {
  // kube-scheduler reads exactly one value here and takes a requirement with more for malformed.
  if (requirement.key != "metadata.name" || requirement.values.size() != 1) return false;
  const bool same = requirement.values.front() == node_name;
  if (requirement.op == SelectorOperator::kIn) return same;
  return requirement.op == SelectorOperator::kNotIn && !same;
}

}  // namespace

// Malformed requirements, which the API server refuses, match nothing, as in kube-scheduler.
void PinTo(const std::string& node_name, NodeConstraints* constraints) {
  if (!constraints->has_affinity) constraints->affinity_terms.assign(1, {});
  constraints->has_affinity = true;
  for (NodeSelectorTerm& term : constraints->affinity_terms) {
    term.match_fields.push_back({"metadata.name", SelectorOperator::kIn, {node_name}});
  }
}

bool Matches(const SelectorRequirement& requirement, const Labels& labels) {
  const auto label = labels.find(requirement.key);
  return Matches(requirement, label == labels.end() ? nullptr : &label->second);
}

bool Matches(const SelectorRequirement& requirement, const std::string* value) {
  const bool present = value != nullptr;
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return present && Contains(requirement.values, *value);
    case SelectorOperator::kNotIn:
      return !requirement.values.empty() && (!present || !Contains(requirement.values, *value));
    case SelectorOperator::kExists:
      return requirement.values.empty() && present;
    case SelectorOperator::kDoesNotExist:
      return requirement.values.empty() && !present;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return present && MatchesNumber(requirement, *value);
  }
  return false;
}

bool Matches(const NodeSelectorTerm& term, std::string_view node_name, const Labels& labels) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&](const SelectorRequirement& r) { return Matches(r, labels); }) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(),
                     [&](const SelectorRequirement& r) { return MatchesField(r, node_name); });
}

bool MatchesAny(const std::vector<NodeSelectorTerm>& terms, std::string_view node_name,
                const Labels& labels) {
  return std::any_of(terms.begin(), terms.end(), [&](const NodeSelectorTerm& term) {
    return Matches(term, node_name, labels);
  });
}

bool MatchesNode(const NodeConstraints& constraints, std::string_view node_name,
                 const Labels& labels) {
  for (const auto& [key, value] : constraints.node_selector) {
    const auto label = labels.find(key);
    if (label == labels.end() || label->second != value) return false;
  }
  if (constraints.has_affinity && !MatchesAny(constraints.affinity_terms, node_name, labels))
    return false;
  return std::all_of(constraints.volume_places.begin(), constraints.volume_places.end(),
                     [&](const auto& terms) { return MatchesAny(terms, node_name, labels); });
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.every_effect && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  switch (toleration.op) {
    case Toleration::Op::kEqual:
      return toleration.value == taint.value;
    case Toleration::Op::kExists:
      return true;
    case Toleration::Op::kGt:
    case Toleration::Op::kLt:
      return ToleratesNumber(toleration, taint.value);
  }
  return false;
}

bool ToleratesAll(const std::vector<Toleration>& tolerations, const std::vector<Taint>& taints) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) return true;
    return std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Toleration& toleration) { return Tolerates(toleration, taint); });
  });
}

}  // namespace muster::cluster
