// DomainsToFree: what would have to leave so that a gang fits one domain of the level that it
// requires.
//
// Pure: no clock, no randomness, the same answer for the same input.
//
// 1. Each domain by itself, with the victims that PlaceByPreemption finds for it: cheapest first by
//    the order of the candidates, none that is not in the way. Only candidates that hold something
//    there, and what has to go before them, are asked.
// 2. Ordered: those that can be freed first, then by how many pods violate PodDisruptionBudgets, by
//    the highest tier of what is lost, by the time of GPUs that is lost (R6), by the number of
//    owners that lose something, by the GPUs that these lose, by the members without room, then by
//    DomainId, which is by name.
// 3. Costs up to some thirty plans for each domain: at most kMostDomains are looked at, those that
//    lack the fewest slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "policy/placing/placement.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/victims/preemption.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::policy {

struct DomainToFree {
  topology::DomainId domain = topology::kNoDomain;
  int64_t missing = 0;                // members without room there, each role by itself
  bool blocked = false;               // not even without all of the candidates it holds the gang
  std::vector<size_t> victims;        // positions in the candidates, ascending; none where blocked
  std::vector<cluster::PodUid> pods;  // that leave, ordered; the same
  std::vector<cluster::Placement> placements;  // in the order of the demands; none where blocked
  int64_t violates = 0;                        // PodDisruptionBudgets, by the victims
  LossTier tier = {};                          // the highest of the victims
  int64_t gpu_time = 0;                        // that the victims lose
  int64_t owners = 0;                          // of the victims
  int64_t gpu_milli = 0;                       // that the victims lose
};

struct FreeingInput {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  std::shared_ptr<const topology::Fabric> fabric;  // of the snapshot
  const std::vector<Candidate>& candidates;        // who may have to leave, cheapest first
  std::vector<topology::DomainId> domains;         // of the required level
  VictimSets* sets = nullptr;                      // see PreemptionInput
  bool by_place = false;                           // the same
};

inline constexpr size_t kMostDomains = 8;

// `request`: with a wish that requires one of the domains. `placer`: of the same fabric.
std::vector<DomainToFree> DomainsToFree(Placer& placer, const FreeingInput& input,
                                        const GangRequest& request);

}  // namespace muster::policy
