#include "policy/terms/gang_request.hpp"

#include <algorithm>

namespace muster::policy {

std::vector<cluster::NodeIndex> NodesOf(const std::vector<PlacedMember>& members) {
  std::vector<cluster::NodeIndex> nodes;
  nodes.reserve(members.size());
  for (const PlacedMember& member : members) nodes.push_back(member.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace muster::policy
