// GangPlacement: all pods of a gang placed within one Search, or none (internal to policy/).
//
// 1. Where the pods have preferred nodes, those are tried first.
// 2. With a layout: each role, the hardest first, is divided over the domains below (layout.hpp);
//    roles and members beside go into the domains that the gang has already, if there is room.
//    Where that uses more domains than it might, it is tried within fewer of them (narrowing.hpp).
// 3. Else, and where that fails for some pod, each pod takes the best node of all; with a layout of
//    few domains, nodes that are in none counting as one each.
// 4. A role in segments takes its places in the order of rank, segment by segment; whatever way it
//    was placed in, it is not placed where the segments that must be kept are not.
// 5. With a layout, members of a role that may have each other's nodes get them in the order of
//    rank: neighbours in rank are neighbours in the fabric (rank_order.hpp).
// 6. Where pods demand something of each other (pod_conditions.hpp), each member is asked about by
//    itself. Which domain those that are to be together get is tried, the one with most room first;
//    it is not searched for who else might go elsewhere.
// 7. Members get GPUs beside the same NICs (gang_rails.hpp), whatever way they get their nodes in.
//    When all have their nodes the GPUs on them are chosen again where that makes the gang use
//    fewer NICs: one node after the other chooses first, the one with the fewest free GPUs before
//    others.
//
// One thread, one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/domains/layout.hpp"
#include "policy/domains/narrowing.hpp"
#include "policy/gpu_links/gang_rails.hpp"
#include "policy/search/devices.hpp"
#include "policy/search/roles.hpp"
#include "policy/search/room.hpp"
#include "policy/search/search.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/terms/place_answer.hpp"

namespace muster::policy {

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
  bool alone;  // `placed_before` counts its role, placed by itself
};

struct GangLayout {
  LayoutScope scope;  // without multiples
  const Segments& segments;
  bool divided = true;  // false: only members' order by rank follows the tree
};

class GangPlacement {
 public:
  // `layout`: below which domain the gang is divided; null: it is not.
  GangPlacement(const Search& search, const std::vector<Demand>& demands, std::vector<Role> roles,
                const GangLayout* layout, const GangTerms& terms)
      : search_(search),
        demands_(demands),
        roles_(std::move(roles)),
        layout_(layout),
        terms_(terms),
        before_(search.tx().checkpoint()),
        delta_of_(demands.size()) {}

  PlaceAnswer Run();

 private:
  bool SomePrefer() const;
  std::vector<Attempt> OtherWays() const;
  bool PlacedIn(const std::vector<Attempt>& ways);
  bool PlacedByLayout();
  bool Laid();
  std::vector<cluster::NodeIndex> Nodes() const;
  void ConfineTo(const std::vector<Spot>& spots);
  bool LaidWithin(const std::vector<Spot>& spots);
  bool PlacedAmong(const std::vector<Spot>& spots);
  bool PlacedAnywhere();
  bool Divides() const;
  bool MayNarrow() const;
  std::vector<RoleRoom> Rooms() const;
  std::vector<cluster::NodeIndex> NodesOfParts();
  bool NarrowedByCount(const std::vector<RoleRoom>& rooms);
  void Narrow(std::vector<RoleRoom> rooms,
              const std::function<bool(const std::vector<Spot>&)>& again);
  std::vector<Part> PartsOf(const Role& role, const std::vector<cluster::NodeIndex>& there);
  bool PlaceDivided(const Role& role, std::vector<cluster::NodeIndex>& there);
  std::vector<cluster::NodeIndex> FewestNodes(const Search& search, const Role& role,
                                              int64_t count) const;
  bool PlaceParts(const Role& role, const std::vector<size_t>& members,
                  const std::vector<Part>& parts);
  std::vector<int64_t> RoomOf(const Role& role) const;
  bool InSegments(const Role& role) const;
  std::vector<cluster::NodeIndex> HeldBy(const Role& role) const;
  std::vector<Part> SegmentsOf(const Role& role);
  bool KeepsSegments() const;
  std::string LackOfSegments() const;
  std::optional<Miss> FirstTooManyAlone() const;
  void Begin(DeviceOrder devices);
  GangRails* RailsOn(cluster::NodeIndex node);
  struct Step {
    const Role* role;
    size_t demand;
    cluster::NodeIndex node;
  };
  std::vector<cluster::NodeIndex> RailLeaders(const std::vector<Step>& steps) const;
  bool PlaceAgain(const std::vector<Step>& steps, cluster::NodeIndex leader);
  void AlignRails();
  void SortRoles(RoleOrder order);
  cluster::NodeIndex FindFor(const Search& search, const Role& role, size_t demand) const;
  std::vector<bool> Near(bool all) const;
  bool PlacedTogether();
  std::optional<Miss> Try(const Attempt& attempt);
  bool PlaceAt(const Role& role, size_t demand, cluster::NodeIndex node);
  void PlacePreferred();
  void OrderByRank();
  void CountAt(const Miss& miss);
  PlaceAnswer Refused();
  PlaceAnswer Placed() const;

  static constexpr size_t kNotPlaced = SIZE_MAX;
  // So many more layouts are tried at most, and so many pods placed for them.
  static constexpr size_t kMostLayouts = 16;
  static constexpr size_t kMostLaid = 1024;
  // Of the members that had their nodes before so many say which NICs the gang uses elsewhere.
  static constexpr size_t kMostRailed = 64;
  // So many nodes are tried as the one whose NICs the others follow.
  static constexpr size_t kMostLeaders = 8;

  const Search& search_;
  const std::vector<Demand>& demands_;
  std::vector<Role> roles_;
  const GangLayout* const layout_;
  const GangTerms& terms_;
  const size_t before_;
  DeviceOrder devices_ = DeviceOrder::kTightest;  // of the attempt
  std::vector<topology::DomainId> confined_;      // to which layouts are; empty: to the scope
  const cluster::NodeSet* among_ = nullptr;       // of an attempt; null: all nodes
  // As among_, for the demands marked in near_: pods with affinity, and those it looks for.
  const cluster::NodeSet* together_ = nullptr;
  std::vector<bool> near_ = {};
  std::vector<size_t> delta_of_;  // by demand: position among the transaction's deltas
  GangRails rails_;               // of members that have their nodes
  bool rails_known_ = false;      // those that had them before are among these
  int64_t placed_ = 0;
  size_t given_up_ = 0;              // layers of preferred segments, by the layout
  Shortage shortage_;                // of the attempt that is reported
  std::optional<GpuMilliSum> free_;  // of GPUs, beside its causes; nothing: these are not told
  Shape* missed_shape_ = nullptr;
  size_t missed_demand_ = 0;
};

}  // namespace muster::policy
