// PodRules: what a pod demands of the pods around it: host ports that nobody else has, required
// affinity and anti-affinity to pods, topology spread that must be kept. PodLabels: by what other
// pods' rules know a pod. Plain values; what kube-scheduler calls NodePorts, InterPodAffinity and
// PodTopologySpread.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/records/selector.hpp"

namespace muster::cluster {

using PodLabel = std::pair<std::string, std::string>;

// The labels of one pod. Copies share them.
class PodLabels {
 public:
  using List = std::vector<std::shared_ptr<const PodLabel>>;  // ordered by key; none is null

  PodLabels() = default;
  explicit PodLabels(const Labels& labels);
  explicit PodLabels(List list);

  bool empty() const { return list_ == nullptr; }
  std::span<const std::shared_ptr<const PodLabel>> list() const;
  // Null: it has no such label.
  const std::string* Of(const std::string& key) const;
  bool operator==(const PodLabels& other) const;

 private:
  std::shared_ptr<const List> list_;  // null: none
};

bool Matches(const SelectorRequirement& requirement, const PodLabels& labels);

// Which pods a rule looks at: those whose labels meet all requirements.
struct PodSelector {
  bool nobody = true;  // there is no selector: it means no pod
  std::vector<SelectorRequirement> requirements;
  auto operator<=>(const PodSelector&) const = default;
  bool Matches(const PodLabels& labels) const;
};

enum class PortProtocol : uint8_t { kTcp, kUdp, kSctp };

struct HostPort {
  PortProtocol protocol = PortProtocol::kTcp;
  int32_t port = 0;
  std::string ip;  // empty: any, which is what 0.0.0.0 is read as
  auto operator<=>(const HostPort&) const = default;
  bool Conflicts(const HostPort& other) const {
    return protocol == other.protocol && port == other.port &&
           (ip.empty() || other.ip.empty() || ip == other.ip);
  }
};

// One term of required affinity or anti-affinity: pods of these namespaces with these labels, in
// the same domain, which is the nodes with the same value of that label.
struct PodTerm {
  PodSelector pods;
  std::vector<std::string> namespaces;  // ordered
  bool by_namespace_labels = false;     // also those whose labels meet these
  std::vector<SelectorRequirement> namespace_labels;
  std::string topology_key;
  auto operator<=>(const PodTerm&) const = default;
};

// `labels` of a pod in namespace `ns`, whose own labels are `ns_labels`; null: not known, none.
bool Means(const PodTerm& term, const std::string& ns, const PodLabels& labels,
           const Labels* ns_labels);

// One topology spread constraint with DoNotSchedule, over pods of the pod's own namespace.
struct SpreadRule {
  int32_t max_skew = 1;
  int32_t min_domains = 1;
  std::string topology_key;
  PodSelector pods;
  bool heeds_affinity = true;  // nodeAffinityPolicy Honor
  bool heeds_taints = false;   // nodeTaintsPolicy Honor
  auto operator<=>(const SpreadRule&) const = default;
};

struct PodRules {
  std::vector<HostPort> host_ports;  // ordered
  std::vector<PodTerm> affinity;
  std::vector<PodTerm> anti_affinity;
  std::vector<SpreadRule> spread;
  // By its ports or its anti-affinity no two pods like it can be on one node.
  bool apart = false;
  auto operator<=>(const PodRules&) const = default;
  bool none() const {
    return host_ports.empty() && affinity.empty() && anti_affinity.empty() && spread.empty();
  }
};

}  // namespace muster::cluster
