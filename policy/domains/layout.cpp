#include "policy/domains/layout.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace muster::policy {

using topology::DomainId;
using topology::Fabric;

namespace {

// What it takes to hold so many pods in one domain.
struct Division {
  std::vector<int64_t> used;  // domains, by level below it, the outermost first
  std::vector<std::pair<DomainId, int64_t>> leaves;
};

struct Child {
  DomainId id = 0;
  int64_t room = 0;
  std::vector<int64_t> used;  // Division::used for its share; empty for a leaf
};

using Shares = std::vector<std::pair<DomainId, int64_t>>;

int64_t RoundUp(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Of what the share of that domain must be a multiple.
int64_t MultipleOf(const LayoutScope& scope, DomainId domain) {
  const size_t level = scope.fabric->domains()[domain].level.level;
  return level < scope.multiples.size() ? scope.multiples[level] : 1;
}

// Above 1: its pods are to be in domains below it, and if there are none it holds no pods.
int64_t MultipleBelow(const LayoutScope& scope, DomainId domain) {
  const size_t level =
      domain == topology::kNoDomain ? 0 : scope.fabric->domains()[domain].level.level + 1;
  return level < scope.multiples.size() ? scope.multiples[level] : 1;
}

class Divider {
 public:
  // `room`: for whole segments.
  Divider(const LayoutScope& scope, const std::vector<int64_t>& room)
      : scope_(scope), fabric_(*scope.fabric), room_(room) {}

  std::optional<Division> Over(const std::vector<DomainId>& domains, int64_t count) const;

 private:
  std::optional<Division> In(DomainId domain, int64_t count) const;
  void CountUsed(Child& child, int64_t share) const;
  // Of `count`, over so many of the children, which are the fewest that hold it.
  Shares EvenShares(std::vector<Child> children, int64_t fewest, int64_t count) const;
  Shares PackedShares(std::vector<Child> children, int64_t fewest, int64_t count) const;

  const LayoutScope& scope_;
  const Fabric& fabric_;
  const std::vector<int64_t>& room_;
};

// So many of the largest are needed; 0: all of them are too few.
int64_t FewestFor(const std::vector<Child>& children, int64_t count) {
  std::vector<int64_t> rooms;
  rooms.reserve(children.size());
  for (const Child& child : children) rooms.push_back(child.room);
  std::sort(rooms.rbegin(), rooms.rend());
  int64_t sum = 0;
  for (size_t i = 0; i < rooms.size(); ++i) {
    sum += rooms[i];
    if (sum >= count) return static_cast<int64_t>(i) + 1;
  }
  return 0;
}

void Divider::CountUsed(Child& child, int64_t share) const {
  const auto division = In(child.id, share);
  child.used = division ? division->used : std::vector<int64_t>();
}

Shares Divider::EvenShares(std::vector<Child> children, int64_t fewest, int64_t count) const {
  const int64_t multiple = MultipleOf(scope_, children.front().id);
  const int64_t share = RoundUp((count + fewest - 1) / fewest, multiple);
  const auto holds = [&](const Child& child) { return child.room >= share; };
  if (std::count_if(children.begin(), children.end(), holds) >= fewest) {
    std::erase_if(children, [&](const Child& child) { return !holds(child); });
    for (Child& child : children) CountUsed(child, share);
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return std::tie(a.used, a.room, a.id) < std::tie(b.used, b.room, b.id);
    });
  } else {
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return std::tuple(-a.room, a.id) < std::tuple(-b.room, b.id);
    });
  }
  children.resize(static_cast<size_t>(fewest));
  // Those with the least room first: the others share what they cannot hold.
  std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
    return std::tie(a.room, a.id) < std::tie(b.room, b.id);
  });
  Shares shares;
  for (size_t i = 0; i < children.size(); ++i) {
    const auto left = static_cast<int64_t>(children.size() - i);
    const int64_t fair = RoundUp((count + left - 1) / left, multiple);
    const int64_t here = std::min({children[i].room, fair, count});
    if (here == 0) continue;
    shares.emplace_back(children[i].id, here);
    count -= here;
  }
  return shares;
}

