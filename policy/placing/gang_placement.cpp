#include "policy/placing/gang_placement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "policy/domains/domain_rooms.hpp"
#include "policy/domains/rank_order.hpp"
#include "policy/search/causes.hpp"
#include "policy/search/pod_shape.hpp"
#include "policy/search/room.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainId;

namespace {

int64_t LargestOf(const topology::Multiples& multiples) {
  return multiples.empty() ? 1 : *std::max_element(multiples.begin(), multiples.end());
}

}  // namespace

bool GangPlacement::SomePrefer() const {
  return std::any_of(demands_.begin(), demands_.end(),
                     [](const Demand& demand) { return demand.preferred.valid(); });
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
    if (room < role.size()) return Miss{&role, role.members[static_cast<size_t>(room)], room, true};
  }
  return std::nullopt;
}

bool GangPlacement::PlaceAt(const Role& role, size_t demand, NodeIndex node) {
  if (!node.valid()) return false;
  delta_of_[demand] = search_.tx().deltas().size();
  search_.Place(*role.shape, demands_[demand].pod, node, devices_, RailsOn(node));
  ++placed_;
  return true;
}

void GangPlacement::PlacePreferred() {
  for (const Role& role : roles_) {
    for (const size_t i : role.members) {
      const Demand& demand = demands_[i];
      const NodeIndex node = demand.preferred;
      if (node.value >= search_.tx().base().size()) continue;
      if (std::binary_search(demand.excluded.begin(), demand.excluded.end(), node)) continue;
      if (search_.Closed(demand, node)) continue;
      if (search_.ScoreOn(*role.shape, node)) PlaceAt(role, i, node);
    }
  }
}

void GangPlacement::Begin(DeviceOrder devices) {
  std::fill(delta_of_.begin(), delta_of_.end(), kNotPlaced);
  placed_ = 0;
  given_up_ = 0;
  devices_ = devices;
  rails_known_ = false;
}

std::optional<Miss> GangPlacement::Try(const Attempt& attempt) {
  Begin(attempt.devices);
  if (attempt.order != RoleOrder::kMostGpus) SortRoles(attempt.order);
  if (attempt.preferences) PlacePreferred();
  const Search search = among_ == nullptr ? search_ : search_.Within(among_);
  for (const Role& role : roles_) {
    for (const size_t i : role.members) {
      if (delta_of_[i] != kNotPlaced) continue;
      const NodeIndex node = FindFor(search, role, i);
      if (!PlaceAt(role, i, node)) return Miss{&role, i, placed_, false};
    }
  }
  return std::nullopt;
}

// Why there is no node for the one that missed, as things stand now.
void GangPlacement::CountAt(const Miss& miss) {
  shortage_ = {};
  shortage_.pod = demands_[miss.demand].pod;
  shortage_.placed_before = miss.placed_before;
  shortage_.fits = miss.placed_before;
  shortage_.fits_of = miss.alone ? miss.role->size() : std::ssize(demands_);
  shortage_.fits_alike = miss.alone;
  missed_shape_ = miss.role->shape;
  missed_demand_ = miss.demand;
  if (!terms_.reasons) return;
  Shape& shape = *miss.role->shape;
  const Demand& demand = demands_[miss.demand];
  // Causes are told as things are before anybody is placed.
  if (search_.tx().checkpoint() == before_) {
    free_ = TellCauses(search_, shape, demand, true, shortage_);
  } else {
    CountRefusals(search_, shape, demand, shortage_);
  }
}

