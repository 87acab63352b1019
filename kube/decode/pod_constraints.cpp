#include "kube/decode/pod_constraints.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::kube {

using cluster::HostPort;
using cluster::NodeConstraints;
using cluster::NodeSelectorTerm;
using cluster::PodLabels;
using cluster::PodRules;
using cluster::PodSelector;
using cluster::PodTerm;
using cluster::PortProtocol;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;
using cluster::SpreadRule;
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

std::vector<NodeSelectorTerm> ReadTerms(const JsonView& list, Room& room) {
  std::vector<NodeSelectorTerm> terms;
  list.Items([&](const JsonView& term) {
    if (!room.For({})) return;
    terms.push_back({ReadRequirements(term.Get("matchExpressions"), room),
                     ReadRequirements(term.Get("matchFields"), room)});
  });
  return terms;
}

void ReadAffinity(const JsonView& spec, NodeConstraints& constraints, Room& room) {
  const JsonView affinity = spec.Get("affinity");
  const JsonView node_affinity = affinity.Get("nodeAffinity");
  const JsonView required = node_affinity.Get("requiredDuringSchedulingIgnoredDuringExecution");
  if (!required.present()) return;
  constraints.has_affinity = true;
  constraints.affinity_terms = ReadTerms(required.Get("nodeSelectorTerms"), room);
}

