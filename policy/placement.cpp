#include "policy/placement.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/devices.hpp"
#include "policy/roles.hpp"
#include "policy/room.hpp"
#include "policy/search.hpp"
#include "policy/slots.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using cluster::Transaction;

namespace {

// One way of trying to place a whole gang.
struct Attempt {
  bool preferences;  // pods with a preferred node first, and there if they fit
  RoleOrder order;
  DeviceOrder devices;
};

// The first pod that an attempt found no node for.
struct Miss {
  const Role* role;
  size_t demand;
  int64_t placed_before;
};

// One PlaceGang call.
class GangPlacement {
 public:
  GangPlacement(const Search& search, const std::vector<Demand>& demands, std::vector<Role> roles)
      : search_(search), demands_(demands), roles_(std::move(roles)), delta_of_(demands.size()) {}

  PlaceAnswer Run();

 private:
  std::vector<Attempt> UsualWays() const;
  std::vector<Attempt> OtherWays() const;
  bool PlacedIn(const std::vector<Attempt>& ways);
  std::optional<Miss> FirstTooManyAlone() const;
  std::optional<Miss> Try(const Attempt& attempt);
  bool PlaceAt(const Role& role, size_t demand, NodeIndex node, DeviceOrder devices);
  void PlacePreferred(DeviceOrder devices);
  void CountAt(const Miss& miss);
  PlaceAnswer Refused();
  PlaceAnswer Placed() const;

  static constexpr size_t kNotPlaced = SIZE_MAX;

  const Search& search_;
  const std::vector<Demand>& demands_;
  std::vector<Role> roles_;
  std::vector<size_t> delta_of_;  // by demand: position among the transaction's deltas
  int64_t placed_ = 0;
  Shortage shortage_;  // of the attempt that is reported
  const Shape* missed_shape_ = nullptr;
  size_t missed_demand_ = 0;
};

std::vector<Attempt> GangPlacement::UsualWays() const {
  const DeviceOrder devices = DeviceOrderOf(search_.strategy());
  std::vector<Attempt> ways;
  if (std::any_of(demands_.begin(), demands_.end(),
                  [](const Demand& demand) { return demand.preferred.valid(); })) {
    ways.push_back({true, RoleOrder::kMostGpus, devices});
  }
  ways.push_back({false, RoleOrder::kMostGpus, devices});
  return ways;
}

// For gangs of several roles, whose placement is a packing problem in several dimensions (NP-hard:
// a gang that fits in some way may be refused), and for devices shared by pods that want several
// each.
//
// What is promised: a gang of equal pods without exclusions is placed whenever it fits. Nodes do
// not influence each other then, every node takes as many as it can under any order of nodes, and
// kMostTurns makes that true of the devices of a node as well.
std::vector<Attempt> GangPlacement::OtherWays() const {
  std::vector<Attempt> ways;
  if (demands_.size() < 2 || WantMoreThanThereIs(search_, roles_)) return ways;
  const bool several = std::any_of(roles_.begin(), roles_.end(),
                                   [](const Role& role) { return role.spec().gpus.count > 1; });
  if (several) ways.push_back({false, RoleOrder::kMostGpus, DeviceOrder::kMostTurns});
  if (roles_.size() > 1) {
    ways.push_back({false, RoleOrder::kFewestNodes, DeviceOrder::kMostTurns});
    ways.push_back({false, RoleOrder::kMostCpu, DeviceOrder::kMostTurns});
  }
  return ways;
}

// A role that finds too little room even on its own decides the matter without placing anybody.
std::optional<Miss> GangPlacement::FirstTooManyAlone() const {
  for (const Role& role : roles_) {
    if (role.size() < 2) continue;  // looking for its node is as cheap
    const int64_t room = RoomFor(search_, role);
    if (room < role.size()) return Miss{&role, role.members[static_cast<size_t>(room)], room};
  }
  return std::nullopt;
}

bool GangPlacement::PlaceAt(const Role& role, size_t demand, NodeIndex node, DeviceOrder devices) {
  if (!node.valid()) return false;
  delta_of_[demand] = search_.tx().deltas().size();
  search_.Place(*role.shape, demands_[demand].pod, node, devices);
  ++placed_;
  return true;
}

void GangPlacement::PlacePreferred(DeviceOrder devices) {
  for (const Role& role : roles_) {
    for (const size_t i : role.members) {
      const Demand& demand = demands_[i];
      const NodeIndex node = demand.preferred;
      if (node.value >= search_.tx().base().size()) continue;
      if (std::binary_search(demand.excluded.begin(), demand.excluded.end(), node)) continue;
      if (search_.ScoreOn(*role.shape, node)) PlaceAt(role, i, node, devices);
    }
  }
}

std::optional<Miss> GangPlacement::Try(const Attempt& attempt) {
  std::fill(delta_of_.begin(), delta_of_.end(), kNotPlaced);
  placed_ = 0;
  if (attempt.order != RoleOrder::kMostGpus) Sort(roles_, attempt.order, search_);
  if (attempt.preferences) PlacePreferred(attempt.devices);
  for (const Role& role : roles_) {
    for (const size_t i : role.members) {
      if (delta_of_[i] != kNotPlaced) continue;
      const NodeIndex node = search_.Find(*role.shape, demands_[i].excluded).node;
      if (!PlaceAt(role, i, node, attempt.devices)) return Miss{&role, i, placed_};
    }
  }
  return std::nullopt;
}

// Why there is no node for the one that missed, as things stand now.
void GangPlacement::CountAt(const Miss& miss) {
  shortage_ = {};
  shortage_.pod = demands_[miss.demand].pod;
  shortage_.placed_before = miss.placed_before;
  CountRefusals(search_, *miss.role->shape, demands_[miss.demand], shortage_);
  missed_shape_ = miss.role->shape;
  missed_demand_ = miss.demand;
}

PlaceAnswer GangPlacement::Refused() {
  PlaceAnswer answer;
  const GpuMilliSum free = FreeGpus(search_, *missed_shape_, demands_[missed_demand_]);
  GpuMilliSum need;
  for (const Demand& demand : demands_) {
    const cluster::GpuRequest& gpus = demand.spec->gpus;
    need.Add({gpus.each.compute().value(), gpus.each.memory().value()}, gpus.count);
  }
  // Of what there is less, beside what is needed.
  const bool memory = need.memory - free.memory >= need.compute - free.compute;
  shortage_.free_gpu_milli = memory ? free.memory : free.compute;
  shortage_.need_gpu_milli = memory ? need.memory : need.compute;
  shortage_.pod_gpu_milli = demands_[missed_demand_].spec->gpus.total().value();
  answer.shortage = shortage_;
  return answer;
}

PlaceAnswer GangPlacement::Placed() const {
  PlaceAnswer answer;
  answer.placed = true;
  answer.placements.reserve(demands_.size());
  for (const size_t delta : delta_of_) {
    answer.placements.push_back(search_.tx().deltas()[delta].placement);
  }
  return answer;
}

// All members or none, in one way after the other. The usual way without preferences is reported.
bool GangPlacement::PlacedIn(const std::vector<Attempt>& ways) {
  const size_t before = search_.tx().checkpoint();
  for (const Attempt& way : ways) {
    const std::optional<Miss> miss = Try(way);
    if (!miss) return true;
    if (missed_shape_ == nullptr && !way.preferences) CountAt(*miss);
    search_.tx().RollbackTo(before);
  }
  return false;
}

PlaceAnswer GangPlacement::Run() {
  // 1. hardest roles first
  Sort(roles_, RoleOrder::kMostGpus, search_);
  // 2. what cannot be is not tried
  if (const auto miss = FirstTooManyAlone()) {
    CountAt(*miss);
    return Refused();
  }
  // 3. the whole gang
  if (PlacedIn(UsualWays()) || PlacedIn(OtherWays())) return Placed();
  // 4. why not
  return Refused();
}

}  // namespace

