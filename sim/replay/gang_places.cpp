#include "sim/replay/gang_places.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace muster::sim {

using cluster::NodeIndex;
using topology::LevelRef;

namespace {

// Two members have one link, not one each way.
size_t LinksOf(size_t members) { return members < 3 ? members - 1 : members; }

double Mean(double sum, int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); }

constexpr size_t kKeptLinks = 16;

}  // namespace

GangPlaces::GangPlaces(const std::vector<cluster::Node>& nodes, const policy::Options& options)
    : links_(options.profiles, kKeptLinks) {
  for (cluster::Node node : nodes) {
    node.uid = cluster::NodeUid(node.name);  // the API server gives others
    state_.Upsert(std::move(node));
  }
  topology::FabricMaker maker(options.fabric);
  fabric_ = maker.Follow(state_.TakeSnapshot()->nodes());
  for (size_t tree = 0; tree < options.fabric.trees.size(); ++tree) {
    const topology::FabricTree& said = options.fabric.trees[tree];
    const std::vector<topology::FabricLevel> levels = topology::LevelsOf(said);
    for (LevelRef at{tree, 0}; at.level < levels.size(); ++at.level) {
      const topology::Fabric::Range range = fabric_->At(at);
      if (range.first < range.last)
        levels_.push_back({at, {said.name, levels[at.level].name, 0, 0, 0}});
    }
  }
}

void GangPlaces::CountLevel(const std::vector<NodeIndex>& nodes, Level& level) const {
  std::set<topology::DomainId> domains;
  std::set<NodeIndex> outside;
  for (const NodeIndex node : nodes) {
    const topology::DomainId id = fabric_->Of(level.at, node);
    if (id == topology::kNoDomain) {
      outside.insert(node);
    } else {
      domains.insert(id);
    }
  }
  level.places.whole += domains.size() == 1 && outside.empty() ? 1 : 0;
  level.places.domains += static_cast<int64_t>(domains.size() + outside.size());
  for (size_t i = 0; i < LinksOf(nodes.size()); ++i) {
    const topology::DomainId here = fabric_->Of(level.at, nodes[i]);
    const topology::DomainId next = fabric_->Of(level.at, nodes[(i + 1) % nodes.size()]);
    level.places.crossings += here != next || here == topology::kNoDomain ? 1 : 0;
  }
}

void GangPlaces::CountRings(const std::vector<Place>& members) {
  std::optional<uint32_t> slowest;
  for (const Place& member : members) {
    if (member.gpus.size() < 2) continue;
    const auto links = links_.Of(*state_.FindNode(member.node));
    const std::optional<uint32_t> ring =
        links == nullptr ? std::nullopt : links->RingOver(member.gpus);
    if (!ring) continue;
    ++report_.ringed;
    report_.ring_gbps += static_cast<double>(*ring) / 1000;
    slowest = std::min(*ring, slowest.value_or(*ring));
  }
  if (!slowest) return;
  ++report_.ringed_gangs;
  report_.slowest_gbps += static_cast<double>(*slowest) / 1000;
}

void GangPlaces::Started(const std::vector<Place>& members) {
  CountRings(members);
  if (members.size() < 2) return;
  std::vector<NodeIndex> nodes;
  nodes.reserve(members.size());
  for (const Place& member : members) nodes.push_back(state_.IndexOf(member.node));
  ++report_.gangs;
  report_.links += static_cast<int64_t>(LinksOf(nodes.size()));
  const bool one = std::all_of(nodes.begin(), nodes.end(),
                               [&](NodeIndex node) { return node == nodes.front(); });
  report_.one_node += one ? 1 : 0;
  for (Level& level : levels_) CountLevel(nodes, level);
}

PlacesReport GangPlaces::Report() const {
  PlacesReport report = report_;
  report.ring_gbps = Mean(report_.ring_gbps, report_.ringed);
  report.slowest_gbps = Mean(report_.slowest_gbps, report_.ringed_gangs);
  for (const Level& level : levels_) report.levels.push_back(level.places);
  return report;
}

}  // namespace muster::sim
