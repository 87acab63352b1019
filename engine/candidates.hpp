// Candidates: which pods a gang may have evicted, in which order, and whether a choice among them
// still holds (internal to engine/). Reads the engine's state, changes nothing of it.
//
// Only Muster's own pods of lower priority than each member of the gang. A gang goes whole, or its
// surplus goes, one pod by one, the youngest first; one that is being bound, or part of which
// cannot go, is left alone.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "cluster/snapshot.hpp"
#include "engine/gang.hpp"
#include "policy/preemption.hpp"

namespace muster::engine {

struct EngineState;

// Candidates, and what they depend on. As long as gangs are planned in vain, nothing of that
// changes.
struct KnownCandidates {
  int64_t priority = 0;  // theirs is lower
  bool leaving_only = false;
  uint64_t version = 0;                                        // of WorkQueue
  uint64_t generation = 0;                                     // of ClusterState
  std::shared_ptr<const std::vector<policy::Candidate>> list;  // cheapest first; null: not known
  std::shared_ptr<const cluster::Snapshot> without;            // the cluster when all are gone
};

// Nobody is evicted for a gang that has a member with preemptionPolicy Never.
bool Preempts(const EngineState& state, const Gang& gang);
// The same, of a pending gang, and there may be somebody.
bool MayPreempt(const EngineState& state, const Gang& gang);
// Of a pending gang.
KnownCandidates CandidatesFor(EngineState& state, const Gang& gang);
// The gang may not be taken apart now, be it bound or not.
bool MustStay(const EngineState& state, const Gang& gang);
// These may be evicted for a gang of that priority: each is of a lesser gang, which goes whole or
// keeps its minimum. Pods that leave anyway always may.
bool MayGo(const EngineState& state, const std::set<cluster::PodUid>& victims,
           const GangId& preemptor, int64_t priority);
// What was planned when the gang's victims were chosen still holds.
bool StillWanted(const EngineState& state, const Gang& gang);

}  // namespace muster::engine