Shares Divider::PackedShares(std::vector<Child> children, int64_t fewest, int64_t count) const {
  std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
    return std::tuple(-a.room, a.id) < std::tuple(-b.room, b.id);
  });
  Shares shares;
  const auto filled = children.begin() + (fewest - 1);
  if (filled != children.begin()) {
    const int64_t least = std::prev(filled)->room;
    for (Child& child : children) {
      if (child.room >= least) CountUsed(child, child.room);
    }
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return a.room != b.room ? a.room > b.room : std::tie(a.used, a.id) < std::tie(b.used, b.id);
    });
    for (auto child = children.begin(); child != filled; ++child) {
      shares.emplace_back(child->id, child->room);
      count -= child->room;
    }
    children.erase(children.begin(), filled);
  }
  std::erase_if(children, [&](const Child& child) { return child.room < count; });
  for (Child& child : children) CountUsed(child, count);
  const auto last =
      std::min_element(children.begin(), children.end(), [](const Child& a, const Child& b) {
        return std::tie(a.used, a.room, a.id) < std::tie(b.used, b.room, b.id);
      });
  shares.emplace_back(last->id, count);
  return shares;
}

std::optional<Division> Divider::Over(const std::vector<DomainId>& domains, int64_t count) const {
  std::vector<Child> children;
  for (const DomainId id : domains) {
    if (room_[id] > 0) children.push_back({id, room_[id], {}});
  }
  const int64_t fewest = FewestFor(children, count);
  if (fewest == 0) return std::nullopt;
  Shares shares = scope_.packed ? PackedShares(std::move(children), fewest, count)
                                : EvenShares(std::move(children), fewest, count);
  std::sort(shares.begin(), shares.end());
  Division division;
  division.used.push_back(static_cast<int64_t>(shares.size()));
  for (const auto& [id, share] : shares) {
    std::optional<Division> inner = In(id, share);
    if (!inner) return std::nullopt;
    division.used.resize(std::max(division.used.size(), inner->used.size() + 1));
    for (size_t i = 0; i < inner->used.size(); ++i) division.used[i + 1] += inner->used[i];
    division.leaves.insert(division.leaves.end(), inner->leaves.begin(), inner->leaves.end());
  }
  return division;
}

// Where the domains below do not hold them all, it is taken as a whole.
std::optional<Division> Divider::In(DomainId domain, int64_t count) const {
  const std::vector<DomainId>& children = fabric_.domains()[domain].children;
  if (!children.empty()) {
    if (auto division = Over(children, count)) return division;
  }
  if (MultipleBelow(scope_, domain) > 1) return std::nullopt;
  Division whole;
  whole.leaves.emplace_back(domain, count);
  return whole;
}

// Those of the outermost level below the scope.
const std::vector<DomainId>& DomainsBelow(const LayoutScope& scope) {
  return scope.domain == topology::kNoDomain ? scope.fabric->Outermost(scope.tree)
                                             : scope.fabric->domains()[scope.domain].children;
}

// How many pods find room in whole segments.
std::vector<int64_t> RoomForWhole(const LayoutScope& scope, const std::vector<int64_t>& room) {
  std::vector<int64_t> whole = room;
  const auto& domains = scope.fabric->domains();
  for (size_t id = domains.size(); id-- > 0;) {  // those below a domain come after it
    if (domains[id].level.tree != scope.tree) continue;
    if (MultipleBelow(scope, static_cast<DomainId>(id)) > 1) {
      whole[id] = 0;
      for (const DomainId child : domains[id].children) whole[id] += whole[child];
    }
    const int64_t multiple = MultipleOf(scope, static_cast<DomainId>(id));
    whole[id] = std::max<int64_t>(whole[id], 0) / multiple * multiple;
  }
  return whole;
}

bool IsWithin(const LayoutScope& scope, DomainId domain) {
  if (scope.domain == topology::kNoDomain) return true;
  while (domain != topology::kNoDomain && domain != scope.domain)
    domain = scope.fabric->domains()[domain].parent;
  return domain == scope.domain;
}

