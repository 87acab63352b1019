// Where a pod may run by its own word: nodeSelector, required node affinity, tolerations; and by
// its volumes. The rules are those of kube-scheduler's NodeAffinity, TaintToleration and
// VolumeBinding plugins (Kubernetes API reference: NodeSelectorTerm, Toleration).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cluster {

using Labels = std::map<std::string, std::string>;

// kDoesNotExist and kNotIn also hold for a node that lacks the key. kGt and kLt compare integers;
// text that is no integer never matches.
enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;
  auto operator<=>(const SelectorRequirement&) const = default;
};

// All requirements must hold (AND). A term without any matches nothing.
struct NodeSelectorTerm {
  std::vector<SelectorRequirement> match_expressions;  // over labels
  std::vector<SelectorRequirement> match_fields;       // only key metadata.name, kIn or kNotIn
  auto operator<=>(const NodeSelectorTerm&) const = default;
};

enum class TaintEffect { kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  auto operator<=>(const Taint&) const = default;
};

struct Toleration {
  // kGt and kLt: the taint's value is a number that is more, or less, than `value`.
  enum class Op { kEqual, kExists, kGt, kLt };
  std::string key;  // empty with kExists: every key
  Op op = Op::kEqual;
  std::string value;
  bool every_effect = true;
  TaintEffect effect = TaintEffect::kNoSchedule;  // used when every_effect is false
  auto operator<=>(const Toleration&) const = default;
};

// What a pod demands of the node it runs on, resources aside.
struct NodeConstraints {
  Labels node_selector;
  // required node affinity: any term suffices (OR). `has_affinity` with no terms matches nothing.
  bool has_affinity = false;
  std::vector<NodeSelectorTerm> affinity_terms;
  std::vector<Toleration> tolerations;
  // Where its volumes are, or will be made: of each list any term suffices, and each must hold.
  std::vector<std::vector<NodeSelectorTerm>> volume_places;
  auto operator<=>(const NodeConstraints&) const = default;
};

// Adds to every term of the required affinity that the node has this name; a term of its own where
// there is none.
void PinTo(const std::string& node_name, NodeConstraints* constraints);

// `value`: of the label with its key; null: there is none.
bool Matches(const SelectorRequirement& requirement, const std::string* value);
bool Matches(const SelectorRequirement& requirement, const Labels& labels);
bool Matches(const NodeSelectorTerm& term, std::string_view node_name, const Labels& labels);
bool MatchesAny(const std::vector<NodeSelectorTerm>& terms, std::string_view node_name,
                const Labels& labels);
// nodeSelector, required affinity and volumes together.
bool MatchesNode(const NodeConstraints& constraints, std::string_view node_name,
                 const Labels& labels);
bool Tolerates(const Toleration& toleration, const Taint& taint);
// True when no NoSchedule or NoExecute taint is left untolerated.
bool ToleratesAll(const std::vector<Toleration>& tolerations, const std::vector<Taint>& taints);

}  // namespace muster::cluster
