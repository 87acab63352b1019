#include "sim/schedulers/pod_checks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace muster::sim {

using cluster::Node;
using cluster::Pod;
using cluster::PodTerm;

namespace {

// Key and value of a node's label.
using Pair = std::pair<std::string, std::string>;

const std::string* LabelOf(const Node& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? nullptr : &found->second;
}

bool Selects(const cluster::PodSelector& selector, const Pod& pod) {
  if (selector.nobody) return false;
  for (const cluster::SelectorRequirement& one : selector.requirements) {
    cluster::Labels labels;
    for (const auto& label : pod.labels.list()) labels.insert(*label);
    if (!cluster::Matches(one, labels)) return false;
  }
  return true;
}

bool TermMatches(const PodTerm& term, const Pod& pod) {
  const bool named = std::find(term.namespaces.begin(), term.namespaces.end(), pod.key.ns) !=
                     term.namespaces.end();
  const bool every = term.by_namespace_labels && term.namespace_labels.empty();
  return (named || every) && Selects(term.pods, pod);
}

bool AllTermsMatch(const std::vector<PodTerm>& terms, const Pod& pod) {
  for (const PodTerm& term : terms) {
    if (!TermMatches(term, pod)) return false;
  }
  return !terms.empty();
}

bool PortTaken(const Pod& pod, const Node& node, const std::vector<PodThere>& there) {
  for (const PodThere& other : there) {
    if (other.node->name != node.name) continue;
    for (const cluster::HostPort& a : other.pod->spec->rules.host_ports) {
      for (const cluster::HostPort& b : pod.spec->rules.host_ports) {
        const bool same_ip = a.ip.empty() || b.ip.empty() || a.ip == b.ip;
        if (a.port == b.port && a.protocol == b.protocol && same_ip) return true;
      }
    }
  }
  return false;
}

// The node is one of those over which the rule spreads.
bool Included(const Pod& pod, const cluster::SpreadRule& rule, const Node& node) {
  for (const cluster::SpreadRule& each : pod.spec->rules.spread) {
    if (LabelOf(node, each.topology_key) == nullptr) return false;
  }
  const cluster::NodeConstraints& wants = pod.spec->constraints;
  if (rule.heeds_affinity && !MatchesNode(wants, node.name, node.labels)) return false;
  return !rule.heeds_taints || ToleratesAll(wants.tolerations, node.taints);
}

PodBar CheckSpread(const Pod& pod, const Node& node, const std::vector<const Node*>& nodes,
                   const std::vector<PodThere>& there) {
  for (const cluster::SpreadRule& rule : pod.spec->rules.spread) {
    const std::string* here = LabelOf(node, rule.topology_key);
    if (here == nullptr) return PodBar::kSpreadLabel;
    std::map<std::string, int64_t> matches;  // by the label's value
    for (const Node* one : nodes) {
      if (Included(pod, rule, *one)) matches[*LabelOf(*one, rule.topology_key)];
    }
    for (const PodThere& other : there) {
      const bool counts = !other.pod->deleting && other.pod->key.ns == pod.key.ns &&
                          Selects(rule.pods, *other.pod) && Included(pod, rule, *other.node);
      if (counts) ++matches[*LabelOf(*other.node, rule.topology_key)];
    }
    int64_t least = 0;
    if (!matches.empty() && static_cast<int64_t>(matches.size()) >= rule.min_domains) {
      least = std::min_element(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->second;
    }
    const auto found = matches.find(*here);
    const int64_t match = found == matches.end() ? 0 : found->second;
    const int64_t self = Selects(rule.pods, pod) ? 1 : 0;
    if (match + self - least > rule.max_skew) return PodBar::kSpread;
  }
  return PodBar::kNone;
}

bool AffinityMet(const Pod& pod, const Node& node, const std::vector<PodThere>& there) {
  const std::vector<PodTerm>& terms = pod.spec->rules.affinity;
  if (terms.empty()) return true;
  std::set<Pair> pairs;
  for (const PodThere& other : there) {
    if (!AllTermsMatch(terms, *other.pod)) continue;
    for (const PodTerm& term : terms) {
      if (const std::string* value = LabelOf(*other.node, term.topology_key))
        pairs.emplace(term.topology_key, *value);
    }
  }
  bool exist = true;
  for (const PodTerm& term : terms) {
    const std::string* value = LabelOf(node, term.topology_key);
    if (value == nullptr) return false;
    exist = exist && pairs.contains({term.topology_key, *value});
  }
  return exist || (pairs.empty() && AllTermsMatch(terms, pod));
}

// One of the terms, which are of the pod on `from`, keeps `other` away from where that is.
bool KeepsAway(const std::vector<PodTerm>& terms, const Node& from, const Pod& other,
               const Node& there) {
  for (const PodTerm& term : terms) {
    const std::string* a = LabelOf(from, term.topology_key);
    const std::string* b = LabelOf(there, term.topology_key);
    if (a != nullptr && b != nullptr && *a == *b && TermMatches(term, other)) return true;
  }
  return false;
}

}  // namespace

PodBar CheckPods(const Pod& pod, const Node& node, const std::vector<const Node*>& nodes,
                 const std::vector<PodThere>& there) {
  if (PortTaken(pod, node, there)) return PodBar::kPorts;
  const PodBar spread = CheckSpread(pod, node, nodes, there);
  if (spread != PodBar::kNone) return spread;
  if (!AffinityMet(pod, node, there)) return PodBar::kAffinity;
  for (const PodThere& other : there) {
    if (KeepsAway(pod.spec->rules.anti_affinity, node, *other.pod, *other.node))
      return PodBar::kAntiAffinity;
  }
  for (const PodThere& other : there) {
    if (KeepsAway(other.pod->spec->rules.anti_affinity, *other.node, pod, node))
      return PodBar::kExisting;
  }
  return PodBar::kNone;
}

}  // namespace muster::sim
