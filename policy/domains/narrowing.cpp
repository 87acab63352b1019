#include "policy/domains/narrowing.hpp"

#include <algorithm>
#include <utility>

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;

Narrowing::Narrowing(const LayoutScope& scope, std::vector<RoleRoom> roles)
    : scope_(scope), roles_(std::move(roles)) {
  const Fabric& fabric = *scope.fabric;
  const size_t end = LevelsOf(fabric.options().trees[scope.tree]).size();
  size_t level =
      scope.domain == topology::kNoDomain ? 0 : fabric.domains()[scope.domain].level.level + 1;
  for (; level < end; ++level) {
    if (fabric.HasDomains({scope.tree, level})) levels_.push_back(level);
  }
}

Spot Narrowing::SpotOf(size_t level, NodeIndex node) const {
  const DomainId id = scope_.fabric->Of({scope_.tree, levels_[level]}, node);
  return id == topology::kNoDomain ? Spot{id, node} : Spot{id, {}};
}

std::vector<Spot> Narrowing::UsedAt(size_t level, const std::vector<NodeIndex>& nodes) const {
  std::vector<Spot> used;
  used.reserve(nodes.size());
  for (const NodeIndex node : nodes) used.push_back(SpotOf(level, node));
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

DomainCounts Narrowing::CountsOver(const std::vector<NodeIndex>& nodes) const {
  DomainCounts counts;
  counts.reserve(levels_.size());
  for (size_t level = 0; level < levels_.size(); ++level)
    counts.push_back(static_cast<int64_t>(UsedAt(level, nodes).size()));
  return counts;
}

int64_t Narrowing::RoomIn(const RoleRoom& role, const Spot& spot) const {
  if (spot.domain != topology::kNoDomain) return role.room[spot.domain];
  const auto lone = role.lone.find(spot.node);
  return lone == role.lone.end() ? 0 : lone->second;
}

std::vector<Spot> Narrowing::CandidatesAt(size_t level, const std::vector<Spot>& within) const {
  const Fabric& fabric = *scope_.fabric;
  std::vector<Spot> spots;
  const auto add = [&](const std::vector<DomainId>& domains) {
    for (const DomainId id : domains) spots.push_back({id, {}});
  };
  if (level == 0) {
    add(scope_.domain == topology::kNoDomain ? fabric.Outermost(scope_.tree)
                                             : fabric.domains()[scope_.domain].children);
  } else {
    for (const Spot& outer : within) {
      if (outer.domain != topology::kNoDomain) add(fabric.domains()[outer.domain].children);
    }
  }
  for (const auto& [node, room] : roles_.front().lone) {
    const Spot spot = SpotOf(level, node);
    if (spot.domain != topology::kNoDomain) continue;
    if (level == 0 || std::binary_search(within.begin(), within.end(), SpotOf(level - 1, node)))
      spots.push_back(spot);
  }
  std::sort(spots.begin(), spots.end(), [&](const Spot& a, const Spot& b) {
    for (const RoleRoom& role : roles_) {
      const int64_t one = RoomIn(role, a);
      const int64_t other = RoomIn(role, b);
      if (one != other) return one > other;
    }
    if (a.domain != b.domain) return a.domain < b.domain;
    return scope_.fabric->Compare(scope_.tree, a.node, b.node) < 0;
  });
  return spots;
}

size_t Narrowing::FewestOf(const std::vector<Spot>& candidates) const {
  size_t fewest = 1;
  for (const RoleRoom& role : roles_) {
    std::vector<int64_t> rooms;
    rooms.reserve(candidates.size());
    for (const Spot& spot : candidates) rooms.push_back(RoomIn(role, spot));
    std::sort(rooms.rbegin(), rooms.rend());
    int64_t sum = 0;
    size_t needed = 0;
    while (needed < rooms.size() && sum < role.count) sum += rooms[needed++];
    if (sum < role.count) return 0;
    fewest = std::max(fewest, needed);
  }
  return fewest;
}

std::vector<Spot> Narrowing::Best(std::vector<NodeIndex> nodes, size_t most_tries,
                                  const Place& place) const {
  std::vector<Spot> best;
  std::vector<Spot> within;  // that are used, of the level outside
  DomainCounts counts = CountsOver(nodes);
  for (size_t level = 0; level < levels_.size(); ++level) {
    const std::vector<Spot> candidates = CandidatesAt(level, within);
    const size_t fewest = FewestOf(candidates);
    const auto uses = static_cast<size_t>(counts[level]);
    for (size_t size = fewest; fewest > 0 && size < uses && size <= candidates.size(); ++size) {
      if (most_tries-- == 0) return best;
      const std::vector<Spot> set(candidates.begin(),
                                  candidates.begin() + static_cast<std::ptrdiff_t>(size));
      std::vector<NodeIndex> there = place(set);
      if (there.empty()) continue;
      DomainCounts other = CountsOver(there);
      if (!(other < counts)) continue;
      counts = std::move(other);
      nodes = std::move(there);
      best = set;
      break;
    }
    within = UsedAt(level, nodes);
  }
  return best;
}

}  // namespace muster::policy
