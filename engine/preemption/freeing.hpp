// Freeing: what is in the way of a gang that requires one domain of a level and fits none, for
// people (internal to engine/). Whether the policy evicts at all does not matter here: who may be
// evicted is what engine/preemption/candidates.hpp says.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "engine/contract/gang_fabric.hpp"
#include "engine/gangs/gang.hpp"
#include "policy/victims/freeing.hpp"

namespace muster::engine {

struct StandingState;

// The domains of the level that a gang requires, in those terms that the fabric heeds; those that
// its members are in, where it has any. Empty: it requires none.
std::vector<topology::DomainId> RequiredDomains(const topology::Fabric& fabric,
                                                const cluster::TopologyTerms& heeded,
                                                const std::vector<cluster::NodeIndex>& beside);

// What is to be found out for a gang that waits. Taken under the lock.
struct FreeingJob {
  std::vector<policy::Candidate> candidates;
};
FreeingJob FreeingJobOf(const StandingState& state, const Gang& gang, cluster::Time now);

// The cheapest one, without names of gangs and pods; nothing: the gang requires no level, or a
// domain has room. A gang that has members there needs that domain and no other. Pure, without the
// lock.
struct FoundDomain {
  DomainInUse view;
  std::shared_ptr<const cluster::NodeSet> nodes;
  std::vector<cluster::PodUid> victims;  // one of each candidate that would have to leave
};
std::optional<FoundDomain> FindCheapest(const std::shared_ptr<const cluster::Snapshot>& nodes,
                                        const policy::Options& options,
                                        const policy::GangRequest& request,
                                        const cluster::TopologyTerms& terms, const FreeingJob& job);

// Adds the gangs that would lose something or, where it is blocked, who is there and is neither a
// candidate nor of that gang. Under the lock again.
DomainInUse Named(const StandingState& state, const GangId& gang, const FreeingJob& job,
                  FoundDomain found);

}  // namespace muster::engine
