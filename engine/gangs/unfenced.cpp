#include "engine/gangs/unfenced.hpp"

#include <utility>

namespace muster::engine {

using cluster::PodUid;

void UnfencedPods::Hold(const PodUid& pod, std::string node, std::string why) {
  LetGo(pod);
  if (!node.empty()) ++nodes_[node];
  held_.emplace(pod, Held{std::move(node), std::move(why)});
}

bool UnfencedPods::LetGo(const PodUid& pod) {
  const auto found = held_.find(pod);
  if (found == held_.end()) return false;
  const auto node = nodes_.find(found->second.node);
  if (node != nodes_.end() && --node->second == 0) nodes_.erase(node);
  held_.erase(found);
  return true;
}

const std::string* UnfencedPods::Why(const PodUid& pod) const {
  const auto found = held_.find(pod);
  return found == held_.end() ? nullptr : &found->second.why;
}

}  // namespace muster::engine
