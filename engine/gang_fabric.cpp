#include "engine/gang_fabric.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/rank.hpp"
#include "policy/domain_offers.hpp"
#include "topology/fabric.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;
using topology::LevelRef;

namespace {

// The nodes of those that have one, in the order of rank.
std::vector<NodeIndex> NodesByRank(const cluster::Snapshot& nodes, const GangView& gang) {
  std::map<std::string, NodeIndex> by_name;
  for (NodeIndex index{0}; index.value < nodes.size(); ++index.value) {
    if (const cluster::Node* node = nodes.node(index)) by_name.emplace(node->name, index);
  }
  std::vector<const MemberView*> members;
  for (const MemberView& member : gang.members) members.push_back(&member);
  std::stable_sort(members.begin(), members.end(), [](const MemberView* a, const MemberView* b) {
    return CompareNatural(a->pod.name, b->pod.name) < 0;
  });
  std::vector<NodeIndex> ranked;
  for (const MemberView* member : members) {
    const auto& name = member->bound_node.empty() ? member->planned_node : member->bound_node;
    if (const auto node = by_name.find(name); node != by_name.end()) ranked.push_back(node->second);
  }
  return ranked;
}

std::string NameOf(const Fabric& fabric, DomainId id) {
  return id == topology::kNoDomain ? std::string() : fabric.domains()[id].name;
}

GangLevel ViewLevel(const Fabric& fabric, const LevelRef& level,
                    const std::vector<NodeIndex>& ranked) {
  const topology::FabricTree& tree = fabric.options().trees[level.tree];
  GangLevel view{tree.name, topology::LevelsOf(tree)[level.level].name, {}, 0};
  std::map<DomainId, int64_t> members;  // kNoDomain is the last
  for (size_t i = 0; i < ranked.size(); ++i) {
    const DomainId here = fabric.Of(level, ranked[i]);
    ++members[here];
    // Two have one link, not one each way.
    const bool closes = i + 1 == ranked.size();
    if (closes && ranked.size() < 3) continue;
    const DomainId next = fabric.Of(level, ranked[closes ? 0 : i + 1]);
    if (here != next || here == topology::kNoDomain) ++view.crossings;
  }
  for (const auto& [id, count] : members) view.domains.push_back({NameOf(fabric, id), count});
  return view;
}

void AddOffers(const std::shared_ptr<const cluster::Snapshot>& nodes,
               const std::shared_ptr<const Fabric>& fabric, const policy::Options& options,
               const policy::GangRequest& request, const cluster::TopologyTerms& said,
               GangFabric& view) {
  const cluster::TopologyTerms terms = Heeded(options.fabric, said);
  const std::vector<int64_t> offers = policy::OffersFor(nodes, fabric, options, request);
  view.wanted = static_cast<int64_t>(request.required.size());
  for (const topology::LevelSpan& span : SpansOf(options.fabric, terms)) {
    const LevelRef level{span.tree, terms.required.empty() ? span.innermost : span.outermost};
    const topology::FabricTree& tree = options.fabric.trees[level.tree];
    if (view.level.empty()) view.level = topology::LevelsOf(tree)[level.level].name;
    const Fabric::Range range = fabric->At(level);
    for (DomainId id = range.first; id < range.last; ++id)
      view.offers.push_back({NameOf(*fabric, id), offers[id]});
  }
  view.domains = static_cast<int64_t>(view.offers.size());
  std::stable_sort(
      view.offers.begin(), view.offers.end(),
      [](const DomainShare& a, const DomainShare& b) { return a.members > b.members; });
  if (view.offers.size() > GangFabric::kMostOffers) view.offers.resize(GangFabric::kMostOffers);
}

}  // namespace

GangFabric ViewGangFabric(const std::shared_ptr<const cluster::Snapshot>& nodes,
                          const policy::Options& options, const GangView& gang,
                          const policy::GangRequest& request, const cluster::TopologyTerms& terms) {
  GangFabric view;
  if (options.fabric.trees.empty()) return view;
  topology::FabricMaker maker(options.fabric);
  const std::shared_ptr<const Fabric> fabric = maker.Follow(nodes->nodes());
  const std::vector<NodeIndex> ranked = NodesByRank(*nodes, gang);
  const auto placed = static_cast<int64_t>(ranked.size());
  view.links = placed < 3 ? std::max<int64_t>(placed - 1, 0) : placed;
  for (size_t tree = 0; tree < options.fabric.trees.size() && placed > 0; ++tree) {
    const size_t levels = topology::LevelsOf(options.fabric.trees[tree]).size();
    for (size_t level = 0; level < levels; ++level) {
      const Fabric::Range range = fabric->At({tree, level});
      if (range.first < range.last)
        view.levels.push_back(ViewLevel(*fabric, {tree, level}, ranked));
    }
  }
  if (!request.required.empty()) AddOffers(nodes, fabric, options, request, terms, view);
  return view;
}

}  // namespace muster::engine
