// Narrowing: sets of domains to which a gang is confined so that it may use fewer of them (internal
// to policy/).
//
// Divide counts one role at a time, and the share of a domain before it looks inside. So a gang may
// use more domains than it must: where its roles get in each other's way, or equal shares do not
// fit the domains below. Level by level, the outermost first, it is confined to those with the most
// room: to as few as could hold each role by itself, then to one more, as long as that is fewer
// than it uses. Where none of this helps the domains that it uses stay.
//
// One call, one thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "cluster/base/ids.hpp"
#include "policy/domains/layout.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

// Of one role, the hardest first.
struct RoleRoom {
  std::vector<int64_t> room;  // by DomainId, before anybody is placed
  int64_t count = 0;
  // On nodes that are in no domain of some level. Empty: nobody is to be placed there.
  std::map<cluster::NodeIndex, int64_t> lone = {};
};

// A domain, or a node that is in none of its level.
struct Spot {
  topology::DomainId domain = topology::kNoDomain;
  cluster::NodeIndex node = {};  // where there is no domain
  auto operator<=>(const Spot&) const = default;
};

// How a gang lies in the scope: the lower the better.
using DomainCounts = std::vector<int64_t>;  // by level below the scope: how many domains

class Narrowing {
 public:
  Narrowing(const LayoutScope& scope, std::vector<RoleRoom> roles);

  // Of pods on these nodes, some of them perhaps named more than once. A node that is in no domain
  // of a level is one of its own.
  DomainCounts CountsOver(const std::vector<cluster::NodeIndex>& nodes) const;
  // Places the gang again within those spots; gives its nodes, none where it does not fit.
  using Place = std::function<std::vector<cluster::NodeIndex>(const std::vector<Spot>&)>;
  // `nodes`: where the gang is without a set. Gives the best set; empty: none is better than that.
  std::vector<Spot> Best(std::vector<cluster::NodeIndex> nodes, size_t most_tries,
                         const Place& place) const;

 private:
  Spot SpotOf(size_t level, cluster::NodeIndex node) const;
  int64_t RoomIn(const RoleRoom& role, const Spot& spot) const;
  // Those of that level, within those of the level outside (level 0: within the scope), the ones
  // with the most room first.
  std::vector<Spot> CandidatesAt(size_t level, const std::vector<Spot>& within) const;
  // So many of the candidates could hold each role by itself; 0: not even all.
  size_t FewestOf(const std::vector<Spot>& candidates) const;
  // Ordered, distinct.
  std::vector<Spot> UsedAt(size_t level, const std::vector<cluster::NodeIndex>& nodes) const;

  const LayoutScope& scope_;
  std::vector<RoleRoom> roles_;
  // The levels below the scope that have domains, the outermost first.
  std::vector<size_t> levels_;
};

}  // namespace muster::policy
