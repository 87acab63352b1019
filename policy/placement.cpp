#include "policy/placement.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/device_links.hpp"
#include "policy/fabric_wish.hpp"
#include "policy/gang_placement.hpp"
#include "policy/reserve.hpp"
#include "policy/roles.hpp"
#include "policy/search.hpp"
#include "policy/slots.hpp"
#include "policy/subgroup_search.hpp"
#include "policy/used_first.hpp"
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
  bool subgroup = false;  // not the whole gang, or it is placed in subgroups
};

PlaceAnswer Placer::PlaceWithin(const Call& call, const Domain& domain) {
  ShapeMemory& shapes = memory_->shapes;
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter, call.terms,
                      domain.nodes.get());
  std::optional<GangLayout> layout;
  if (domain.tree) {
    layout.emplace(GangLayout{{memory_->fabric.Follow(call.tx.base().nodes()),
                               *domain.tree,
                               domain.id,
                               {},
                               domain.packed},
                              domain.segments,
                              domain.divided});
  }
  return GangPlacement(search, call.demands, RolesOf(call.demands, shapes),
                       layout ? &*layout : nullptr, call.terms)
      .Run();
}

WishedDomains Placer::DomainsFor(const Call& call, const Wish& wish) {
  ShapeMemory& shapes = memory_->shapes;
  const auto& fabric = memory_->fabric.Follow(call.tx.base().nodes());
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter, call.terms,
                      nullptr);
  std::vector<Role> roles = RolesOf(call.demands, shapes);
  Sort(roles, RoleOrder::kMostGpus, search);
  std::vector<NodeIndex> preferred;
  for (const Demand& demand : call.demands) {
    if (demand.preferred.valid()) preferred.push_back(demand.preferred);
  }
  std::vector<NodeRoom> single_nodes;
  if (!call.subgroup && call.demands.size() > 1 && call.terms.beside.empty())
    single_nodes = SingleNodes(search, roles, fabric);
  return wish.Domains({call.tx.base(), call.terms.beside, call.terms.others, std::move(preferred),
                       *fabric, RoomByDomain(search, roles, fabric), std::move(single_nodes)});
}

std::vector<topology::DomainId> Placer::UsedFirstFor(const Call& call) {
  ShapeMemory& shapes = memory_->shapes;
  const auto& fabric = memory_->fabric.Follow(call.tx.base().nodes());
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter, call.terms,
                      nullptr);
  return UsedFirst(call.tx.base(), *fabric,
                   RoomByDomain(search, RolesOf(call.demands, shapes), fabric));
}

// Of the nodes that are as good for the pod as `best`, CPU and name aside, the best one of the
// domain that is in use most.
NodeIndex Placer::LikeIn(const Call& call, NodeIndex best) {
  const Demand& demand = call.demands.front();
  ShapeMemory& shapes = memory_->shapes;
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter, call.terms,
                      nullptr);
  const Shape& shape = shapes.ShapeOf(demand.spec);
  const std::optional<Score> wanted = search.ScoreOn(shape, best);
  const auto& fabric = memory_->fabric.Follow(call.tx.base().nodes());
  for (const topology::DomainId id : UsedFirstFor(call)) {
    NodeChoice choice;
    search.Within(fabric->domains()[id].nodes.get()).EachNode([&](NodeIndex node) {
      const bool out = std::binary_search(demand.excluded.begin(), demand.excluded.end(), node);
      const std::optional<Score> score = out ? std::nullopt : search.ScoreOn(shape, node);
      const bool as_good = score && wanted && SameGpus(*score, *wanted);
      if (as_good && (!choice.node.valid() || *score < choice.score)) choice = {node, *score};
      return true;
    });
    if (choice.node.valid()) return choice.node;
  }
  return best;
}

