#include "policy/layout.hpp"

#include <algorithm>
#include <numeric>
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
  std::vector<int64_t> used;  // Division::used for an equal share; empty for a leaf
};

class Divider {
 public:
  Divider(const Fabric& fabric, const std::vector<int64_t>& room) : fabric_(fabric), room_(room) {}

  std::optional<Division> Over(const std::vector<DomainId>& domains, int64_t count) const;

 private:
  std::optional<Division> In(DomainId domain, int64_t count) const;
  std::vector<std::pair<DomainId, int64_t>> Shares(std::vector<Child> children,
                                                   int64_t count) const;

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

std::vector<std::pair<DomainId, int64_t>> Divider::Shares(std::vector<Child> children,
                                                          int64_t count) const {
  const int64_t fewest = FewestFor(children, count);
  if (fewest == 0) return {};
  const int64_t share = (count + fewest - 1) / fewest;
  const auto holds = [&](const Child& child) { return child.room >= share; };
  if (std::count_if(children.begin(), children.end(), holds) >= fewest) {
    std::erase_if(children, [&](const Child& child) { return !holds(child); });
    for (Child& child : children) {
      if (const auto division = In(child.id, share)) child.used = division->used;
    }
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
  std::vector<std::pair<DomainId, int64_t>> shares;
  for (size_t i = 0; i < children.size(); ++i) {
    const auto left = static_cast<int64_t>(children.size() - i);
    const int64_t here = std::min(children[i].room, (count + left - 1) / left);
    shares.emplace_back(children[i].id, here);
    count -= here;
  }
  std::sort(shares.begin(), shares.end());
  return shares;
}

std::optional<Division> Divider::Over(const std::vector<DomainId>& domains, int64_t count) const {
  std::vector<Child> children;
  for (const DomainId id : domains) {
    if (room_[id] > 0) children.push_back({id, room_[id], {}});
  }
  const auto shares = Shares(std::move(children), count);
  if (shares.empty()) return std::nullopt;
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
  Division whole;
  whole.leaves.emplace_back(domain, count);
  return whole;
}

}  // namespace

const std::vector<DomainId>& DomainsBelow(const LayoutScope& scope) {
  return scope.domain == topology::kNoDomain ? scope.fabric.Outermost(scope.tree)
                                             : scope.fabric.domains()[scope.domain].children;
}

std::vector<Part> Divide(const LayoutScope& scope, const std::vector<int64_t>& room,
                         int64_t count) {
  const Divider divider(scope.fabric, room);
  std::vector<Part> parts;
  if (count < 1) return parts;
  const auto division = divider.Over(DomainsBelow(scope), count);
  if (!division) return parts;
  for (const auto& [domain, share] : division->leaves)
    parts.push_back({scope.fabric.domains()[domain].nodes, share});
  return parts;
}

}  // namespace muster::policy