Toleration ReadToleration(const JsonView& item) {
  Toleration toleration;
  toleration.key = item.Get("key").Text();
  toleration.value = item.Get("value").Text();
  const JsonView op = item.Get("operator");
  const std::string_view op_text = op.Text();
  if (op_text == "Exists") {
    toleration.op = Toleration::Op::kExists;
  } else if (op_text == "Gt") {
    toleration.op = Toleration::Op::kGt;
  } else if (op_text == "Lt") {
    toleration.op = Toleration::Op::kLt;
  } else if (!op_text.empty() && op_text != "Equal") {
    op.Problem("expected Equal, Exists, Gt or Lt");
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

std::vector<SelectorRequirement> ReadSelector(const JsonView& selector, Room& room) {
  std::vector<SelectorRequirement> requirements =
      ReadRequirements(selector.Get("matchExpressions"), room);
  for (auto& [key, value] : ReadLabels(selector.Get("matchLabels"), room))
    requirements.push_back({key, SelectorOperator::kIn, {value}});
  return requirements;
}

// Adds to the selector what the pod's own labels have under these keys, as the API server does.
void MergeKeys(const JsonView& keys, SelectorOperator op, const PodLabels& labels, Room& room,
               PodSelector& selector) {
  keys.Items([&](const JsonView& key) {
    const std::string name(key.Text());
    const std::string* value = labels.Of(name);
    if (value == nullptr || selector.nobody || !room.For(name) || !room.For(*value)) return;
    SelectorRequirement merged{name, op, {*value}};
    auto& there = selector.requirements;
    if (std::find(there.begin(), there.end(), merged) == there.end())
      there.push_back(std::move(merged));
  });
}

PodSelector ReadPodSelector(const JsonView& of, const PodLabels& labels, Room& room) {
  PodSelector selector;
  const JsonView given = of.Get("labelSelector");
  selector.nobody = !given.present();
  selector.requirements = ReadSelector(given, room);
  MergeKeys(of.Get("matchLabelKeys"), SelectorOperator::kIn, labels, room, selector);
  MergeKeys(of.Get("mismatchLabelKeys"), SelectorOperator::kNotIn, labels, room, selector);
  return selector;
}

std::vector<PodTerm> ReadPodTerms(const JsonView& affinity, const std::string& ns,
                                  const PodLabels& labels, Room& room) {
  std::vector<PodTerm> terms;
  const JsonView required = affinity.Get("requiredDuringSchedulingIgnoredDuringExecution");
  required.Items([&](const JsonView& item) {
    const JsonView key = item.Get("topologyKey");
    if (!room.For(key.Text())) return;
    PodTerm term;
    term.topology_key = key.RequiredText();
    term.pods = ReadPodSelector(item, labels, room);
    const JsonView namespaces = item.Get("namespaces");
    namespaces.Items([&](const JsonView& name) {
      if (room.For(name.Text())) term.namespaces.emplace_back(name.Text());
    });
    const JsonView by_labels = item.Get("namespaceSelector");
    term.by_namespace_labels = by_labels.present();
    term.namespace_labels = ReadSelector(by_labels, room);
    if (term.namespaces.empty() && !term.by_namespace_labels) term.namespaces.push_back(ns);
    std::sort(term.namespaces.begin(), term.namespaces.end());
    terms.push_back(std::move(term));
  });
  return terms;
}

int32_t ReadCount(const JsonView& number) {
  return static_cast<int32_t>(number.Integer(1, 1, std::numeric_limits<int32_t>::max()));
}

std::vector<SpreadRule> ReadSpread(const JsonView& spec, const PodLabels& labels, Room& room) {
  std::vector<SpreadRule> rules;
  const JsonView list = spec.Get("topologySpreadConstraints");
  list.Items([&](const JsonView& item) {
    if (item.Get("whenUnsatisfiable").Text() == "ScheduleAnyway") return;
    const JsonView key = item.Get("topologyKey");
    if (!room.For(key.Text())) return;
    SpreadRule rule;
    rule.max_skew = ReadCount(item.Get("maxSkew"));
    rule.min_domains = ReadCount(item.Get("minDomains"));
    rule.topology_key = key.RequiredText();
    rule.pods = ReadPodSelector(item, labels, room);
    rule.heeds_affinity = item.Get("nodeAffinityPolicy").Text() != "Ignore";
    rule.heeds_taints = item.Get("nodeTaintsPolicy").Text() == "Honor";
    rules.push_back(std::move(rule));
  });
  return rules;
}

PortProtocol ProtocolOf(std::string_view text) {
  if (text == "UDP") return PortProtocol::kUdp;
  return text == "SCTP" ? PortProtocol::kSctp : PortProtocol::kTcp;
}

void ReadPorts(const JsonView& container, bool host_network, Room& room,
               std::vector<HostPort>& ports) {
  const JsonView list = container.Get("ports");
  list.Items([&](const JsonView& item) {
    constexpr int64_t kMost = 65'535;
    int64_t number = item.Get("hostPort").Integer(0, 0, kMost);
    // As the API server fills it in.
    if (number == 0 && host_network) number = item.Get("containerPort").Integer(0, 0, kMost);
    const std::string_view ip = item.Get("hostIP").Text();
    if (number == 0 || !room.For(ip)) return;
    ports.push_back({ProtocolOf(item.Get("protocol").Text()), static_cast<int32_t>(number),
                     ip == "0.0.0.0" ? std::string() : std::string(ip)});
  });
}

// Those of containers that run as long as the pod does.
std::vector<HostPort> ReadHostPorts(const JsonView& spec, Room& room) {
  std::vector<HostPort> ports;
  const bool host_network = spec.Get("hostNetwork").Flag(false);
  const JsonView containers = spec.Get("containers");
  containers.Items(
      [&](const JsonView& container) { ReadPorts(container, host_network, room, ports); });
  const JsonView init = spec.Get("initContainers");
  init.Items([&](const JsonView& container) {
    if (container.Get("restartPolicy").Text() == "Always")
      ReadPorts(container, host_network, room, ports);
  });
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

// No two pods with this spec and these labels can be on one node.
bool KeepsApart(const PodRules& rules, const std::string& ns, const PodLabels& labels) {
  constexpr const char* kHostname = "kubernetes.io/hostname";
  return !rules.host_ports.empty() ||
         std::any_of(rules.anti_affinity.begin(), rules.anti_affinity.end(),
                     [&](const PodTerm& term) {
                       const auto& spaces = term.namespaces;
                       return term.topology_key == kHostname && term.pods.Matches(labels) &&
                              std::find(spaces.begin(), spaces.end(), ns) != spaces.end();
                     });
}

void TellTooMany(const JsonView& spec) {
  spec.Problem("demands more of its node than " + std::to_string(kMaxConstraints) +
               " terms, values and tolerations, or " + std::to_string(kMaxConstraintBytes) +
               " bytes of them");
}

}  // namespace

NodeConstraints ReadNodeConstraints(const JsonView& spec) {
  Room room;
  NodeConstraints constraints;
  constraints.node_selector = ReadLabels(spec.Get("nodeSelector"), room);
  ReadAffinity(spec, constraints, room);
  const JsonView tolerations = spec.Get("tolerations");
  tolerations.Items([&](const JsonView& item) {
    Toleration toleration = ReadToleration(item);
    if (room.For(toleration.key) && room.For(toleration.value)) {
      constraints.tolerations.push_back(std::move(toleration));
    }
  });
  if (!room.over()) return constraints;
  TellTooMany(spec);
  return {};
}

PodLabels ReadPodLabels(const JsonView& labels) {
  Room room;
  return PodLabels(ReadLabels(labels, room));
}

PodRules ReadPodRules(const JsonView& spec, const std::string& ns, const PodLabels& labels) {
  Room room;
  PodRules rules;
  const JsonView affinity = spec.Get("affinity");
  rules.host_ports = ReadHostPorts(spec, room);
  rules.affinity = ReadPodTerms(affinity.Get("podAffinity"), ns, labels, room);
  rules.anti_affinity = ReadPodTerms(affinity.Get("podAntiAffinity"), ns, labels, room);
  rules.spread = ReadSpread(spec, labels, room);
  rules.apart = KeepsApart(rules, ns, labels);
  if (!room.over()) return rules;
  TellTooMany(spec);
  return {};
}

std::vector<NodeSelectorTerm> ReadNodeSelectorTerms(const JsonView& terms) {
  Room room;
  std::vector<NodeSelectorTerm> read = ReadTerms(terms, room);
  if (room.over()) return {};
  return read;
}

std::vector<SelectorRequirement> ReadLabelSelector(const JsonView& selector) {
  Room room;
  std::vector<SelectorRequirement> requirements = ReadSelector(selector, room);
  if (room.over()) return {};
  return requirements;
}

}  // namespace muster::kube