// A pod by itself goes to the best node of all, of equal ones to that of the domain in use most;
// unless that costs a node all of whose GPUs are free: then its domain matters more. True when that
// was all.
bool Placer::PlacedAlone(const Call& call, PlaceAnswer& answer) {
  const size_t before = call.tx.checkpoint();
  const Demand& demand = call.demands.front();
  answer = PlaceWithin(call, {});
  if (!answer.placed || demand.spec->gpus.none()) return true;
  const NodeIndex node = answer.placements.front().node;
  if (node == demand.preferred) return true;
  call.tx.RollbackTo(before);
  const auto in = [&](std::shared_ptr<const cluster::NodeSet> nodes) {
    answer = PlaceWithin(call, {std::move(nodes), ""});
    return answer.placed;
  };
  const auto whole = static_cast<size_t>(call.tx.base().free().at(node).gpu_whole);
  if (whole < call.tx.node(node)->gpus.size()) {
    cluster::NodeSet one;
    one.Add(LikeIn(call, node));
    return in(std::make_shared<const cluster::NodeSet>(std::move(one)));
  }
  const auto& fabric = memory_->fabric.Follow(call.tx.base().nodes());
  size_t tries = FabricWish::kMostTries;
  for (const topology::DomainId id : UsedFirstFor(call)) {
    if (tries-- == 0) return false;
    if (in(fabric->domains()[id].nodes)) return true;
  }
  return false;
}

PlaceAnswer Placer::PlaceSubgroups(const Call& call, const Domain& domain, int64_t& budget) {
  if (call.terms.subgroups.empty()) return PlaceWithin(call, domain);
  const SubgroupSearch::Ports ports{
      [&](const std::vector<Demand>& demands, const GangTerms& terms) {
        return DomainsFor({call.tx, demands, call.filter, terms, true}, *terms.wish);
      },
      [&](const std::vector<Demand>& demands, const GangTerms& terms, const Domain& within) {
        return PlaceWithin({call.tx, demands, call.filter, terms, true}, within);
      }};
  return SubgroupSearch(call.tx, call.demands, call.terms, ports).Run(domain, budget);
}

// In the first of them that has room.
PlaceAnswer Placer::PlaceInDomains(const Call& call, const WishedDomains& wished) {
  PlaceAnswer nearest;
  bool any = false;
  bool gave_up = false;
  int64_t budget = SubgroupSearch::kMostRetries;
  const auto try_in = [&](const Domain& domain) {
    PlaceAnswer answer = PlaceSubgroups(call, domain, budget);
    const bool nearer = !any || answer.shortage.placed_before > nearest.shortage.placed_before;
    any = true;
    if (!answer.placed && answer.shortage.subgroup.empty()) {
      answer.shortage.domain = domain.name;
      answer.shortage.limit = wished.limit;
      answer.shortage.domains = wished.of;
    }
    const bool placed = answer.placed;
    gave_up = gave_up || answer.shortage.gave_up;
    if (placed || nearer) nearest = std::move(answer);
    return placed;
  };
  for (const Domain& domain : wished.domains) {
    if (try_in(domain)) return nearest;
  }
  nearest.shortage.gave_up = gave_up;
  if (!any) try_in({std::make_shared<const cluster::NodeSet>(), ""});  // it may be nowhere
  return nearest;
}

const std::shared_ptr<const topology::Fabric>& Placer::FabricOf(const cluster::NodeTable& nodes) {
  return memory_->fabric.Follow(nodes);
}

std::shared_ptr<const cluster::NodeSet> Placer::KeptOf(const cluster::Snapshot& nodes,
                                                       NodeFilter filter) {
  if (options_.fabric.reserve.empty()) return nullptr;
  return KeptNodes(nodes, *FabricOf(nodes.nodes()), filter);
}

PlaceAnswer Placer::PlaceGang(Transaction& tx, const std::vector<Demand>& demands,
                              NodeFilter filter, const GangTerms& terms) {
  memory_->shapes.Follow(tx.base().nodes());
  const Call call{tx, demands, filter, terms, !terms.subgroups.empty()};
  const Wish* wish = terms.wish.get();
  if (terms.kept != nullptr)
    memory_->shapes.FollowKept(Search::MemoryOf(filter, true), *terms.kept);
  const auto told = [&](PlaceAnswer answer) {
    if (!answer.placed && answer.shortage.kept > 0)
      answer.shortage.reserve = TextOfReserve(options_.fabric);
    return answer;
  };
  PlaceAnswer nearest;
  if (wish == nullptr) {
    wish = memory_->usual_wish.get();
    if (wish == nullptr) return told(PlaceWithin(call, {}));  // without a fabric: no subgroups
    if (demands.size() == 1 && terms.beside.empty() && PlacedAlone(call, nearest))
      return told(std::move(nearest));
  }
  return told(PlaceInDomains(call, DomainsFor(call, *wish)));
}

}  // namespace muster::policy
