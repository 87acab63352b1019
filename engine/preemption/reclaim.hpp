// Reclaim: GPUs that an operator wants back from a queue (internal to engine/). Which of its gangs
// go follows from the cluster and the order of losses (policy/victims/loss.hpp); they are victims
// in Preemptions like those of a gang, under an id of OrderBook.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/standing/order_book.hpp"
#include "queues/tree.hpp"

namespace muster::engine {

struct StandingState;

struct ReclaimChoice {
  std::vector<cluster::PodUid> pods;
  std::vector<OrderEffect::Evicted> gangs;  // theirs, in order
  int64_t gpu_milli = 0;                    // that they hold
  int64_t movable_milli = 0;                // that could be had in all
  std::vector<OrderEffect::Kept> kept;      // by PodDisruptionBudgets, in order
};

// R6 without a preemptor: members beyond a gang's minimum before whole gangs, none that is not
// needed. Of the queue and those below it; not what CannotBeEvicted names,
// gangs of the system (R14), or what leaves anyway. What PodDisruptionBudgets protect, given what
// is taken before it, stays too: `kept` reports it. A minRuntime protects nobody: `despite` reports
// it. Too few: `gpu_milli` says so.
ReclaimChoice ChooseReclaim(const StandingState& state, queues::QueueIndex queue, int64_t gpu_milli,
                            cluster::Time now);

// `choice`: enough. They are asked to go together.
void BeginReclaim(StandingState& state, Reclaim reclaim, const ReclaimChoice& choice,
                  cluster::Time now);
// Reclaims that are over end; where nobody was evicted because one may not go, others are chosen.
void FollowReclaims(StandingState& state, cluster::Time now);

// "; gang team/db: kept by …", of the first few; empty: there is none.
std::string KeptWords(const std::vector<OrderEffect::Kept>& kept);
// "ann reclaimed 2 GPUs from queue research"
std::string WhoseReclaim(const Reclaim& reclaim);
// Why the pod goes whose preemptor that is: a gang, or an order.
Reason WhyEvicted(const StandingState& state, const GangId& preemptor);

// An Event on what keeps the orders.
void TellOfQueue(StandingState& state, const std::string& queue, bool warning, std::string reason,
                 std::string message);

}  // namespace muster::engine
