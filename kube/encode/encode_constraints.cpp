#include "kube/encode/encode_constraints.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "kube/encode/encode.hpp"

namespace muster::kube {

using cluster::NodeConstraints;
using cluster::PodTerm;
using cluster::PortProtocol;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;
using cluster::Toleration;

namespace {

std::string_view TextOf(SelectorOperator op) {
  switch (op) {
    case SelectorOperator::kIn:
      return "In";
    case SelectorOperator::kNotIn:
      return "NotIn";
    case SelectorOperator::kExists:
      return "Exists";
    case SelectorOperator::kDoesNotExist:
      return "DoesNotExist";
    case SelectorOperator::kGt:
      return "Gt";
    case SelectorOperator::kLt:
      return "Lt";
  }
  return "In";
}

std::string_view TextOf(Toleration::Op op) {
  switch (op) {
    case Toleration::Op::kEqual:
      return "Equal";
    case Toleration::Op::kExists:
      return "Exists";
    case Toleration::Op::kGt:
      return "Gt";
    case Toleration::Op::kLt:
      return "Lt";
  }
  return "Equal";
}

void AppendRequirements(JsonWriter& json, const std::vector<SelectorRequirement>& requirements) {
  json.BeginArray();
  for (const SelectorRequirement& requirement : requirements) {
    json.BeginObject().Key("key").Text(requirement.key);
    json.Key("operator").Text(TextOf(requirement.op));
    if (!requirement.values.empty()) {
      json.Key("values").BeginArray();
      for (const std::string& value : requirement.values) json.Text(value);
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
}

void AppendNodeAffinity(JsonWriter& json, const NodeConstraints& constraints) {
  json.Key("nodeAffinity").BeginObject();
  json.Key("requiredDuringSchedulingIgnoredDuringExecution").BeginObject();
  json.Key("nodeSelectorTerms").BeginArray();
  for (const cluster::NodeSelectorTerm& term : constraints.affinity_terms) {
    json.BeginObject();
    if (!term.match_expressions.empty()) {
      AppendRequirements(json.Key("matchExpressions"), term.match_expressions);
    }
    if (!term.match_fields.empty()) {
      AppendRequirements(json.Key("matchFields"), term.match_fields);
    }
    json.EndObject();
  }
  json.EndArray().EndObject().EndObject();
}

void AppendSelector(JsonWriter& json, const char* name,
                    const std::vector<SelectorRequirement>& requirements) {
  json.Key(name).BeginObject();
  AppendRequirements(json.Key("matchExpressions"), requirements);
  json.EndObject();
}

void AppendPodTerms(JsonWriter& json, const char* name, const std::vector<PodTerm>& terms) {
  if (terms.empty()) return;
  json.Key(name).BeginObject().Key("requiredDuringSchedulingIgnoredDuringExecution").BeginArray();
  for (const PodTerm& term : terms) {
    json.BeginObject().Key("topologyKey").Text(term.topology_key);
    if (!term.pods.nobody) AppendSelector(json, "labelSelector", term.pods.requirements);
    if (!term.namespaces.empty()) {
      json.Key("namespaces").BeginArray();
      for (const std::string& ns : term.namespaces) json.Text(ns);
      json.EndArray();
    }
    if (term.by_namespace_labels) AppendSelector(json, "namespaceSelector", term.namespace_labels);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void AppendSpread(JsonWriter& json, const cluster::PodRules& rules) {
  if (rules.spread.empty()) return;
  json.Key("topologySpreadConstraints").BeginArray();
  for (const cluster::SpreadRule& rule : rules.spread) {
    json.BeginObject().Key("topologyKey").Text(rule.topology_key);
    json.Key("whenUnsatisfiable").Text("DoNotSchedule");
    json.Key("maxSkew").Integer(rule.max_skew).Key("minDomains").Integer(rule.min_domains);
    json.Key("nodeAffinityPolicy").Text(rule.heeds_affinity ? "Honor" : "Ignore");
    json.Key("nodeTaintsPolicy").Text(rule.heeds_taints ? "Honor" : "Ignore");
    if (!rule.pods.nobody) AppendSelector(json, "labelSelector", rule.pods.requirements);
    json.EndObject();
  }
  json.EndArray();
}

std::string_view TextOf(PortProtocol protocol) {
  switch (protocol) {
    case PortProtocol::kTcp:
      return "TCP";
    case PortProtocol::kUdp:
      return "UDP";
    case PortProtocol::kSctp:
      return "SCTP";
  }
  return "TCP";
}

}  // namespace

void AppendAffinity(JsonWriter& json, const NodeConstraints& constraints) {
  json.BeginObject();
  AppendNodeAffinity(json, constraints);
  json.EndObject();
}

void AppendHostPorts(JsonWriter& json, const cluster::PodRules& rules) {
  if (rules.host_ports.empty()) return;
  json.Key("ports").BeginArray();
  for (const cluster::HostPort& port : rules.host_ports) {
    json.BeginObject().Key("containerPort").Integer(port.port).Key("hostPort").Integer(port.port);
    if (!port.ip.empty()) json.Key("hostIP").Text(port.ip);
    json.Key("protocol").Text(TextOf(port.protocol)).EndObject();
  }
  json.EndArray();
}

void AppendConstraints(JsonWriter& json, const cluster::PodSpec& spec) {
  const NodeConstraints& constraints = spec.constraints;
  AppendSpread(json, spec.rules);
  if (!constraints.node_selector.empty()) {
    json.Key("nodeSelector").BeginObject();
    for (const auto& [key, value] : constraints.node_selector) json.TextKey(key).Text(value);
    json.EndObject();
  }
  const bool pods = !spec.rules.affinity.empty() || !spec.rules.anti_affinity.empty();
  if (constraints.has_affinity || pods) {
    json.Key("affinity").BeginObject();
    if (constraints.has_affinity) AppendNodeAffinity(json, constraints);
    AppendPodTerms(json, "podAffinity", spec.rules.affinity);
    AppendPodTerms(json, "podAntiAffinity", spec.rules.anti_affinity);
    json.EndObject();
  }
  if (constraints.tolerations.empty()) return;
  json.Key("tolerations").BeginArray();
  for (const Toleration& toleration : constraints.tolerations) {
    json.BeginObject();
    if (!toleration.key.empty()) json.Key("key").Text(toleration.key);
    json.Key("operator").Text(TextOf(toleration.op));
    if (!toleration.value.empty()) json.Key("value").Text(toleration.value);
    if (!toleration.every_effect) json.Key("effect").Text(EffectText(toleration.effect));
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace muster::kube
