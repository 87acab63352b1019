#include "policy/placing/placement.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "policy/domains/domain_rooms.hpp"
#include "policy/domains/fabric_wish.hpp"
#include "policy/domains/reserve.hpp"
#include "policy/domains/used_first.hpp"
#include "policy/gpu_links/device_links.hpp"
#include "policy/placing/gang_placement.hpp"
#include "policy/placing/subgroup_search.hpp"
#include "policy/search/roles.hpp"
#include "policy/search/room.hpp"
#include "policy/search/search.hpp"
#include "topology/links/node_match.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using cluster::Transaction;
using topology::Fabric;

namespace {

// They ask for the emptiest nodes, and so not to be kept together.
bool AskForSpread(const std::vector<Demand>& demands) {
  return std::all_of(demands.begin(), demands.end(), [](const Demand& demand) {
    return NodeFillingOf(demand.spec->gpus, Strategy::kBinpack) == Strategy::kSpread;
  });
}

}  // namespace

struct Placer::Memory {
  explicit Memory(const Options& options)
      : shapes(options.profiles),
        fabric(options.fabric),
        usual_wish(options.strategy == Strategy::kBinpack ? UsualWish(options.fabric) : nullptr) {}
  ShapeMemory shapes;
  topology::FabricMaker fabric;
  DomainUse use;
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
  bool subgroup = false;                // not the whole gang, or it is placed in subgroups
  PodConditions* conditions = nullptr;  // null: pods demand nothing of each other
};

// What the search for a pod by itself has in common.
struct Placer::Alone {
  const Call& call;
  const Search& search;  // among all nodes
  Shape& shape;
  const std::shared_ptr<const Fabric>& fabric;
  const topology::DomainSums& slots;  // for such pods
  UsedFirst order;                    // of its domains
};

PlaceAnswer Placer::PlaceWithin(const Call& call, const Domain& domain) {
  ShapeMemory& shapes = memory_->shapes;
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter, call.terms,
                      domain.nodes.get(), call.conditions);
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
                      nullptr, call.conditions);
  std::vector<Role> roles = RolesOf(call.demands, shapes);
  Sort(roles, RoleOrder::kMostGpus, search);
  memory_->use.Follow(call.tx.base().free(), call.tx.base().nodes(), fabric);
  std::vector<NodeIndex> preferred;
  for (const Demand& demand : call.demands) {
    if (demand.preferred.valid()) preferred.push_back(demand.preferred);
  }
  std::vector<NodeRoom> single_nodes;
  if (!call.subgroup && call.demands.size() > 1 && call.terms.beside.empty())
    single_nodes = SingleNodes(search, roles, fabric);
  const DomainUse& use = memory_->use;
  return wish.Domains({call.tx.base(), call.terms.beside, call.terms.others, std::move(preferred),
                       *fabric, RoomByDomain(search, roles, fabric, use), Losses(*fabric, use),
                       std::move(single_nodes)});
}

// Of the nodes whose GPUs are as good for the pod as those of `best`, the best one of the domain in
// use most.
NodeIndex Placer::LikeIn(const Alone& alone, const NodeChoice& best) {
  const Call& call = alone.call;
  const Fabric& fabric = *alone.fabric;
  const topology::LevelRef level{0, fabric.InnermostLevel(0)};
  NodeChoice like;
  topology::DomainId domain = Fabric::kNone;
  alone.search.EachAlike(alone.shape, call.demands.front().excluded, best, [&](NodeIndex node) {
    const topology::DomainId in = fabric.Of(level, node);
    if (in == Fabric::kNone) return;
    const bool sooner = !like.node.valid() || alone.order(in, domain);
    if (!sooner && in != domain) return;
    const std::optional<Score> score = alone.search.ScoreOn(alone.shape, node);
    if (!sooner && !(*score < like.score)) return;
    like = {node, *score};
    domain = in;
  });
  return like.node.valid() ? like.node : best.node;
}

// In the first of the domains with room, and a ring as fast as on the best node, that has a node
// for it; the one that loses least comes first.
bool Placer::PlacedInUse(const Alone& alone, const NodeChoice& best, PlaceAnswer& answer) {
  const Fabric& fabric = *alone.fabric;
  const Slots& slots = alone.shape.slots[alone.search.memory()];
  const Fabric::Range range = fabric.At({0, fabric.InnermostLevel(0)});
  std::vector<topology::DomainId> domains;
  for (topology::DomainId id = range.first; id < range.last; ++id) {
    if (alone.slots.Of(id) > 0 && -int64_t{slots.RingIn(id, 1)} <= best.score.ring)
      domains.push_back(id);
  }
  // Nearly always the first one has a node for it.
  const auto first = std::min_element(domains.begin(), domains.end(), std::cref(alone.order));
  if (first == domains.end()) return false;
  answer = PlaceWithin(alone.call, {fabric.domains()[*first].nodes, ""});
  if (answer.placed) return true;
  domains.erase(first);
  const auto later = [&](topology::DomainId a, topology::DomainId b) { return alone.order(b, a); };
  std::make_heap(domains.begin(), domains.end(), later);
  for (size_t tries = FabricWish::kMostTries - 1; tries > 0 && !domains.empty(); --tries) {
    std::pop_heap(domains.begin(), domains.end(), later);
    answer = PlaceWithin(alone.call, {fabric.domains()[domains.back()].nodes, ""});
    if (answer.placed) return true;
    domains.pop_back();
  }
  return false;
}

