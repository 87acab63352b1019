#include "kube/watch/news_joiner.hpp"

#include <optional>
#include <utility>

namespace muster::kube {

using cluster::Time;

void NewsJoiner::Joined::Add(NodeParts::Told told) {
  for (cluster::Node& node : told.nodes) facts.emplace_back(std::move(node));
  warnings = std::move(told.warnings);
  read_nodes = told.read_nodes;
}

void NewsJoiner::Joined::Add(Joined joined) {
  for (engine::Fact& fact : joined.facts) facts.push_back(std::move(fact));
  for (std::string& warning : joined.warnings) warnings.push_back(std::move(warning));
  read_nodes = read_nodes || joined.read_nodes;
}

NewsJoiner::Joined NewsJoiner::Join(const News& news, Time now) {
  if (const auto* fact = std::get_if<engine::Fact>(&news)) {
    if (const auto* pod = std::get_if<cluster::Pod>(fact)) grouping_.Forget(pod->uid, now);
    return JoinFact(*fact, now);
  }
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
    grouping_.Forget(claiming->pod.uid, now);
    joined = JoinClaims(*claiming, now);
  } else if (const auto* owned = std::get_if<PodOfOwners>(&news)) {
    grouping_.Keep(owned->pod.uid, owned->text);
    joined = owned->templates.empty() ? JoinFact(engine::Fact(owned->pod), now)
                                      : JoinClaims({owned->pod, owned->templates}, now);
  } else if (const auto* domain = std::get_if<ComputeDomain>(&news)) {
    for (cluster::Pod& pod : channel_claims_.Observe(*domain)) {
      std::optional<cluster::Pod> told = grouping_.Join(std::move(pod), now);
      AddWithdrawn(joined.facts);
      if (told) AddCorrection(*std::move(told), joined.facts);
    }
  } else if (const auto* gone = std::get_if<ComputeDomainRemoved>(&news)) {
    channel_claims_.Observe(*gone);
  }
  return joined;
}

NewsJoiner::Joined NewsJoiner::JoinClaims(const PodOfClaims& claiming, Time now) {
  Joined joined;
  ChannelClaims::Joined pod = channel_claims_.Join(claiming);
  std::optional<cluster::Pod> told = grouping_.Join(std::move(pod.pod), now);
  AddWithdrawn(joined.facts);
  if (!told) return joined;
  joined.facts.emplace_back(*told);
  // A Filter call may have told the engine this version.
  if (pod.corrects) AddCorrection(*std::move(told), joined.facts);
  return joined;
}

NewsJoiner::Joined NewsJoiner::JoinFact(const engine::Fact& fact, Time now) {
  Joined joined;
  if (const auto* node = std::get_if<cluster::Node>(&fact)) {
    joined.Add(node_parts_.Join(*node, false));
    return joined;
  }
  if (const auto* left = std::get_if<engine::NodeRemoved>(&fact)) node_parts_.Forget(left->uid);
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    channel_claims_.Forget(pod->uid);
    std::optional<cluster::Pod> told = grouping_.Join(*pod, now);
    AddWithdrawn(joined.facts);
    if (told) joined.facts.emplace_back(*std::move(told));
    return joined;
  }
  if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) {
    channel_claims_.Forget(gone->uid);
    grouping_.Forget(gone->uid, now);
  }
  joined.facts.push_back(fact);
  return joined;
}

void NewsJoiner::AddWithdrawn(std::vector<engine::Fact>& facts) {
  for (cluster::PodUid& uid : grouping_.TakeWithdrawn())
    facts.emplace_back(engine::PodWithdrawn{std::move(uid)});
}

NewsJoiner::Joined NewsJoiner::Told(GroupingBook::Told told) {
  Joined joined;
  AddWithdrawn(joined.facts);
  for (cluster::Pod& pod : told.pods) AddCorrection(std::move(pod), joined.facts);
  for (cluster::Pod& pod : told.first) joined.facts.emplace_back(std::move(pod));
  joined.warnings = std::move(told.warnings);
  return joined;
}

std::string NewsJoiner::Ask(cluster::Pod& pod, Joined& joined) {
  GroupingBook::Asked asked = grouping_.Ask(pod);
  joined.Add(Told(std::move(asked.told)));
  return std::move(asked.why);
}

const Grouping* NewsJoiner::GangOf(const engine::Fact& fact) const {
  const auto* pod = std::get_if<cluster::Pod>(&fact);
  const Grouping* grouping = pod == nullptr ? nullptr : grouping_.Find(pod->uid);
  const bool gang = grouping != nullptr && (grouping->kind == Grouping::Kind::kGang ||
                                            grouping->kind == Grouping::Kind::kUnread ||
                                            grouping->kind == Grouping::Kind::kUnreadable);
  return gang ? grouping : nullptr;
}

// The engine takes two records of one version for the same, and one without a version for news.
void NewsJoiner::AddCorrection(cluster::Pod pod, std::vector<engine::Fact>& facts) const {
  if (versions_.Find(pod.uid) > pod.resource_version) return;
  pod.resource_version = 0;
  facts.emplace_back(std::move(pod));
}

}  // namespace muster::kube