struct Placer::Memory {
  explicit Memory(const topology::FabricOptions& options) : fabric(options) {}
  ShapeMemory shapes;
  topology::FabricMaker fabric;
};

Placer::Placer(Options options)
    : options_(std::move(options)), memory_(std::make_unique<Memory>(options_.fabric)) {}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

PlaceAnswer Placer::PlaceWithin(Transaction& tx, const std::vector<Demand>& demands,
                                NodeFilter filter, const GangTerms& terms,
                                const cluster::NodeSet* within) {
  ShapeMemory& shapes = memory_->shapes;
  const Search search(tx, shapes.eligibility(), options_.strategy, filter, terms.queue, within);
  return GangPlacement(search, demands, RolesOf(demands, shapes)).Run();
}

WishedDomains Placer::DomainsFor(Transaction& tx, const std::vector<Demand>& demands,
                                 NodeFilter filter, const GangTerms& terms) {
  ShapeMemory& shapes = memory_->shapes;
  const auto& fabric = memory_->fabric.Follow(tx.base().nodes());
  const Search search(tx, shapes.eligibility(), options_.strategy, filter, terms.queue, nullptr);
  std::vector<Role> roles = RolesOf(demands, shapes);
  Sort(roles, RoleOrder::kMostGpus, search);
  return terms.wish->Domains(
      {tx.base(), terms.beside, *fabric, RoomByDomain(search, roles, fabric)});
}

PlaceAnswer Placer::PlaceGang(Transaction& tx, const std::vector<Demand>& demands,
                              NodeFilter filter, const GangTerms& terms) {
  memory_->shapes.Follow(tx.base().nodes());
  if (terms.wish == nullptr) return PlaceWithin(tx, demands, filter, terms, nullptr);
  const WishedDomains wished = DomainsFor(tx, demands, filter, terms);
  PlaceAnswer nearest;
  bool any = false;
  const auto try_in = [&](const Domain& domain) {
    PlaceAnswer answer = PlaceWithin(tx, demands, filter, terms, domain.nodes.get());
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
