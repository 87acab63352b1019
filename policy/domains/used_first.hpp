// UsedFirst: which domains a pod by itself is tried in first, so that small jobs break no whole
// racks (internal to policy/).
#pragma once

#include "policy/domains/fragmentation.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

// Orders the domains of one level. `opens`: so many free nodes the pod takes, 0 or 1.
//   1. Those that lose less (Losses).
//   2. Those in use first; of equal ones those in a domain in use, and so on outwards.
//   3. Then those with the least room; of equal ones likewise outwards.  4. By DomainId.
// Refers to its arguments. `slots`: how many such pods have room, by domain.
class UsedFirst {
 public:
  UsedFirst(const topology::Fabric& fabric, const DomainUse& use, const topology::DomainSums& slots,
            int64_t opens)
      : fabric_(fabric), use_(use), slots_(slots), opens_(opens) {}
  bool operator()(topology::DomainId a, topology::DomainId b) const;

 private:
  template <typename Of>
  int Outwards(topology::DomainId a, topology::DomainId b, const Of& of) const;

  const topology::Fabric& fabric_;
  const DomainUse& use_;
  const topology::DomainSums& slots_;
  const int64_t opens_;
};

}  // namespace muster::policy
