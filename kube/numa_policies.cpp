#include "kube/numa_policies.hpp"

#include <utility>

namespace muster::kube {

using cluster::Node;
using cluster::NumaPolicy;

void NumaPolicies::Rest() {
  rests_ = true;
  nodes_.clear();
  name_of_.clear();
}

bool NumaPolicies::Wake() { return std::exchange(rests_, false); }

Node NumaPolicies::Join(Node node) {
  if (rests_) return node;
  node.numa_policy = PolicyOf(node.name);
  const auto same_name = nodes_.find(node.name);
  if (same_name != nodes_.end()) name_of_.erase(same_name->second.uid);
  name_of_.insert_or_assign(node.uid, node.name);
  nodes_.insert_or_assign(node.name, node);
  return node;
}

void NumaPolicies::Forget(const cluster::NodeUid& uid) {
  const auto found = name_of_.find(uid);
  if (found == name_of_.end()) return;
  nodes_.erase(found->second);
  name_of_.erase(found);
}

std::optional<Node> NumaPolicies::Observe(const NodeTopology& topology) {
  Said& said = said_[topology.node];
  if (said.uid != topology.uid) node_of_.erase(said.uid);
  said = {topology.uid, topology.policy};
  node_of_.insert_or_assign(topology.uid, topology.node);
  return Update(topology.node);
}

std::optional<Node> NumaPolicies::Observe(const NodeTopologyRemoved& removed) {
  const auto found = node_of_.find(removed.uid);
  if (found == node_of_.end()) return std::nullopt;
  const std::string node = std::move(found->second);
  node_of_.erase(found);
  said_.erase(node);
  return Update(node);
}

NumaPolicy NumaPolicies::PolicyOf(const std::string& node) const {
  const auto found = said_.find(node);
  return found == said_.end() ? NumaPolicy::kNone : found->second.policy;
}

std::optional<Node> NumaPolicies::Update(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.numa_policy == PolicyOf(node)) return std::nullopt;
  found->second.numa_policy = PolicyOf(node);
  return found->second;
}

}  // namespace muster::kube
