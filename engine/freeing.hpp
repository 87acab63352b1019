// Freeing: what is in the way of a gang that requires one domain of a level and fits none, for
// people (internal to engine/). Whether the policy evicts at all does not matter here: who may be
// evicted is what policy::VictimRule says.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "engine/gang.hpp"
#include "engine/gang_fabric.hpp"
#include "policy/freeing.hpp"

namespace muster::engine {

struct EngineState;

// What is to be found out for a gang that waits. Taken under the lock.
struct FreeingJob {
  std::vector<policy::Candidate> candidates;
  std::vector<std::string> gangs;  // by candidate
};
FreeingJob FreeingJobOf(const EngineState& state, const Gang& gang);

// The cheapest one, without `pods`; nothing: the gang requires no level, or a domain has room.
// Pure, without the lock.
struct FoundDomain {
  DomainInUse view;
  std::shared_ptr<const cluster::NodeSet> nodes;
};
std::optional<FoundDomain> FindCheapest(const std::shared_ptr<const cluster::Snapshot>& nodes,
                                        const policy::Options& options,
                                        const policy::GangRequest& request,
                                        const cluster::TopologyTerms& terms, const FreeingJob& job);

// Adds who is on those nodes now and no candidate. Under the lock again.
void AddBlockers(const EngineState& state, const FreeingJob& job, const cluster::NodeSet& nodes,
                 DomainInUse& view);

}  // namespace muster::engine
