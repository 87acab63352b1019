#include "kube/news_joiner.hpp"

#include <utility>

namespace muster::kube {

void NewsJoiner::Joined::Add(NodeParts::Told told) {
  for (cluster::Node& node : told.nodes) facts.emplace_back(std::move(node));
  warnings = std::move(told.warnings);
  read_nodes = told.read_nodes;
}

NewsJoiner::Joined NewsJoiner::Join(const News& news) {
  if (const auto* fact = std::get_if<engine::Fact>(&news)) return JoinFact(*fact);
  Joined joined;
  if (const auto* own = std::get_if<NodeOfOwnPolicy>(&news)) {
    joined.Add(node_parts_.Join(own->node, true));
  } else if (const auto* topology = std::get_if<NodeTopology>(&news)) {
    joined.Add(node_parts_.Observe(*topology));
  } else if (const auto* unsaid = std::get_if<NodeTopologyRemoved>(&news)) {
    joined.Add(node_parts_.Observe(*unsaid));
  } else if (const auto* slice = std::get_if<ResourceSlice>(&news)) {
    joined.Add(node_parts_.Observe(*slice));
  } else if (const auto* dropped = std::get_if<ResourceSliceRemoved>(&news)) {
    joined.Add(node_parts_.Observe(*dropped));
  } else if (const auto* claiming = std::get_if<PodOfClaims>(&news)) {
    ChannelClaims::Joined pod = channel_claims_.Join(*claiming);
    joined.facts.emplace_back(pod.pod);
    // A Filter call may have told the engine this version.
    if (pod.corrects) AddCorrection(std::move(pod.pod), joined.facts);
  } else if (const auto* domain = std::get_if<ComputeDomain>(&news)) {
    for (cluster::Pod& pod : channel_claims_.Observe(*domain))
      AddCorrection(std::move(pod), joined.facts);
  } else if (const auto* gone = std::get_if<ComputeDomainRemoved>(&news)) {
    channel_claims_.Observe(*gone);
  }
  return joined;
}

NewsJoiner::Joined NewsJoiner::JoinFact(const engine::Fact& fact) {
  Joined joined;
  if (const auto* node = std::get_if<cluster::Node>(&fact)) {
    joined.Add(node_parts_.Join(*node, false));
    return joined;
  }
  if (const auto* left = std::get_if<engine::NodeRemoved>(&fact)) node_parts_.Forget(left->uid);
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) channel_claims_.Forget(pod->uid);
  if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) channel_claims_.Forget(gone->uid);
  joined.facts.push_back(fact);
  return joined;
}

// The engine takes two records of one version for the same, and one without a version for news.
void NewsJoiner::AddCorrection(cluster::Pod pod, std::vector<engine::Fact>& facts) const {
  if (versions_.Find(pod.uid) > pod.resource_version) return;
  pod.resource_version = 0;
  facts.emplace_back(std::move(pod));
}

}  // namespace muster::kube