PlaceAnswer GangPlacement::Refused() {
  PlaceAnswer answer;
  answer.shortage = shortage_;
  if (!terms_.reasons) return answer;
  const Demand& demand = demands_[missed_demand_];
  if (!free_) free_ = TellCauses(search_, *missed_shape_, demand, false, shortage_);
  TellWanted(roles_, *missed_shape_, *free_, shortage_);
  answer.shortage = shortage_;
  answer.shortage.segments = LackOfSegments();
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
  for (const Attempt& way : ways) {
    std::optional<Miss> miss = Try(way);
    if (!miss && KeepsSegments()) return true;
    const bool only_segments = !miss.has_value();
    if (only_segments) miss = Miss{&roles_.front(), roles_.front().members.front(), placed_, false};
    if (missed_shape_ == nullptr && !way.preferences) {
      CountAt(*miss);
      shortage_.only_segments = only_segments;
    }
    search_.tx().RollbackTo(before_);
  }
  return false;
}

std::vector<int64_t> GangPlacement::RoomOf(const Role& role) const {
  const std::vector<int64_t>& room =
      FollowSlots(search_.Within(nullptr), *role.shape, layout_->scope.fabric).sums();
  return confined_.empty() ? room : RoomWithin(layout_->scope, room, confined_);
}

bool GangPlacement::InSegments(const Role& role) const {
  if (layout_ == nullptr || layout_->segments.choices.empty()) return false;
  return !layout_->segments.by_pods ||
         std::all_of(role.members.begin(), role.members.end(),
                     [&](size_t i) { return !demands_[i].spec->topology.segments.empty(); });
}

std::vector<NodeIndex> GangPlacement::HeldBy(const Role& role) const {
  std::vector<NodeIndex> nodes;
  for (const PlacedMember& member : terms_.placed) {
    if (!member.closed && CompareShapes(*member.spec, role.spec()) == 0)
      nodes.push_back(member.node);
  }
  return nodes;
}

// Empty: it cannot be in segments, not even in those that must be kept.
std::vector<Part> GangPlacement::SegmentsOf(const Role& role) {
  const std::vector<NodeIndex> held = HeldBy(role);
  LayoutScope scope = layout_->scope;
  const std::vector<topology::Multiples>& choices = layout_->segments.choices;
  for (size_t i = 0; i < choices.size(); ++i) {
    const topology::Multiples& choice = choices[i];
    given_up_ = std::max(given_up_, i);
    const int64_t largest = LargestOf(choice);
    if (largest <= 1) return DivideNear(layout_->scope, RoomOf(role), terms_.beside, role.size());
    if (held.empty() && role.size() % largest != 0) continue;
    scope.multiples = choice;
    std::vector<Part> parts =
        DivideInSegments(scope, RoomOf(role), CountByDomain(scope, held), role.size());
    if (!parts.empty()) return parts;
  }
  return {};
}

// However its members were placed.
bool GangPlacement::KeepsSegments() const {
  for (const Role& role : roles_) {
    if (!InSegments(role)) continue;
    LayoutScope scope = layout_->scope;
    scope.multiples = layout_->segments.choices.back();
    std::vector<NodeIndex> nodes = HeldBy(role);
    if (nodes.empty() && role.size() % LargestOf(scope.multiples) != 0) return false;
    for (const size_t i : role.members)
      nodes.push_back(search_.tx().deltas()[delta_of_[i]].placement.node);
    if (!InWholeSegments(scope, nodes)) return false;
  }
  return true;
}

std::string GangPlacement::LackOfSegments() const {
  for (const Role& role : roles_) {
    if (!InSegments(role)) continue;
    const int64_t size = LargestOf(layout_->segments.choices.back());
    if (size > 1 && HeldBy(role).empty() && role.size() % size != 0) {
      return std::to_string(role.size()) +
             " of its pods are not whole segments: " + std::to_string(role.size()) + " = " +
             std::to_string(role.size() / size) + " × " + std::to_string(size) + " + " +
             std::to_string(role.size() % size);
    }
    if (size > 1) return "it requires segments " + layout_->segments.text;
  }
  return {};
}

