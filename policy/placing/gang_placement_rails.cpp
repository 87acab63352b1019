// Beside which NICs the members of a gang lie.
#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include "policy/placing/gang_placement.hpp"

namespace muster::policy {

using cluster::NodeIndex;

// Null: it does not matter beside which NICs the next member on this node is.
GangRails* GangPlacement::RailsOn(NodeIndex node) {
  if (demands_.size() == 1 && terms_.placed.empty() && terms_.elsewhere.empty()) return nullptr;
  const DeviceLinks* links = search_.LinksOn(node);
  if (links == nullptr || !links->has_rails()) return nullptr;
  const auto add = [&](const PlacedMember& member) {
    if (member.gpus.empty() || member.node.value >= search_.tx().base().size()) return false;
    const DeviceLinks* there = search_.LinksOn(member.node);
    if (there != nullptr) rails_.Add(member.node, *there, there->MaskOf(member.gpus));
    return there != nullptr;
  };
  if (!rails_known_) {
    rails_.Clear();
    size_t known = 0;
    for (const std::vector<PlacedMember>* members : {&terms_.placed, &terms_.elsewhere}) {
      for (size_t i = 0; i < members->size() && known < kMostRailed; ++i)
        known += add((*members)[i]) ? size_t{1} : 0;
    }
    rails_known_ = true;
  }
  for (const std::vector<PlacedMember>* members : {&terms_.placed, &terms_.elsewhere}) {
    for (const PlacedMember& member : *members) {
      if (member.node == node) add(member);
    }
  }
  return &rails_;
}

// Nodes that differ in what their rails leave to choose: one of each kind, those with the fewest
// free GPUs first. `steps`: who goes to which node, in their order.
std::vector<NodeIndex> GangPlacement::RailLeaders(const std::vector<Step>& steps) const {
  using Kind = std::pair<const topology::NodeTopology*, topology::GpuMask>;
  std::set<Kind> kinds;
  std::set<NodeIndex> seen;
  std::vector<std::pair<int, NodeIndex>> leaders;
  for (const Step& step : steps) {
    const DeviceLinks* links = search_.LinksOn(step.node);
    if (links == nullptr || !links->has_rails() || !seen.insert(step.node).second) continue;
    const topology::GpuMask free = links->MaskOf(search_.tx().free().gpus(step.node));
    if (kinds.emplace(links->topology().get(), free).second)
      leaders.emplace_back(std::popcount(free), step.node);
  }
  std::stable_sort(leaders.begin(), leaders.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NodeIndex> nodes;
  nodes.reserve(leaders.size());
  for (const auto& [free, node] : leaders) nodes.push_back(node);
  return nodes;
}

// Everybody on the node that is theirs already, those on `leader` first; false: not all have room
// so. Of pods on one node the order stays.
bool GangPlacement::PlaceAgain(const std::vector<Step>& steps, NodeIndex leader) {
  search_.tx().RollbackTo(before_);
  Begin(devices_);
  for (const bool first : {true, false}) {
    for (const Step& step : steps) {
      if ((step.node == leader) != first) continue;
      if (!search_.ScoreOn(*step.role->shape, step.node)) return false;
      PlaceAt(*step.role, step.demand, step.node);
    }
  }
  return true;
}

// Who chose first did not know what the others have left to choose from: of several orders the one
// in which the gang uses the fewest NICs.
void GangPlacement::AlignRails() {
  if (rails_.nics() <= rails_.most_nics()) return;
  std::vector<Step> steps;
  steps.reserve(demands_.size());
  for (const Role& role : roles_) {
    for (const size_t i : role.members)
      steps.push_back({&role, i, search_.tx().deltas()[delta_of_[i]].placement.node});
  }
  std::sort(steps.begin(), steps.end(), [&](const Step& a, const Step& b) {
    return delta_of_[a.demand] < delta_of_[b.demand];
  });
  NodeIndex best;  // invalid: as it was
  size_t fewest = rails_.nics();
  NodeIndex last;
  search_.tx().RollbackTo(before_);
  std::vector<NodeIndex> leaders = RailLeaders(steps);
  leaders.resize(std::min({leaders.size(), kMostLeaders, kMostLaid / demands_.size() + 1}));
  for (const NodeIndex leader : leaders) {
    last = leader;
    if (!PlaceAgain(steps, leader) || rails_.nics() >= fewest) continue;
    best = leader;
    fewest = rails_.nics();
    if (fewest <= rails_.most_nics()) return;
  }
  if (last != best || leaders.empty()) PlaceAgain(steps, best);
}

}  // namespace muster::policy
