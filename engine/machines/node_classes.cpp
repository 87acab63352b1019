#include "engine/machines/node_classes.hpp"

#include <algorithm>

namespace muster::engine {

using cluster::NodeIndex;
using cluster::NodeSet;
using cluster::PodSpec;

namespace {

bool MayUse(const cluster::Node& node, const PodSpec& spec) {
  const cluster::NodeConstraints& wants = spec.constraints;
  if (!cluster::MatchesNode(wants, node.name, node.labels) ||
      !cluster::ToleratesAll(wants.tolerations, node.taints)) {
    return false;
  }
  const auto serves = std::count_if(node.gpus.begin(), node.gpus.end(), [&](const auto& gpu) {
    return !cluster::ShareOn(gpu, spec.gpus).none();
  });
  return spec.gpus.none() || serves >= spec.gpus.count;
}

}  // namespace

NodeSet NodeClasses::Of(const Gang& gang, cluster::ClusterState& cluster) {
  const std::shared_ptr<const cluster::Snapshot> nodes = cluster.TakeSnapshot();
  if (nodes->layout() != layout_ || known_.size() > kMostSpecs) known_.clear();
  layout_ = nodes->layout();
  NodeSet all;
  const PodSpec* last = nullptr;
  for (const auto& [uid, member] : gang.members) {
    if (member.pod->ending() || member.pod->spec.get() == last) continue;
    last = member.pod->spec.get();
    all.Join(Of(member.pod->spec, *nodes));
  }
  return all;
}

const NodeSet& NodeClasses::Of(const std::shared_ptr<const PodSpec>& spec,
                               const cluster::Snapshot& nodes) {
  const auto [at, fresh] = known_.try_emplace(spec);
  if (!fresh) return at->second;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const cluster::Node* node = nodes.node(NodeIndex{i});
    if (node != nullptr && MayUse(*node, *spec)) at->second.Add(NodeIndex{i});
  }
  return at->second;
}

}  // namespace muster::engine
