// DomainOffers: what the domains of the fabric have for a gang, and why one of them does not hold
// it; for people.
//
// 1. The snapshot is not changed, and nobody else is placed: as things are in it, or would be
//    without what the gang holds.
// 2. rooms(): a look at all nodes for each role. In(): a plan of the gang, or a look at the nodes
//    of the domain.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "cluster/holdings/transaction.hpp"
#include "policy/domains/fragmentation.hpp"
#include "policy/placing/placement.hpp"
#include "policy/search/roles.hpp"
#include "policy/search/search.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::policy {

class DomainOffers {
 public:
  // `request`: with required demands. What the policy keeps for lost members is kept from it,
  // unless it replaces some. `held`: what the gang has on these nodes, and would not.
  DomainOffers(const std::shared_ptr<const cluster::Snapshot>& nodes, const Options& options,
               GangRequest request, const std::vector<cluster::Placement>& held = {});

  const topology::Fabric& fabric() const { return *fabric_; }
  const GangRequest& request() const { return request_; }
  const cluster::Node& node(cluster::NodeIndex index) const { return *tx_.node(index); }
  int64_t wanted() const { return static_cast<int64_t>(request_.required.size()); }
  // By DomainId. DomainRoom::spare is of the role with the most GPUs for each pod.
  const std::vector<DomainRoom>& rooms() const { return rooms_; }
  // In which of two others lose less, see Losses: below 0, 0, above 0.
  int CompareLosses(topology::DomainId a, topology::DomainId b) const;

  // Where each role has room by itself: the gang placed in the domain as it wishes to lie, or what
  // keeps it from that. Else, over the nodes of the domain, why no more pods of the first role
  // without enough room fit.
  PlaceAnswer In(topology::DomainId domain);

 private:
  Search SearchIn(const cluster::NodeSet* within);
  PlaceAnswer CountIn(topology::DomainId domain);

  // Constant after construction, but for what is remembered.
  Placer placer_;
  ShapeMemory shapes_;
  GangRequest request_;
  cluster::Transaction tx_;  // without what is held
  std::shared_ptr<const topology::Fabric> fabric_;
  std::shared_ptr<const Wish> wish_;  // null: there are no domains
  std::vector<Role> roles_;           // the one with the most GPUs for each pod first
  DomainUse use_;
  std::vector<DomainRoom> rooms_;
};

}  // namespace muster::policy