// So many pods that are alike, on as few nodes as can be of those that suit their devices best (no
// GPUs for pods that want none, the ring, what the kubelet will do): each one is filled, the one
// with the most room first; the last one has the least room that is enough.
// Gives how many find a node; fewer where pods share devices in a way that leaves some unused.
std::vector<NodeIndex> GangPlacement::FewestNodes(const Search& search, const Role& role,
                                                  int64_t count) const {
  struct NodeWithRoom {
    NodeIndex node;
    int64_t room = 0;
    Score score = {};
  };
  std::vector<NodeWithRoom> candidates;
  search.EachNode([&](NodeIndex node) {
    const int64_t room = PodsOn(search, *role.shape, node, count);
    const std::optional<Score> score = room > 0 ? search.ScoreOn(*role.shape, node) : std::nullopt;
    if (score) candidates.push_back({node, room, *score});
    return true;
  });
  const auto suits = [](const NodeWithRoom& one) {
    return std::tie(one.score.stray, one.score.ring, one.score.astray);
  };
  std::sort(candidates.begin(), candidates.end(),
            [&](const NodeWithRoom& a, const NodeWithRoom& b) {
              if (suits(a) != suits(b)) return suits(a) < suits(b);
              return a.room != b.room ? a.room > b.room : a.score < b.score;
            });
  std::vector<NodeIndex> nodes;
  for (auto first = candidates.begin(); count > 0 && first != candidates.end();) {
    auto best = first;
    for (auto next = std::next(first); next != candidates.end(); ++next) {
      if (suits(*next) != suits(*first) || next->room < count) break;
      if (next->room < best->room) best = next;
    }
    const int64_t here = std::min(best->room, count);
    nodes.insert(nodes.end(), static_cast<size_t>(here), best->node);
    count -= here;
    std::rotate(first, best, std::next(best));
    ++first;
  }
  return nodes;
}

// The members, in their order, in one part after the other.
bool GangPlacement::PlaceParts(const Role& role, const std::vector<size_t>& members,
                               const std::vector<Part>& parts) {
  auto member = members.begin();
  const bool alike = search_.conditions() == nullptr &&
                     std::all_of(members.begin(), members.end(),
                                 [&](size_t i) { return demands_[i].excluded.empty(); });
  for (const Part& part : parts) {
    const auto& nodes = layout_->scope.fabric->domains()[part.domain].nodes;
    const Search search = search_.Within(nodes.get());
    const std::vector<NodeIndex> fewest =
        alike ? FewestNodes(search, role, part.count) : std::vector<NodeIndex>();
    for (int64_t i = 0; i < part.count; ++i, ++member) {
      const auto at = static_cast<size_t>(i);
      NodeIndex node = at < fewest.size() ? fewest[at] : NodeIndex();
      if (!node.valid() || !search.ScoreOn(*role.shape, node))
        node = FindFor(search, role, *member);
      if (!PlaceAt(role, *member, node)) return false;
    }
  }
  return !parts.empty();
}

// As things stand. Empty: it cannot be.
std::vector<Part> GangPlacement::PartsOf(const Role& role, const std::vector<NodeIndex>& there) {
  return InSegments(role) ? SegmentsOf(role)
                          : DivideNear(layout_->scope, RoomOf(role), there, role.size());
}

bool GangPlacement::PlaceDivided(const Role& role, std::vector<NodeIndex>& there) {
  std::vector<size_t> members = role.members;
  const std::vector<Part> parts = PartsOf(role, there);
  if (InSegments(role)) {
    std::sort(members.begin(), members.end(), [&](size_t a, size_t b) {
      return std::pair(demands_[a].rank, a) < std::pair(demands_[b].rank, b);
    });
  }
  if (!PlaceParts(role, members, parts)) return false;
  for (const size_t i : members)
    there.push_back(search_.tx().deltas()[delta_of_[i]].placement.node);
  return true;
}

bool GangPlacement::Laid() {
  Begin(DeviceOrderOf(search_.strategy()));
  std::vector<NodeIndex> there = terms_.beside;
  for (const Role& role : roles_) {
    if (PlaceDivided(role, there)) continue;
    search_.tx().RollbackTo(before_);
    return false;
  }
  return true;
}

