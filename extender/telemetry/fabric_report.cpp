#include "extender/telemetry/fabric_report.hpp"

#include <algorithm>

namespace muster::extender {
namespace {

// The level of a tree at that depth, among those that have domains; "-" where it has none any more.
std::string LevelAt(const engine::FabricView& view, const std::string& tree, int64_t depth) {
  const auto found = std::find_if(
      view.domains.begin(), view.domains.end(),
      [&](const engine::DomainView& one) { return one.tree == tree && one.depth == depth; });
  return found == view.domains.end() ? "-" : found->level;
}

// At which depth the paths of two domains part.
int64_t PartAt(const std::string& one, const std::string& other) {
  const auto [a, b] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  const int64_t depth = std::count(one.begin(), a, '/');
  // One goes on where the other one ends: "b1" and "b1/r1". Either may be empty.
  const bool goes_on = (a == one.end() && b != other.end() && *b == '/') ||
                       (b == other.end() && a != one.end() && *a == '/');
  return goes_on ? depth + 1 : depth;
}

std::string Shown(const std::string& domain) { return domain.empty() ? "-" : domain; }

}  // namespace

void FabricReport::Follow(const engine::FabricView& view) {
  FollowFindings(view.findings);
  FollowPlaces(view);
}

void FabricReport::FollowFindings(const std::vector<std::string>& findings) {
  std::set<std::string> now(findings.begin(), findings.end());
  for (const std::string& finding : now) {
    if (!told_.contains(finding)) log_.Error("fabric labels are wrong", {{"finding", finding}});
  }
  for (const std::string& finding : told_) {
    if (!now.contains(finding)) log_.Info("finding of the fabric is gone", {{"finding", finding}});
  }
  told_ = std::move(now);
}

void FabricReport::FollowPlaces(const engine::FabricView& view) {
  std::map<std::pair<std::string, std::string>, std::string> now;
  std::size_t moved = 0;
  for (const engine::NodePlace& place : view.places) {
    const auto key = std::pair(place.tree, place.node);
    now.emplace(key, place.domain);
    const auto before = places_.find(key);
    if (before == places_.end() || before->second == place.domain) continue;
    if (++moved <= kMostMoves) TellMove(view, place, before->second);
  }
  if (moved > kMostMoves) {
    log_.Info("more nodes are in other domains now",
              {{"nodes", std::to_string(moved - kMostMoves)}});
  }
  places_ = std::move(now);
}

void FabricReport::TellMove(const engine::FabricView& view, const engine::NodePlace& now,
                            const std::string& before) {
  log_.Info("a node is in another domain now",
            {{"node", now.node},
             {"tree", now.tree},
             {"level", LevelAt(view, now.tree, PartAt(before, now.domain))},
             {"from", Shown(before)},
             {"to", Shown(now.domain)}});
}

}  // namespace muster::extender
