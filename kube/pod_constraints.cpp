#include "kube/pod_constraints.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::kube {

using cluster::NodeConstraints;
using cluster::NodeSelectorTerm;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;
using cluster::TaintEffect;
using cluster::Toleration;

namespace {

std::optional<SelectorOperator> OperatorOf(std::string_view text) {
  if (text == "In") return SelectorOperator::kIn;
  if (text == "NotIn") return SelectorOperator::kNotIn;
  if (text == "Exists") return SelectorOperator::kExists;
  if (text == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (text == "Gt") return SelectorOperator::kGt;
  if (text == "Lt") return SelectorOperator::kLt;
  return std::nullopt;
}

// What may still be kept.
class Room {
 public:
  // Room for one more thing with this text. Once it is false it stays so.
  bool For(std::string_view text) {
    if (things_ == 0 || text.size() > bytes_) over_ = true;
    if (over_) return false;
    --things_;
    bytes_ -= text.size();
    return true;
  }
  bool over() const { return over_; }

 private:
  size_t things_ = kMaxConstraints;
  size_t bytes_ = kMaxConstraintBytes;
  bool over_ = false;
};

cluster::Labels ReadLabels(const JsonView& map, Room& room) {
  cluster::Labels labels;
  map.Members([&](std::string_view key, const JsonView& value) {
    const std::string_view text = value.Text();
    if (room.For(key) && room.For(text)) labels.emplace(key, text);
  });
  return labels;
}

std::vector<SelectorRequirement> ReadRequirements(const JsonView& list, Room& room) {
  std::vector<SelectorRequirement> requirements;
  list.Items([&](const JsonView& item) {
    if (!room.For(item.Get("key").Text())) return;
    SelectorRequirement requirement;
    requirement.key = item.Get("key").RequiredText();
    const JsonView op = item.Get("operator");
    const std::optional<SelectorOperator> known = OperatorOf(op.RequiredText());
    if (!known) op.Problem("expected In, NotIn, Exists, DoesNotExist, Gt or Lt");
    requirement.op = known.value_or(SelectorOperator::kIn);
    const JsonView values = item.Get("values");
    values.Items([&](const JsonView& value) {
      const std::string_view text = value.Text();
      if (room.For(text)) requirement.values.emplace_back(text);
    });
    requirements.push_back(std::move(requirement));
  });
  return requirements;
}

void ReadAffinity(const JsonView& spec, NodeConstraints& constraints, Room& room) {
  const JsonView affinity = spec.Get("affinity");
  const JsonView node_affinity = affinity.Get("nodeAffinity");
  const JsonView required = node_affinity.Get("requiredDuringSchedulingIgnoredDuringExecution");
  if (!required.present()) return;
  constraints.has_affinity = true;
  const JsonView terms = required.Get("nodeSelectorTerms");
  terms.Items([&](const JsonView& term) {
    if (!room.For({})) return;
    constraints.affinity_terms.push_back({ReadRequirements(term.Get("matchExpressions"), room),
                                          ReadRequirements(term.Get("matchFields"), room)});
  });
}

// Nothing when the toleration is one that is left out.
std::optional<Toleration> ReadToleration(const JsonView& item) {
  Toleration toleration;
  toleration.key = item.Get("key").Text();
  toleration.value = item.Get("value").Text();
  const JsonView op = item.Get("operator");
  const std::string_view op_text = op.Text();
  if (op_text == "Lt" || op_text == "Gt") return std::nullopt;
  if (op_text == "Exists") {
    toleration.op = Toleration::Op::kExists;
  } else if (!op_text.empty() && op_text != "Equal") {
    op.Problem("expected Equal or Exists");
  }
  const JsonView effect = item.Get("effect");
  if (effect.Text().empty()) return toleration;
  toleration.every_effect = false;
  if (effect.Text() == "NoSchedule") {
    toleration.effect = TaintEffect::kNoSchedule;
  } else if (effect.Text() == "PreferNoSchedule") {
    toleration.effect = TaintEffect::kPreferNoSchedule;
  } else if (effect.Text() == "NoExecute") {
    toleration.effect = TaintEffect::kNoExecute;
  } else {
    effect.Problem("expected NoSchedule, PreferNoSchedule or NoExecute");
  }
  return toleration;
}

}  // namespace

NodeConstraints ReadNodeConstraints(const JsonView& spec) {
  Room room;
  NodeConstraints constraints;
  constraints.node_selector = ReadLabels(spec.Get("nodeSelector"), room);
  ReadAffinity(spec, constraints, room);
  const JsonView tolerations = spec.Get("tolerations");
  tolerations.Items([&](const JsonView& item) {
    std::optional<Toleration> toleration = ReadToleration(item);
    if (toleration && room.For(toleration->key) && room.For(toleration->value)) {
      constraints.tolerations.push_back(std::move(*toleration));
    }
  });
  if (!room.over()) return constraints;
  spec.Problem("demands more of its node than " + std::to_string(kMaxConstraints) +
               " terms, values and tolerations, or " + std::to_string(kMaxConstraintBytes) +
               " bytes of them");
  return {};
}

std::vector<SelectorRequirement> ReadLabelSelector(const JsonView& selector) {
  Room room;
  const JsonView expressions = selector.Get("matchExpressions");
  std::vector<SelectorRequirement> requirements = ReadRequirements(expressions, room);
  const JsonView labels = selector.Get("matchLabels");
  for (auto& [key, value] : ReadLabels(labels, room)) {
    requirements.push_back({key, SelectorOperator::kIn, {value}});
  }
  if (room.over()) return {};
  return requirements;
}

}  // namespace muster::kube
