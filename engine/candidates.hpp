// Candidates: which pods a gang may have evicted, in which order, and whether a choice among them
// still holds (internal to engine/). Reads the engine's state, changes nothing of it.
//
// Only Muster's own pods, and what losses.hpp says may go. Whom the gang may have evicted, and in
// which order (R6), is what the policy's queues say (queue_candidates.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "engine/gang.hpp"
#include "engine/losses.hpp"
#include "engine/queue_candidates.hpp"
#include "policy/victims/loss.hpp"
#include "policy/victims/preemption.hpp"

namespace muster::engine {

struct EngineState;

// Who may be victims, in the order in which they are to be lost, and which of them together.
struct VictimChoice {
  std::shared_ptr<const std::vector<policy::Candidate>> list;  // cheapest first
  std::shared_ptr<const cluster::Snapshot> without;  // the cluster when all are gone; null: as yet
  std::shared_ptr<const QueueLaw> law;               // null: any of them together
  // The order is that of places (policy/victims/by_place.hpp), in which not all may be lawful.
  bool by_place = false;
  std::shared_ptr<const cluster::NodeSet> first = nullptr;  // by place: these nodes; null: none
};

// Without candidates of whom that is so.
VictimChoice Without(const VictimChoice& choice,
                     const std::function<bool(const policy::Candidate&)>& out);

// Candidates, and what they depend on. As long as gangs are planned in vain, nothing of that
// changes.
struct KnownCandidates {
  bool known = false;
  int64_t priority = 0;  // of the gang that has them evicted
  std::string queue;     // the same
  cluster::Usage asks;   // the same
  cluster::Time at;
  bool leaving_only = false;
  uint64_t version = 0;               // of WorkQueue
  uint64_t generation = 0;            // of ClusterState
  std::vector<VictimChoice> choices;  // the first that is enough counts
  Shielded shielded;
  std::vector<RefusedVictim> refused;
};

// Nobody is evicted for a gang whose PodGroup has preemptionPolicy Never, or, where that says
// nothing of it, a member.
bool Preempts(const EngineState& state, const Gang& gang);
// The same, of a pending gang, and there may be somebody.
bool MayPreempt(const EngineState& state, const Gang& gang);
// The time until which it may not preempt, because an earlier preemption was in vain; nothing: it
// may preempt.
std::optional<cluster::Time> MayPreemptFrom(const EngineState& state, const Gang& gang);
// Of a pending gang.
KnownCandidates CandidatesFor(EngineState& state, const Gang& gang, cluster::Time now);
// As CandidatesFor, but whatever the options say, and also after a preemption in vain.
std::vector<policy::Candidate> CandidatesOf(const EngineState& state, const Gang& gang,
                                            cluster::Time now);
std::vector<policy::Candidate> ToCandidates(const std::vector<const Lost*>& losses);
// The gang may have these evicted: each is of a gang that goes whole or keeps its minimum. What the
// gang has of its plan is not charged twice.
bool MayEvictAll(const EngineState& state, const std::set<cluster::PodUid>& victims,
                 const Gang& gang);
// What was planned when the gang's victims were chosen still holds.
bool VictimsStillValid(const EngineState& state, const Gang& gang);

}  // namespace muster::engine
