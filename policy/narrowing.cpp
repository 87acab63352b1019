#include "policy/narrowing.hpp"

#include <algorithm>
#include <tuple>
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
    const Fabric::Range range = fabric.At({scope.tree, level});
    if (range.first < range.last) levels_.push_back(level);
  }
}

Spread Narrowing::SpreadOver(const std::vector<NodeIndex>& nodes) const {
  Spread spread;
  spread.reserve(levels_.size());
  for (const size_t level : levels_) {
    std::vector<std::pair<DomainId, NodeIndex>> used;
    used.reserve(nodes.size());
    for (const NodeIndex node : nodes) {
      const DomainId id = scope_.fabric->Of({scope_.tree, level}, node);
      used.emplace_back(id, id == topology::kNoDomain ? node : NodeIndex());
    }
    std::sort(used.begin(), used.end());
    spread.push_back(std::unique(used.begin(), used.end()) - used.begin());
  }
  return spread;
}

std::vector<DomainId> Narrowing::UsedAt(size_t level, const std::vector<NodeIndex>& nodes) const {
  std::vector<DomainId> used;
  used.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    const DomainId id = scope_.fabric->Of({scope_.tree, levels_[level]}, node);
    if (id != topology::kNoDomain) used.push_back(id);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

std::vector<DomainId> Narrowing::CandidatesAt(size_t level,
                                              const std::vector<DomainId>& within) const {
  const Fabric& fabric = *scope_.fabric;
  std::vector<DomainId> domains;
  if (level > 0) {
    for (const DomainId outer : within) {
      const std::vector<DomainId>& children = fabric.domains()[outer].children;
      domains.insert(domains.end(), children.begin(), children.end());
    }
  } else if (scope_.domain == topology::kNoDomain) {
    domains = fabric.Outermost(scope_.tree);
  } else {
    domains = fabric.domains()[scope_.domain].children;
  }
  const auto more_room = [&](DomainId a, DomainId b) {
    for (const RoleRoom& role : roles_) {
      if (role.room[a] != role.room[b]) return role.room[a] > role.room[b];
    }
    return a < b;
  };
  std::sort(domains.begin(), domains.end(), more_room);
  return domains;
}

size_t Narrowing::FewestOf(const std::vector<DomainId>& candidates) const {
  size_t fewest = 1;
  for (const RoleRoom& role : roles_) {
    std::vector<int64_t> rooms;
    rooms.reserve(candidates.size());
    for (const DomainId id : candidates) rooms.push_back(role.room[id]);
    std::sort(rooms.rbegin(), rooms.rend());
    int64_t sum = 0;
    size_t needed = 0;
    while (needed < rooms.size() && sum < role.count) sum += rooms[needed++];
    if (sum < role.count) return 0;
    fewest = std::max(fewest, needed);
  }
  return fewest;
}

std::vector<DomainId> Narrowing::Best(std::vector<NodeIndex> nodes, size_t most_tries,
                                      const Place& place) const {
  std::vector<DomainId> best;
  std::vector<DomainId> within;  // that are used, of the level outside
  Spread spread = SpreadOver(nodes);
  for (size_t level = 0; level < levels_.size(); ++level) {
    const std::vector<DomainId> candidates = CandidatesAt(level, within);
    const size_t fewest = FewestOf(candidates);
    const auto uses = static_cast<size_t>(spread[level]);
    for (size_t size = fewest; fewest > 0 && size < uses && size <= candidates.size(); ++size) {
      if (most_tries-- == 0) return best;
      const std::vector<DomainId> set(candidates.begin(),
                                      candidates.begin() + static_cast<std::ptrdiff_t>(size));
      std::vector<NodeIndex> there = place(set);
      if (there.empty()) continue;
      Spread other = SpreadOver(there);
      if (!(other < spread)) continue;
      spread = std::move(other);
      nodes = std::move(there);
      best = set;
      break;
    }
    within = UsedAt(level, nodes);
  }
  return best;
}

}  // namespace muster::policy
