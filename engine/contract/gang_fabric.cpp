#include "engine/contract/gang_fabric.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "policy/gpu_links/device_links.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;
using topology::LevelRef;

namespace {

// A member that has its node, bound or planned.
struct Ranked {
  const MemberView* member;
  NodeIndex node;
};

std::vector<Ranked> ByRank(const cluster::Snapshot& nodes, const GangView& gang) {
  std::map<std::string, NodeIndex> by_name;
  for (NodeIndex index{0}; index.value < nodes.size(); ++index.value) {
    if (const cluster::Node* node = nodes.node(index)) by_name.emplace(node->name, index);
  }
  std::vector<const MemberView*> members;
  for (const MemberView& member : gang.members) members.push_back(&member);
  std::stable_sort(members.begin(), members.end(),
                   [](const MemberView* a, const MemberView* b) { return a->rank < b->rank; });
  std::vector<Ranked> ranked;
  for (const MemberView* member : members) {
    const auto& name = member->bound_node.empty() ? member->planned_node : member->bound_node;
    const auto node = by_name.find(name);
    if (node != by_name.end()) ranked.push_back({member, node->second});
  }
  return ranked;
}

// Of so many members in the order of rank. Two have one link, not one each way.
size_t LinksOf(size_t members) { return members < 3 ? std::max<size_t>(members, 1) - 1 : members; }

std::string NameOf(const Fabric& fabric, DomainId id) {
  return id == topology::kNoDomain ? std::string() : fabric.domains()[id].name;
}

bool Crosses(const Fabric& fabric, const LevelRef& level, NodeIndex a, NodeIndex b) {
  const DomainId here = fabric.Of(level, a);
  return here != fabric.Of(level, b) || here == topology::kNoDomain;
}

GangLevel ViewLevel(const Fabric& fabric, const LevelRef& level,
                    const std::vector<Ranked>& ranked) {
  const topology::FabricTree& tree = fabric.options().trees[level.tree];
  GangLevel view{tree.name, topology::LevelsOf(tree)[level.level].name, {}, 0};
  std::map<DomainId, int64_t> members;  // kNoDomain is the last
  for (const Ranked& one : ranked) ++members[fabric.Of(level, one.node)];
  for (size_t i = 0; i < LinksOf(ranked.size()); ++i) {
    const NodeIndex next = ranked[(i + 1) % ranked.size()].node;
    if (Crosses(fabric, level, ranked[i].node, next)) ++view.crossings;
  }
  for (const auto& [id, count] : members) view.domains.push_back({NameOf(fabric, id), count});
  return view;
}

// Each link under the outermost level of the tree that it crosses.
void AddCrossings(const Fabric& fabric, size_t tree, const std::vector<Ranked>& ranked,
                  GangFabric& view) {
  const topology::FabricTree& said = fabric.options().trees[tree];
  const std::vector<topology::FabricLevel> levels = topology::LevelsOf(said);
  std::vector<bool> told(LinksOf(ranked.size()), false);
  for (LevelRef level{tree, 0}; level.level < levels.size(); ++level.level) {
    for (size_t i = 0; i < told.size() && fabric.HasDomains(level); ++i) {
      const Ranked& from = ranked[i];
      const Ranked& to = ranked[(i + 1) % ranked.size()];
      if (told[i] || !Crosses(fabric, level, from.node, to.node)) continue;
      told[i] = true;
      ++view.crossings;
      if (view.crossed.size() == GangFabric::kMostCrossings) continue;
      view.crossed.push_back({said.name, levels[level.level].name, from.member->pod.name,
                              to.member->pod.name, NameOf(fabric, fabric.Of(level, from.node)),
                              NameOf(fabric, fabric.Of(level, to.node))});
    }
  }
}

void AddRings(const cluster::Snapshot& nodes, const policy::Options& options,
              const std::vector<Ranked>& ranked, GangFabric& view) {
  policy::LinksMemory links(options.profiles);
  for (const Ranked& one : ranked) {
    if (one.member->gpus.size() < 2) continue;
    const cluster::Node& node = *nodes.node(one.node);
    const auto known = links.Of(node);
    if (known == nullptr) continue;
    if (const auto ring = known->RingOver(one.member->gpus))
      view.rings.push_back({one.member->pod.name, node.name, *ring});
  }
}

LyingGang Lying(const std::vector<Ranked>& ranked, const std::vector<MemberRing>& rings) {
  LyingGang gang;
  for (const Ranked& one : ranked) gang.nodes.push_back(one.node);
  for (const MemberRing& ring : rings)
    gang.slowest_ring = std::min(ring.megabytes, gang.slowest_ring.value_or(ring.megabytes));
  return gang;
}

}  // namespace

GangFabric ViewGangFabric(const std::shared_ptr<const cluster::Snapshot>& nodes,
                          const policy::Options& options, const GangView& gang,
                          const AskedOfFabric& asked) {
  GangFabric view;
  const std::vector<Ranked> ranked = ByRank(*nodes, gang);
  AddRings(*nodes, options, ranked, view);
  if (options.fabric.trees.empty()) return view;
  topology::FabricMaker maker(options.fabric);
  const std::shared_ptr<const Fabric> fabric = maker.Follow(nodes->nodes());
  view.links = static_cast<int64_t>(LinksOf(ranked.size()));
  for (size_t tree = 0; tree < options.fabric.trees.size() && !ranked.empty(); ++tree) {
    const size_t levels = topology::LevelsOf(options.fabric.trees[tree]).size();
    for (LevelRef level{tree, 0}; level.level < levels; ++level.level) {
      if (fabric->HasDomains(level)) view.levels.push_back(ViewLevel(*fabric, level, ranked));
    }
    AddCrossings(*fabric, tree, ranked, view);
  }
  if (asked.request.required.empty()) return view;
  policy::DomainOffers offers(nodes, options, asked.request, asked.held);
  if (asked.waits) {
    view.offers = OffersTo(offers, asked.terms);
  } else if (!ranked.empty()) {
    view.others = OthersThan(Lying(ranked, view.rings), offers, options, asked.terms);
  }
  return view;
}

}  // namespace muster::engine