void GangPlacement::ConfineTo(const std::vector<Spot>& spots) {
  search_.tx().RollbackTo(before_);
  confined_.clear();
  for (const Spot& spot : spots) confined_.push_back(spot.domain);
}

bool GangPlacement::LaidWithin(const std::vector<Spot>& spots) {
  ConfineTo(spots);
  return Laid();
}

std::vector<NodeIndex> GangPlacement::Nodes() const {
  std::vector<NodeIndex> nodes;
  nodes.reserve(delta_of_.size());
  for (const size_t delta : delta_of_) nodes.push_back(search_.tx().deltas()[delta].placement.node);
  return nodes;
}

// The roles' rooms before anybody is placed.
std::vector<RoleRoom> GangPlacement::Rooms() const {
  std::vector<RoleRoom> rooms;
  rooms.reserve(roles_.size());
  for (const Role& role : roles_) rooms.push_back({RoomOf(role), role.size()});
  return rooms;
}

// `laid` is how it lies at first. Lays it out again by `again`, which gives whether it fits, where
// it then uses fewer domains.
void GangPlacement::Narrow(std::vector<RoleRoom> rooms,
                           const std::function<bool(const std::vector<Spot>&)>& again) {
  const size_t given_up = given_up_;
  bool laid = true;
  std::vector<Spot> last;
  const auto place = [&](const std::vector<Spot>& spots) {
    last = spots;
    laid = again(spots);
    return laid && given_up_ <= given_up ? Nodes() : std::vector<NodeIndex>();
  };
  const size_t most = std::min(kMostLayouts, kMostLaid / demands_.size());
  const std::vector<Spot> best =
      Narrowing(layout_->scope, std::move(rooms)).Best(Nodes(), most, place);
  if (!laid || last != best) again(best);
}

bool GangPlacement::Divides() const { return layout_ != nullptr && layout_->divided; }

bool GangPlacement::MayNarrow() const {
  return Divides() && demands_.size() > 1 && terms_.beside.empty();
}

// Of a gang of one role the counts of its parts say all that its nodes would, so it is placed once.
// One node of each part; empty: it cannot be, or some part is not in a domain of the innermost
// level.
std::vector<NodeIndex> GangPlacement::NodesOfParts() {
  given_up_ = 0;
  const std::vector<Part> parts = PartsOf(roles_.front(), terms_.beside);
  std::vector<NodeIndex> nodes;
  nodes.reserve(parts.size());
  const topology::Fabric& fabric = *layout_->scope.fabric;
  for (const Part& part : parts) {
    const topology::FabricDomain& domain = fabric.domains()[part.domain];
    if (domain.level.level != fabric.InnermostLevel(layout_->scope.tree)) return {};
    nodes.push_back(domain.nodes->first());
  }
  return nodes;
}

bool GangPlacement::NarrowedByCount(const std::vector<RoleRoom>& rooms) {
  if (roles_.size() > 1) return false;
  const std::vector<NodeIndex> nodes = NodesOfParts();
  if (nodes.empty()) return false;
  const size_t given_up = given_up_;
  const auto place = [&](const std::vector<Spot>& spots) {
    ConfineTo(spots);
    const std::vector<NodeIndex> there = NodesOfParts();
    return given_up_ <= given_up ? there : std::vector<NodeIndex>();
  };
  ConfineTo(Narrowing(layout_->scope, rooms).Best(nodes, kMostLayouts, place));
  if (Laid()) return true;
  confined_.clear();
  return false;
}

bool GangPlacement::PlacedByLayout() {
  if (!Divides()) return false;
  if (!MayNarrow()) return Laid();
  std::vector<RoleRoom> rooms = Rooms();
  if (NarrowedByCount(rooms)) return true;
  if (!Laid()) return false;
  Narrow(std::move(rooms), [&](const std::vector<Spot>& spots) { return LaidWithin(spots); });
  return true;
}

