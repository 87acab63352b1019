#include "kube/watch/node_parts.hpp"

#include <tuple>
#include <utility>

namespace muster::kube {

using cluster::Node;
using cluster::TopologySource;

NodeParts::Told NodeParts::Join(Node node, bool own_policy) {
  Told told;
  Copy copy{std::move(node), own_policy, false, {}};
  copy.own_links = !copy.node.topology.empty();
  if (const auto before = copies_.find(copy.node.name); before != copies_.end()) {
    copy.warned = std::move(before->second.warned);
    name_of_.erase(before->second.node.uid);
    copies_.erase(before);
  }
  Complete(copy, told);
  told.nodes.push_back(copy.node);
  if (!Wanted(copy)) return told;
  name_of_.insert_or_assign(copy.node.uid, copy.node.name);
  std::string name = copy.node.name;
  copies_.insert_or_assign(std::move(name), std::move(copy));
  return told;
}

void NodeParts::Forget(const cluster::NodeUid& uid) {
  const auto found = name_of_.find(uid);
  if (found == name_of_.end()) return;
  copies_.erase(found->second);
  name_of_.erase(found);
}

NodeParts::Told NodeParts::Observe(const NodeTopology& topology) {
  Told told;
  Update(policies_.Observe(topology), told);
  told.read_nodes = std::exchange(policies_rest_, false);
  return told;
}

NodeParts::Told NodeParts::Observe(const NodeTopologyRemoved& removed) {
  Told told;
  if (const auto node = policies_.Observe(removed)) Update(*node, told);
  return told;
}

NodeParts::Told NodeParts::Observe(const ResourceSlice& slice) {
  Told told;
  for (const std::string& node : links_.Observe(slice)) Update(node, told);
  if (!links_.empty()) told.read_nodes = std::exchange(links_rest_, false);
  return told;
}

NodeParts::Told NodeParts::Observe(const ResourceSliceRemoved& removed) {
  Told told;
  if (const auto node = links_.Observe(removed)) Update(*node, told);
  return told;
}

void NodeParts::Settle() {
  const bool rests = policies_rest_ && links_rest_;
  policies_rest_ = policies_.empty();
  links_rest_ = links_.empty();
  if (rests) return;
  std::erase_if(copies_, [this](const auto& entry) {
    const bool drop = !Wanted(entry.second);
    if (drop) name_of_.erase(entry.second.node.uid);
    return drop;
  });
}

bool NodeParts::Wanted(const Copy& copy) const {
  return (!policies_rest_ && !copy.own_policy) ||
         (!links_rest_ && !copy.own_links && !copy.node.gpus.empty());
}

void NodeParts::Complete(Copy& copy, Told& told) const {
  Node& node = copy.node;
  if (!copy.own_policy) node.numa_policy = policies_.Of(node.name);
  if (copy.own_links) return;
  SliceLinks::Answer links = links_.Of(node);
  node.topology = std::move(links.topology);
  node.topology_source =
      node.topology.empty() ? TopologySource::kFlat : TopologySource::kResourceSlices;
  if (!links.warning.empty() && links.warning != copy.warned)
    told.warnings.push_back(links.warning);
  copy.warned = std::move(links.warning);
}

void NodeParts::Update(const std::string& node, Told& told) {
  const auto found = copies_.find(node);
  if (found == copies_.end()) return;
  Copy& copy = found->second;
  const auto before = std::tuple(copy.node.numa_policy, copy.node.topology);
  Complete(copy, told);
  if (std::tie(copy.node.numa_policy, copy.node.topology) != before)
    told.nodes.push_back(copy.node);
}

}  // namespace muster::kube
