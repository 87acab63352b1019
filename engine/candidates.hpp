// Candidates: which pods a gang may have evicted, in which order, and whether a choice among them
// still holds (internal to engine/). Reads the engine's state, changes nothing of it.
//
// Only Muster's own pods, of gangs that policy::VictimRule lets the gang evict. A gang goes whole,
// or its surplus goes, one pod at a time, the youngest first; one with required segments goes
// whole. One that is being bound, or part of which cannot go, is left alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/snapshot.hpp"
#include "engine/gang.hpp"
#include "policy/preemption.hpp"
#include "policy/victim_rule.hpp"

namespace muster::engine {

struct EngineState;

// Candidates, and what they depend on. As long as gangs are planned in vain, nothing of that
// changes.
struct KnownCandidates {
  int64_t priority = 0;  // of the gang that has them evicted
  std::string queue;     // the same
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
// The same whatever the options say, and whoever was evicted for it in vain.
std::vector<policy::Candidate> CandidatesOf(const EngineState& state, const Gang& gang);
// The gang may not be taken apart now, be it bound or not.
bool CannotBeEvicted(const EngineState& state, const Gang& gang);
// Pods beyond its minimum may go, the others stay.
bool GoesInParts(const EngineState& state, const Gang& gang);
// What the rule is told of a gang that holds something; `priority`: of its bound members, or of the
// one that is asked about.
policy::Holder HolderOf(const Gang& gang, int64_t priority);
// What the rule is told of a gang that wants room.
policy::Preemptor PreemptorOf(const Gang& gang);
// The highest among the members that hold something; nothing: none does.
std::optional<int32_t> HighestHeld(const Gang& gang);
// The rule lets the gang have these evicted: each is of a gang that goes whole or keeps its
// minimum.
bool MayEvictAll(const EngineState& state, const std::set<cluster::PodUid>& victims,
                 const policy::Preemptor& preemptor);
// What was planned when the gang's victims were chosen still holds.
bool VictimsStillValid(const EngineState& state, const Gang& gang);

}  // namespace muster::engine