// It has no node in common with the scope.
bool IsBeside(const LayoutScope& scope, DomainId domain) {
  if (IsWithin(scope, domain)) return false;
  LayoutScope of = scope;
  of.domain = domain;
  return !IsWithin(of, scope.domain);
}

// Fills room with pods of one role, segment by segment.
class SegmentFiller {
 public:
  SegmentFiller(const LayoutScope& scope, std::vector<int64_t>& room, std::vector<int64_t>& held,
                int64_t count)
      : scope_(scope), room_(room), held_(held), count_(count) {}

  bool FillPartial();
  bool FillRest() { return Take(scope_.domain, count_); }
  std::vector<Part> InOrder() &&;

 private:
  bool Take(DomainId within, int64_t count);

  const LayoutScope& scope_;
  std::vector<int64_t>& room_;
  std::vector<int64_t>& held_;
  int64_t count_;  // that have no place yet
  std::vector<Part> parts_;
};

bool SegmentFiller::Take(DomainId within, int64_t count) {
  if (count == 0) return true;
  LayoutScope inner = scope_;
  inner.domain = within;
  const int64_t multiple = MultipleBelow(inner, within);
  const int64_t whole = RoundUp(count, multiple);
  std::vector<Part> parts = Divide(inner, room_, whole);
  if (parts.empty()) {
    if (multiple > 1 || within == topology::kNoDomain || room_[within] < count) return false;
    parts.push_back({within, count});
  }
  parts.back().count -= whole - count;  // less than one segment, and its part is one at least
  for (const Part& part : parts) {
    for (DomainId id = part.domain; id != topology::kNoDomain;
         id = scope_.fabric->domains()[id].parent) {
      room_[id] -= part.count;
      held_[id] += part.count;
    }
  }
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  count_ -= count;
  return true;
}

bool SegmentFiller::FillPartial() {
  for (size_t level = scope_.multiples.size(); level-- > 0;) {
    const int64_t multiple = scope_.multiples[level];
    const Fabric::Range range = scope_.fabric->At({scope_.tree, level});
    for (DomainId id = range.first; id < range.last && multiple > 1; ++id) {
      if (held_[id] % multiple == 0) continue;
      if (IsBeside(scope_, id)) return false;  // who comes next belongs there
      if (!IsWithin(scope_, id)) continue;
      if (!Take(id, std::min(multiple - held_[id] % multiple, count_))) return false;
    }
  }
  return true;
}

// A domain's parts together, and domains as their nodes lie in the fabric.
std::vector<Part> SegmentFiller::InOrder() && {
  std::map<std::vector<DomainId>, Part> by_path;
  for (const Part& part : parts_) {
    std::vector<DomainId> path;
    for (DomainId id = part.domain; id != topology::kNoDomain;
         id = scope_.fabric->domains()[id].parent)
      path.insert(path.begin(), id);
    Part& sum = by_path.try_emplace(std::move(path), Part{part.domain, 0}).first->second;
    sum.count += part.count;
  }
  std::vector<Part> parts;
  parts.reserve(by_path.size());
  for (const auto& [path, part] : by_path) parts.push_back(part);
  return parts;
}

// The room in the innermost domains that those nodes are in, and none elsewhere.
std::vector<int64_t> RoomNear(const LayoutScope& scope, const std::vector<int64_t>& room,
                              const std::vector<cluster::NodeIndex>& nodes) {
  std::vector<DomainId> innermost;
  for (const cluster::NodeIndex node : nodes) {
    const DomainId id = scope.fabric->Innermost(scope.tree, node);
    if (id != topology::kNoDomain) innermost.push_back(id);
  }
  std::sort(innermost.begin(), innermost.end());
  innermost.erase(std::unique(innermost.begin(), innermost.end()), innermost.end());
  std::vector<int64_t> near(room.size());
  for (const DomainId inner : innermost) {
    for (DomainId id = inner; id != topology::kNoDomain; id = scope.fabric->domains()[id].parent)
      near[id] += room[inner];
  }
  return near;
}

}  // namespace

