// GangPlacement: all pods of a gang placed within one Search, or none (internal to policy/).
//
// 1. Where the pods have preferred nodes, those are tried first.
// 2. With a layout: each role, the hardest first, is divided over the domains below (layout.hpp);
//    roles and members beside go into the domains that the gang has already, if there is room.
// 3. Else, and where that fails for some pod, each pod takes the best node of all.
// 4. With a layout, members of a role that may have each other's nodes get them in the order of
//    rank: neighbours in rank are neighbours in the fabric (rank_order.hpp).
//
// One thread, one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "policy/devices.hpp"
#include "policy/layout.hpp"
#include "policy/placement.hpp"
#include "policy/roles.hpp"
#include "policy/search.hpp"

namespace muster::policy {

// Where below a gang is divided.
struct GangLayout {
  std::shared_ptr<const topology::Fabric> fabric;
  size_t tree = 0;
  topology::DomainId domain = topology::kNoDomain;  // the one in which all of it is
  const std::vector<cluster::NodeIndex>& beside;    // GangTerms::beside
};

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

class GangPlacement {
 public:
  // `layout`: null for none.
  GangPlacement(const Search& search, const std::vector<Demand>& demands, std::vector<Role> roles,
                const GangLayout* layout)
      : search_(search),
        demands_(demands),
        roles_(std::move(roles)),
        layout_(layout),
        before_(search.tx().checkpoint()),
        delta_of_(demands.size()) {}

  PlaceAnswer Run();

 private:
  bool SomePrefer() const;
  std::vector<Attempt> OtherWays() const;
  bool PlacedIn(const std::vector<Attempt>& ways);
  bool PlacedByLayout();
  bool PlaceDivided(const Role& role, std::vector<cluster::NodeIndex>& there);
  std::optional<Miss> FirstTooManyAlone() const;
  void Begin(DeviceOrder devices);
  std::optional<Miss> Try(const Attempt& attempt);
  bool PlaceAt(const Role& role, size_t demand, cluster::NodeIndex node);
  void PlacePreferred();
  void OrderByRank();
  void CountAt(const Miss& miss);
  PlaceAnswer Refused();
  PlaceAnswer Placed() const;

  static constexpr size_t kNotPlaced = SIZE_MAX;

  const Search& search_;
  const std::vector<Demand>& demands_;
  std::vector<Role> roles_;
  const GangLayout* const layout_;
  const size_t before_;
  DeviceOrder devices_ = DeviceOrder::kTightest;  // of the attempt
  std::vector<size_t> delta_of_;  // by demand: position among the transaction's deltas
  int64_t placed_ = 0;
  Shortage shortage_;  // of the attempt that is reported
  const Shape* missed_shape_ = nullptr;
  size_t missed_demand_ = 0;
};

}  // namespace muster::policy
