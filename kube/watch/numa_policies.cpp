#include "kube/watch/numa_policies.hpp"

#include <utility>

namespace muster::kube {

std::string NumaPolicies::Observe(const NodeTopology& topology) {
  Said& said = said_[topology.node];
  if (said.uid != topology.uid) node_of_.erase(said.uid);
  said = {topology.uid, topology.policy};
  node_of_.insert_or_assign(topology.uid, topology.node);
  return topology.node;
}

std::optional<std::string> NumaPolicies::Observe(const NodeTopologyRemoved& removed) {
  const auto found = node_of_.find(removed.uid);
  if (found == node_of_.end()) return std::nullopt;
  std::string node = std::move(found->second);
  node_of_.erase(found);
  said_.erase(node);
  return node;
}

cluster::NumaPolicy NumaPolicies::Of(const std::string& node) const {
  const auto found = said_.find(node);
  return found == said_.end() ? cluster::NumaPolicy::kNone : found->second.policy;
}

}  // namespace muster::kube