std::vector<Part> Divide(const LayoutScope& scope, const std::vector<int64_t>& room,
                         int64_t count) {
  std::vector<Part> parts;
  if (count < 1) return parts;
  if (scope.domain != topology::kNoDomain && DomainsBelow(scope).empty()) {
    if (room[scope.domain] >= count && MultipleBelow(scope, scope.domain) <= 1)
      parts.push_back({scope.domain, count});
    return parts;
  }
  const std::vector<int64_t> whole =
      scope.multiples.empty() ? std::vector<int64_t>() : RoomForWhole(scope, room);
  const Divider divider(scope, scope.multiples.empty() ? room : whole);
  const auto division = divider.Over(DomainsBelow(scope), count);
  if (!division) return parts;
  parts.reserve(division->leaves.size());
  for (const auto& [domain, share] : division->leaves) parts.push_back({domain, share});
  return parts;
}

std::vector<Part> DivideNear(const LayoutScope& scope, const std::vector<int64_t>& room,
                             const std::vector<cluster::NodeIndex>& nodes, int64_t count) {
  const std::vector<int64_t> near = RoomNear(scope, room, nodes);
  int64_t room_near = 0;
  for (const DomainId id : DomainsBelow(scope)) room_near += near[id];
  std::vector<Part> parts = Divide(scope, near, std::min(count, room_near));
  if (parts.empty()) return Divide(scope, room, count);
  if (room_near >= count) return parts;
  std::vector<int64_t> far = room;
  for (size_t id = 0; id < far.size(); ++id) far[id] -= std::min(near[id], far[id]);
  const std::vector<Part> others = Divide(scope, far, count - room_near);
  if (others.empty()) return {};
  parts.insert(parts.end(), others.begin(), others.end());
  return parts;
}

std::vector<Part> DivideInSegments(const LayoutScope& scope, std::vector<int64_t> room,
                                   std::vector<int64_t> held, int64_t count) {
  SegmentFiller filler(scope, room, held, count);
  if (!filler.FillPartial() || !filler.FillRest()) return {};
  return std::move(filler).InOrder();
}

std::vector<int64_t> RoomWithin(const LayoutScope& scope, const std::vector<int64_t>& room,
                                const std::vector<DomainId>& domains) {
  std::vector<int64_t> within(room.size());
  for (const DomainId domain : domains) {
    for (DomainId id = domain; id != topology::kNoDomain; id = scope.fabric->domains()[id].parent)
      within[id] += room[domain];
  }
  std::vector<DomainId> below = domains;
  while (!below.empty()) {
    const DomainId domain = below.back();
    below.pop_back();
    for (const DomainId child : scope.fabric->domains()[domain].children) {
      within[child] = room[child];
      below.push_back(child);
    }
  }
  return within;
}

std::vector<int64_t> CountByDomain(const LayoutScope& scope,
                                   const std::vector<cluster::NodeIndex>& nodes) {
  std::vector<int64_t> counts(scope.fabric->domains().size());
  for (const cluster::NodeIndex node : nodes) {
    for (DomainId id = scope.fabric->Innermost(scope.tree, node); id != topology::kNoDomain;
         id = scope.fabric->domains()[id].parent)
      ++counts[id];
  }
  return counts;
}

bool InWholeSegments(const LayoutScope& scope, const std::vector<cluster::NodeIndex>& nodes) {
  const std::vector<int64_t> counts = CountByDomain(scope, nodes);
  const size_t first = scope.domain == topology::kNoDomain
                           ? 0
                           : scope.fabric->domains()[scope.domain].level.level + 1;
  for (size_t level = first; level < scope.multiples.size(); ++level) {
    if (scope.multiples[level] <= 1) continue;
    for (const cluster::NodeIndex node : nodes) {
      const DomainId id = scope.fabric->Of({scope.tree, level}, node);
      const bool within = IsWithin(scope, scope.fabric->Innermost(scope.tree, node));
      if (id == topology::kNoDomain ? within : counts[id] % scope.multiples[level] != 0)
        return false;
    }
  }
  return true;
}

}  // namespace muster::policy
