// DomainCauses: what the other domains of its level have for a gang, and in words why it is not
// there. Plain values; pure functions of a snapshot, so they say how things are now, which is not
// how they were when a gang was planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/records/topology_terms.hpp"
#include "policy/placing/domain_offers.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::engine {

struct DomainOffer {
  std::string name;     // as DomainView has it
  int64_t members = 0;  // for so many there is room now, each role by itself
  std::string why;      // the gang is not there
};

struct OfferedDomains {
  std::string level;                // of the first tree that has it
  int64_t wanted = 0;               // members
  std::vector<DomainOffer> offers;  // the most room first; kMostOffers at most
  int64_t domains = 0;              // in all
  static constexpr size_t kMostOffers = 20;
};

// For a gang that waits: of the domains of the level that it asks for, in every tree that has it.
OfferedDomains OffersTo(policy::DomainOffers& offers, const cluster::TopologyTerms& terms);

// Where a gang lies, every member on a node.
struct LyingGang {
  std::vector<cluster::NodeIndex> nodes;  // of its members
  std::optional<uint32_t> slowest_ring;   // of those with several GPUs and known links, MB/s
};

// For a gang that has its nodes: of the domains that it is not in, of the level that it asks for.
// Where it names none, of the innermost level in which it is in one domain. `offers`: of what it
// would ask for if it had no nodes. Nothing for a single pod that names no level, and where no
// domain was chosen.
OfferedDomains OthersThan(const LyingGang& gang, policy::DomainOffers& offers,
                          const policy::Options& options, const cluster::TopologyTerms& terms);

}  // namespace muster::engine
