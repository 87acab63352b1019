// VictimChoice: who may be victims, in order, and which of them together are lawful (internal to
// engine/). Plain values; LawfulSets is of one search, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "engine/standing/shielded.hpp"
#include "policy/victims/preemption.hpp"
#include "queues/rights.hpp"

namespace muster::engine {

// The rights by which a candidate cannot go, because its PodDisruptionBudgets stand against them.
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
  // They hold no more than maxEvictedRatio allows; pods that leave anyway do not count.
  bool Moderate(const std::vector<size_t>& chosen) const;

 private:
  bool MayGo(size_t candidate, const queues::Judgement& judgement) const;
  std::vector<const queues::Holding*> Chosen(const std::vector<bool>& chosen) const;

  const QueueLaw& law_;
  queues::Rights rights_;
};

// For people: a gang that is not a candidate, and why.
struct RefusedVictim {
  cluster::GangId gang;
  std::string why;
};

// Who may be victims, in the order in which they are to be lost, and which of them together.
struct VictimChoice {
  std::shared_ptr<const std::vector<policy::Candidate>> list;  // cheapest first
  std::shared_ptr<const cluster::Snapshot> without;  // the cluster when all are gone; null: as yet
  std::shared_ptr<const QueueLaw> law;               // null: any of them together
  // The order is that of places (policy/victims/by_place.hpp), in which not all may be lawful.
  bool by_place = false;
  std::shared_ptr<const cluster::NodeSet> first = nullptr;  // by place: these nodes; null: none
};

// The choice without the candidates for which `out` is true.
VictimChoice Without(const VictimChoice& choice,
                     const std::function<bool(const policy::Candidate&)>& out);

// Candidates, and everything that they depend on: found again only when some of that changes. While
// gangs are planned in vain nothing does.
struct KnownCandidates {
  bool known = false;
  int64_t priority = 0;  // of the gang that would evict them
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

}  // namespace muster::engine
