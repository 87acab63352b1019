#include "policy/placement.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/device_links.hpp"
#include "policy/fabric_wish.hpp"
#include "policy/gang_placement.hpp"
#include "policy/roles.hpp"
#include "policy/search.hpp"
#include "policy/slots.hpp"
#include "topology/node_match.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using cluster::Transaction;

struct Placer::Memory {
  explicit Memory(const Options& options)
      : shapes(options.profiles),
        fabric(options.fabric),
        usual_wish(options.strategy == Strategy::kBinpack ? UsualWish(options.fabric) : nullptr) {}
  ShapeMemory shapes;
  topology::FabricMaker fabric;
  std::shared_ptr<const Wish> usual_wish;  // of gangs without one; null: none
};

std::shared_ptr<const topology::NodeTopology> LinksOf(const cluster::Node& node,
                                                      const Options& options) {
  LinksMemory memory(options.profiles);
  if (const auto links = memory.Of(node)) return links->topology();
  const size_t gpus = std::min(topology::GpusOf(node), topology::kMostGpus);
  return topology::TopologyCache().Of(
      {topology::TopologySource::kFlat, topology::FlatMachine(gpus)});
}

Placer::Placer(Options options)
    : options_(std::move(options)), memory_(std::make_unique<Memory>(options_)) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

// What all tries of one PlaceGang call have in common.
struct Placer::Call {
  Transaction& tx;
  const std::vector<Demand>& demands;
  NodeFilter filter;
  const GangTerms& terms;
};

PlaceAnswer Placer::PlaceWithin(const Call& call, const Domain& domain) {
  ShapeMemory& shapes = memory_->shapes;
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter,
                      call.terms.queue, domain.nodes.get());
  std::optional<GangLayout> layout;
  if (domain.tree) {
    layout.emplace(GangLayout{{memory_->fabric.Follow(call.tx.base().nodes()),
                               *domain.tree,
                               domain.id,
                               {},
                               domain.packed},
                              domain.segments});
  }
  return GangPlacement(search, call.demands, RolesOf(call.demands, shapes),
                       layout ? &*layout : nullptr, call.terms)
      .Run();
}

WishedDomains Placer::DomainsFor(const Call& call, const Wish& wish) {
  ShapeMemory& shapes = memory_->shapes;
  const auto& fabric = memory_->fabric.Follow(call.tx.base().nodes());
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter,
                      call.terms.queue, nullptr);
  std::vector<Role> roles = RolesOf(call.demands, shapes);
  Sort(roles, RoleOrder::kMostGpus, search);
  std::vector<NodeIndex> preferred;
  for (const Demand& demand : call.demands) {
    if (demand.preferred.valid()) preferred.push_back(demand.preferred);
  }
  return wish.Domains({call.tx.base(), call.terms.beside, call.terms.others, std::move(preferred),
                       *fabric, RoomByDomain(search, roles, fabric)});
}

// A pod by itself goes to the best node of all, unless that costs a node all of whose GPUs are
// free: then its domain matters too. True when that was all.
bool Placer::PlacedInUse(const Call& call, PlaceAnswer& answer) {
  const size_t before = call.tx.checkpoint();
  answer = PlaceWithin(call, {});
  if (!answer.placed || call.demands.front().spec->gpus.none()) return true;
  const NodeIndex node = answer.placements.front().node;
  const auto whole = static_cast<size_t>(call.tx.base().free().at(node).gpu_whole);
  if (whole < call.tx.node(node)->gpus.size()) return true;
  call.tx.RollbackTo(before);
  return false;
}

PlaceAnswer Placer::PlaceGang(Transaction& tx, const std::vector<Demand>& demands,
                              NodeFilter filter, const GangTerms& terms) {
  memory_->shapes.Follow(tx.base().nodes());
  const Call call{tx, demands, filter, terms};
  const Wish* wish = terms.wish.get();
  PlaceAnswer nearest;
  if (wish == nullptr) {
    wish = memory_->usual_wish.get();
    if (wish == nullptr) return PlaceWithin(call, {});
    if (demands.size() == 1 && terms.beside.empty() && PlacedInUse(call, nearest)) return nearest;
  }
  const WishedDomains wished = DomainsFor(call, *wish);
  bool any = false;
  const auto try_in = [&](const Domain& domain) {
    PlaceAnswer answer = PlaceWithin(call, domain);
    const bool nearer = !any || answer.shortage.placed_before > nearest.shortage.placed_before;
    any = true;
    if (!answer.placed) answer.shortage.domain = domain.name;
    const bool placed = answer.placed;
    if (placed || nearer) nearest = std::move(answer);
    return placed;
  };
  for (const Domain& domain : wished.domains) {
    if (try_in(domain)) return nearest;
  }
  if (!any) try_in({std::make_shared<const cluster::NodeSet>(), ""});  // it may be nowhere
  nearest.shortage.limit = wished.limit;
  nearest.shortage.domains = wished.of;
  return nearest;
}

}  // namespace muster::policy
