// Candidates: which pods a gang may have evicted, in which order, and whether a choice among them
// still holds (internal to engine/). Reads the engine's state, changes nothing of it.
//
// Only Muster's own pods, and what engine/preemption/losses.hpp says may go. Whom the gang may have
// evicted, and in which order (R6), is what the policy's queues say
// (engine/preemption/queue_candidates.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/preemption/losses.hpp"
#include "engine/standing/victim_choice.hpp"
#include "policy/victims/preemption.hpp"

namespace muster::engine {

struct StandingState;

// Nobody is evicted for a gang whose PodGroup has preemptionPolicy Never, or, where that says
// nothing of it, a member.
bool Preempts(const StandingState& state, const Gang& gang);
// The same, of a pending gang, and there may be somebody.
bool MayPreempt(const StandingState& state, const Gang& gang);
// The time until which it may not preempt, because an earlier preemption was in vain; nothing: it
// may preempt.
std::optional<cluster::Time> MayPreemptFrom(const StandingState& state, const Gang& gang);
// Of a pending gang.
KnownCandidates CandidatesFor(StandingState& state, const Gang& gang, cluster::Time now);
// As CandidatesFor, but whatever the options say, and also after a preemption in vain.
std::vector<policy::Candidate> CandidatesOf(const StandingState& state, const Gang& gang,
                                            cluster::Time now);
// The gang may have these evicted: each is of a gang that goes whole or keeps its minimum. What the
// gang has of its plan is not charged twice.
bool MayEvictAll(const StandingState& state, const std::set<cluster::PodUid>& victims,
                 const Gang& gang);
// What was planned when the gang's victims were chosen still holds.
bool VictimsStillValid(const StandingState& state, const Gang& gang);

}  // namespace muster::engine
