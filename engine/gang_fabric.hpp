// GangFabric: where in the fabric a gang lies, and what the domains have for one that waits; for
// people. Plain values; a pure function of a snapshot and what was asked of placement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/snapshot.hpp"
#include "cluster/topology_terms.hpp"
#include "engine/gang_view.hpp"
#include "policy/gang_request.hpp"
#include "policy/placement.hpp"

namespace muster::engine {

// So many members are in one domain, or there is room for so many.
struct DomainShare {
  std::string name;  // as DomainView has it; empty: outside of all domains of the level
  int64_t members = 0;
};

struct GangLevel {
  std::string tree;
  std::string level;
  std::vector<DomainShare> domains;  // as they lie in the fabric
  // Links between neighbours in rank, the last and the first too, that lead out of a domain.
  int64_t crossings = 0;
};

// Two neighbours in rank that are not in one domain.
struct Crossing {
  std::string tree;
  std::string level;  // the outermost that they cross
  std::string from;   // pods
  std::string to;
  std::string from_domain;  // as DomainShare::name
  std::string to_domain;
};

// The ring over the GPUs of a member, see topology/gpu_chooser.hpp.
struct MemberRing {
  std::string pod;
  std::string node;
  uint32_t megabytes = 0;  // of its slowest link, MB/s
};

// The domain of a required level that would cost others least to free for the gang.
struct DomainInUse {
  std::string name;
  int64_t missing = 0;  // members without room there now
  // Nobody may be evicted so that it holds the gang: `pods` are in the way.
  bool blocked = false;
  // That would be evicted, kMostNames at most; ordered.
  std::vector<std::string> gangs;
  int64_t gangs_in_all = 0;
  int64_t gpu_milli = 0;  // that they hold
  // On its nodes, which nobody may evict for the gang, kMostNames at most; ordered.
  std::vector<std::string> pods;
  int64_t pods_in_all = 0;
  static constexpr size_t kMostNames = 10;
};

struct GangFabric {
  std::vector<GangLevel> levels;  // of members with a node, bound or planned; the outermost first
  int64_t links = 0;              // between neighbours in rank
  // Those that leave a domain: of each tree those of its outermost levels first, then by rank;
  // kMostCrossings at most.
  std::vector<Crossing> crossed;
  int64_t crossings = 0;  // in all
  static constexpr size_t kMostCrossings = 20;
  // Of members with two GPUs or more on nodes whose links are known, by rank.
  std::vector<MemberRing> rings;
  // Of a gang that waits: the level it asks for, and what the domains there offer to its `wanted`
  // members without a node; the most first, kMostOffers at most.
  std::string level;
  int64_t wanted = 0;
  std::vector<DomainShare> offers;
  int64_t domains = 0;  // in all
  // Where it requires that level, and none of the domains holds it.
  std::optional<DomainInUse> cheapest;
  static constexpr size_t kMostOffers = 20;
};

// `request`: of a gang that waits, else with nothing required. `terms`: what it asks of the fabric.
GangFabric ViewGangFabric(const std::shared_ptr<const cluster::Snapshot>& nodes,
                          const policy::Options& options, const GangView& gang,
                          const policy::GangRequest& request, const cluster::TopologyTerms& terms);

}  // namespace muster::engine
