// GangFabric: where in the fabric a gang lies, and what the domains have for one that waits; for
// people. Plain values; a pure function of a snapshot and what was asked of placement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/topology_terms.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/reasons/domain_causes.hpp"
#include "policy/placing/placement.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

// So many members are in one domain.
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

// The ring over the GPUs of a member, see topology/links/gpu_chooser.hpp.
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
  OfferedDomains offers;  // of a gang that waits: none of them is its own
  OfferedDomains others;  // of one that has its nodes: those that it is not in
  // Where a gang that waits requires a level, and none of the domains holds it.
  std::optional<DomainInUse> cheapest;
};

// What a gang asks of placement and of the fabric.
struct AskedOfFabric {
  // Of one that waits for members without a node, else as if it had no nodes.
  policy::GangRequest request;
  std::vector<cluster::Placement> held;  // what it would not have then
  bool waits = false;
  cluster::TopologyTerms terms;
};

GangFabric ViewGangFabric(const std::shared_ptr<const cluster::Snapshot>& nodes,
                          const policy::Options& options, const GangView& gang,
                          const AskedOfFabric& asked);

}  // namespace muster::engine
