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

#include "engine/losses.hpp"
#include "engine/shielded.hpp"
#include "policy/victims/preemption.hpp"
#include "queues/rights.hpp"

namespace muster::engine {

// The rights to which the PodDisruptionBudgets of a candidate are a bar, as it is kept by them.
class BarredRights {
 public:
  void Add(queues::Right right) { rights_ |= 1U << static_cast<unsigned>(right); }
  bool any() const { return rights_ != 0; }
  bool Has(queues::Right right) const {
    return (rights_ >> static_cast<unsigned>(right) & 1U) != 0;
  }

 private:
  unsigned rights_ = 0;
};

// What the queues say of candidates. A plain value; LawfulSets asks it.
struct QueueLaw {
  queues::Rights rights;
  std::vector<queues::Holding> holdings;  // by candidate
  std::vector<int64_t> gpu_milli;         // by candidate
  std::vector<BarredRights> barred;       // by candidate
  int64_t most_gpu_milli = INT64_MAX;     // maxEvictedRatio
};

// Of one search, on one thread.
class LawfulSets final : public policy::VictimSets {
 public:
  explicit LawfulSets(const QueueLaw& law) : law_(law), rights_(law.rights) {}
  bool Allows(const std::vector<bool>& chosen) override;
  bool AllowsParts(const std::vector<bool>& chosen) override;
  std::vector<bool> AllowsInOrder(const std::vector<size_t>& order) override;
  // Not more than maxEvictedRatio says; those that leave anyway do not count.
  bool Moderate(const std::vector<size_t>& chosen) const;

 private:
  bool MayGo(size_t candidate, const queues::Judgement& judgement) const;
  std::vector<const queues::Holding*> Chosen(const std::vector<bool>& chosen) const;

  const QueueLaw& law_;
  queues::Rights rights_;
};

// For people: a gang that is not a candidate, and why.
struct RefusedVictim {
  GangId gang;
  std::string why;
};

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
QueueCandidates FindQueueCandidates(const EngineState& state, const Gang& gang, bool leaving_only,
                                    cluster::Time now);

}  // namespace muster::engine