// Each pod on the best node of those spots, of all nodes where there are none.
bool GangPlacement::PlacedAmong(const std::vector<Spot>& spots) {
  search_.tx().RollbackTo(before_);
  cluster::NodeSet nodes;
  for (const Spot& spot : spots) {
    if (spot.domain == topology::kNoDomain) {
      nodes.Add(spot.node);
      continue;
    }
    const cluster::NodeSet& domain = *layout_->scope.fabric->domains()[spot.domain].nodes;
    search_.Within(&domain).EachNode([&](NodeIndex node) {
      nodes.Add(node);
      return true;
    });
  }
  among_ = spots.empty() ? nullptr : &nodes;
  const bool placed =
      !Try({false, RoleOrder::kMostGpus, DeviceOrderOf(search_.strategy())}) && KeepsSegments();
  among_ = nullptr;
  if (!placed) search_.tx().RollbackTo(before_);
  return placed;
}

// Where the domains below do not hold it, nodes that are in none of them count as well.
bool GangPlacement::PlacedAnywhere() {
  if (!PlacedIn({{false, RoleOrder::kMostGpus, DeviceOrderOf(search_.strategy())}})) return false;
  if (!MayNarrow() || demands_.size() > kMostLaid) return true;
  search_.tx().RollbackTo(before_);
  std::vector<RoleRoom> rooms = Rooms();
  const topology::Fabric& fabric = *layout_->scope.fabric;
  const topology::LevelRef innermost{
      layout_->scope.tree, LevelsOf(fabric.options().trees[layout_->scope.tree]).size() - 1};
  search_.EachNode([&](NodeIndex node) {
    if (fabric.Of(innermost, node) != topology::kNoDomain) return true;
    for (size_t i = 0; i < roles_.size(); ++i)
      rooms[i].lone[node] = PodsOn(search_, *roles_[i].shape, node, roles_[i].size());
    return true;
  });
  PlacedAmong({});
  Narrow(std::move(rooms), [&](const std::vector<Spot>& spots) { return PlacedAmong(spots); });
  return true;
}

// The same nodes and devices are taken by other members of the same role.
void GangPlacement::OrderByRank() {
  if (layout_ == nullptr || demands_.size() < 2) return;
  std::vector<std::pair<size_t, size_t>> moves;  // demand, delta
  const auto node_of = [&](size_t demand) {
    return search_.tx().deltas()[delta_of_[demand]].placement.node;
  };
  for (const Role& role : roles_) {
    std::vector<RankedPod> pods;
    pods.reserve(role.members.size());
    for (const size_t i : role.members) {
      const Demand& demand = demands_[i];
      const bool stays = !demand.excluded.empty() || demand.preferred == node_of(i) ||
                         (search_.conditions() != nullptr &&
                          !search_.conditions()->Alike(demands_[role.members.front()], demand));
      pods.push_back({i, demand.rank, node_of(i), delta_of_[i], stays});
    }
    for (const auto& [place, pod] :
         ByRank(*layout_->scope.fabric, layout_->scope.tree, std::move(pods))) {
      if (place != pod) moves.emplace_back(pod, delta_of_[place]);
    }
  }
  for (const auto& [demand, delta] : moves) {
    search_.tx().Rename(delta, demands_[demand].pod);
    delta_of_[demand] = delta;
  }
}

PlaceAnswer GangPlacement::Run() {
  // 1. hardest roles first
  SortRoles(RoleOrder::kMostGpus);
  // 2. what cannot be is not tried
  if (const auto miss = FirstTooManyAlone()) {
    CountAt(*miss);
    return Refused();
  }
  // 3. the whole gang
  const DeviceOrder devices = DeviceOrderOf(search_.strategy());
  if ((SomePrefer() && PlacedIn({{true, RoleOrder::kMostGpus, devices}})) || PlacedByLayout() ||
      PlacedAnywhere() || PlacedTogether() || PlacedIn(OtherWays())) {
    AlignRails();
    OrderByRank();
    return Placed();
  }
  // 4. why not
  return Refused();
}

}  // namespace muster::policy
