// Queue candidates: whom the policy's queues let a gang have evicted (R4 to R8), and whether a
// choice among them is lawful (internal to engine/). Reads the engine's state, changes nothing of
// it.
//
// 1. In order of R6: pods that leave anyway, those that violate the fewest PodDisruptionBudgets,
//    what is left of gangs that the former break, members beyond their gang's minimum, gangs whose
//    queue keeps its guarantee without them, the lowest priority, those that only lose time, the
//    smallest loss (GPU time since the start), the youngest.
// 2. One is in the list only if it is lawful after all that come before it. Where that is not
//    enough there is a second list: in it queues go as far below their guarantee as one gang that
//    straddles it takes them.
//    For a gang with pods that take whole nodes which its queue is guaranteed there is one before
//    both: in it gangs that are on the nodes promised to the queue come first.
//    Before each of them but the last there is one by place where members beyond a minimum are in
//    it: with all of whom it may have evicted by themselves, of which the planner finds those
//    together that are in the way and lawful in that order.
// 3. A gang is shielded until it has run for the minRuntime of its queue (R8), and when it was
//    evicted often enough in this hour; its members beyond the minimum are not. So is what
//    PodDisruptionBudgets keep, where they are a bar to the right by which it would go.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/preemption/losses.hpp"
#include "engine/standing/shielded.hpp"
#include "engine/standing/victim_choice.hpp"
#include "policy/victims/preemption.hpp"
#include "queues/rights.hpp"

namespace muster::engine {

struct LawfulCandidates {
  std::vector<policy::Candidate> candidates;
  std::shared_ptr<const QueueLaw> law;
  bool by_place = false;                                    // see VictimChoice
  std::shared_ptr<const cluster::NodeSet> first = nullptr;  // the same
};

struct QueueCandidates {
  static constexpr size_t kMostRefused = 5;
  std::vector<LawfulCandidates> choices;
  Shielded shielded;
  std::vector<RefusedVictim> refused;
};

// Of a gang that waits. `leaving_only`: those that leave anyway.
QueueCandidates FindQueueCandidates(const StandingState& state, const Gang& gang, bool leaving_only,
                                    cluster::Time now);

}  // namespace muster::engine