// A pod by itself goes to the best node of all, of equal ones to that of the domain in use most;
// unless that costs a node all of whose GPUs are free: then its domain matters more. True when that
// was all.
bool Placer::PlacedAlone(const Call& call, PlaceAnswer& answer) {
  const Demand& demand = call.demands.front();
  if (call.conditions != nullptr) {
    answer = PlaceWithin(call, {});
    return true;
  }
  if (demand.spec->gpus.none() || demand.preferred.valid()) {
    const size_t before = call.tx.checkpoint();
    answer = PlaceWithin(call, {});
    if (!answer.placed || demand.spec->gpus.none()) return true;
    if (answer.placements.front().node == demand.preferred) return true;
    call.tx.RollbackTo(before);
  }
  ShapeMemory& shapes = memory_->shapes;
  const Search search(call.tx, shapes.eligibility(), options_.strategy, call.filter, call.terms,
                      nullptr, call.conditions);
  Shape& shape = shapes.ShapeOf(demand.spec);
  const NodeChoice best = search.Find(shape, demand.excluded);
  if (!best.node.valid()) {
    answer = PlaceWithin(call, {});  // why not
    return true;
  }
  const cluster::FreeTable& free = call.tx.base().free();
  const auto& fabric = memory_->fabric.Follow(call.tx.base().nodes());
  memory_->use.Follow(free, call.tx.base().nodes(), fabric);
  const topology::DomainSums& slots = FollowSlots(search, shape, fabric);
  const auto whole = static_cast<size_t>(free.at(best.node).gpu_whole);
  const bool opens = whole == free.gpus(best.node).size();
  const Alone alone{call,   search, shape,
                    fabric, slots,  UsedFirst(*fabric, memory_->use, slots, opens ? 1 : 0)};
  if (opens) return PlacedInUse(alone, best, answer);
  cluster::NodeSet one;
  one.Add(LikeIn(alone, best));
  answer = PlaceWithin(call, {std::make_shared<const cluster::NodeSet>(std::move(one)), ""});
  return answer.placed;
}

PlaceAnswer Placer::PlaceSubgroups(const Call& call, const Domain& domain, int64_t& budget) {
  if (call.terms.subgroups.empty()) return PlaceWithin(call, domain);
  const SubgroupSearch::Ports ports{
      [&](const std::vector<Demand>& demands, const GangTerms& terms) {
        return DomainsFor({call.tx, demands, call.filter, terms, true, call.conditions},
                          *terms.wish);
      },
      [&](const std::vector<Demand>& demands, const GangTerms& terms, const Domain& within) {
        return PlaceWithin({call.tx, demands, call.filter, terms, true, call.conditions}, within);
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

void Placer::Follow(const cluster::NodeTable& nodes, NodeFilter filter, const GangTerms& terms) {
  memory_->shapes.Follow(nodes);
  if (terms.kept != nullptr)
    memory_->shapes.FollowKept(Search::MemoryOf(filter, true), *terms.kept);
}

std::vector<DomainRoom> Placer::RoomsFor(Transaction& tx, const std::vector<Demand>& demands,
                                         NodeFilter filter, const GangTerms& terms) {
  Follow(tx.base().nodes(), filter, terms);
  const auto& fabric = FabricOf(tx.base().nodes());
  const Search search(tx, memory_->shapes.eligibility(), options_.strategy, filter, terms, nullptr,
                      nullptr);
  std::vector<Role> roles = RolesOf(demands, memory_->shapes);
  Sort(roles, RoleOrder::kMostGpus, search);
  memory_->use.Follow(tx.base().free(), tx.base().nodes(), fabric);
  return RoomByDomain(search, roles, fabric, memory_->use);
}

int64_t Placer::PodsOn(Transaction& tx, const Demand& demand, NodeIndex node, int64_t limit,
                       NodeFilter filter, const GangTerms& terms) {
  Follow(tx.base().nodes(), filter, terms);
  ShapeMemory& shapes = memory_->shapes;
  const Shape& shape = shapes.ShapeOf(demand.spec);
  const Search search(tx, shapes.eligibility(), options_.strategy, filter, terms, nullptr);
  return policy::PodsOn(search, shape, node, limit);
}

std::vector<std::vector<size_t>> Placer::NumaNodesOf(const cluster::NodeTable& nodes,
                                                     NodeIndex node) {
  memory_->shapes.Follow(nodes);
  const auto& links = memory_->shapes.eligibility().facts(node).links;
  return links == nullptr ? std::vector<std::vector<size_t>>() : links->NumaNodes();
}

PlaceAnswer Placer::PlaceGang(Transaction& tx, const std::vector<Demand>& demands,
                              NodeFilter filter, const GangTerms& terms) {
  Follow(tx.base().nodes(), filter, terms);
  const std::unique_ptr<PodConditions> conditions = PodConditions::Of(tx, demands);
  const Call call{tx, demands, filter, terms, !terms.subgroups.empty(), conditions.get()};
  const Wish* wish = terms.wish.get();
  const auto told = [&](PlaceAnswer answer) {
    if (!answer.placed && answer.shortage.kept > 0)
      answer.shortage.reserve = TextOfReserve(options_.fabric);
    return answer;
  };
  PlaceAnswer nearest;
  if (wish == nullptr) {
    wish = memory_->usual_wish.get();
    // Without a fabric: no subgroups.
    if (wish == nullptr || (AskForSpread(demands) && !call.subgroup))
      return told(PlaceWithin(call, {}));
    if (demands.size() == 1 && terms.beside.empty() && PlacedAlone(call, nearest))
      return told(std::move(nearest));
  }
  return told(PlaceInDomains(call, DomainsFor(call, *wish)));
}

}  // namespace muster::policy
