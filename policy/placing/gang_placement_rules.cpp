// What GangPlacement does where pods demand something of each other (pod_conditions.hpp).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "policy/placing/gang_placement.hpp"

namespace muster::policy {

using cluster::NodeIndex;

// Whom a role's affinity looks for comes before it, if that is another role.
void GangPlacement::SortRoles(RoleOrder order) {
  Sort(roles_, order, search_);
  if (search_.conditions() == nullptr) return;
  std::stable_partition(roles_.begin(), roles_.end(), [&](const Role& role) {
    return role.spec().rules.affinity.empty() ||
           search_.conditions()->LooksFor(demands_[role.members.front()],
                                          demands_[role.members.front()]);
  });
}

NodeIndex GangPlacement::FindFor(const Search& search, const Role& role, size_t demand) const {
  if (together_ == nullptr || !near_[demand]) return search.FindFor(*role.shape, demands_[demand]);
  cluster::NodeSet both;
  search.EachNode([&](NodeIndex node) {
    if (together_->Contains(node)) both.Add(node);
    return true;
  });
  return search.Within(&both).FindFor(*role.shape, demands_[demand]);
}

// Pods with affinity, and of each other role that they look for all members, or the first: one such
// pod in the domain is enough.
std::vector<bool> GangPlacement::Near(bool all) const {
  std::vector<bool> near(demands_.size());
  std::vector<const Demand*> looking;
  for (const Role& role : roles_) {
    if (role.spec().rules.affinity.empty()) continue;
    looking.push_back(&demands_[role.members.front()]);
    for (const size_t member : role.members) near[member] = true;
  }
  for (const Role& role : roles_) {
    const Demand& first = demands_[role.members.front()];
    if (std::none_of(looking.begin(), looking.end(), [&](const Demand* one) {
          return search_.conditions()->LooksFor(*one, first);
        }))
      continue;
    for (const size_t member : role.members) {
      near[member] = true;
      if (!all) break;
    }
  }
  return near;
}

// Where the first member of those that are to be together has gone the others may lack room: in one
// domain after the other, the one with most room first.
bool GangPlacement::PlacedTogether() {
  if (search_.conditions() == nullptr) return false;
  const auto looks = [](const Role& role) { return !role.spec().rules.affinity.empty(); };
  const auto role = std::find_if(roles_.begin(), roles_.end(), looks);
  if (role == roles_.end()) return false;
  struct Place {
    int64_t room = 0;
    cluster::NodeSet nodes;
  };
  std::map<std::string, Place> places;
  const std::vector<bool> all = Near(true);
  const std::vector<bool> first = Near(false);
  search_.EachNode([&](NodeIndex node) {
    const cluster::Node* record = search_.tx().node(node);
    if (record == nullptr) return true;
    const auto label = record->labels.find(role->spec().rules.affinity.front().topology_key);
    if (label == record->labels.end()) return true;
    Place& place = places[label->second];
    for (const Role& one : roles_) {
      if (all[one.members.front()]) place.room += PodsOn(search_, *one.shape, node, one.size());
    }
    place.nodes.Add(node);
    return true;
  });
  std::vector<const Place*> order;
  order.reserve(places.size());
  for (const auto& [value, place] : places) order.push_back(&place);
  std::stable_sort(order.begin(), order.end(),
                   [](const Place* a, const Place* b) { return a->room > b->room; });
  if (order.size() > kMostLayouts) order.resize(kMostLayouts);
  const bool placed = std::any_of(order.begin(), order.end(), [&](const Place* place) {
    together_ = &place->nodes;
    const std::vector<Attempt> way = {
        {false, RoleOrder::kMostGpus, DeviceOrderOf(search_.strategy())}};
    near_ = all;
    if (PlacedIn(way)) return true;
    if (first == all) return false;
    near_ = first;
    return PlacedIn(way);
  });
  together_ = nullptr;
  return placed;
}

}  // namespace muster::policy
