// Candidate, PreemptionInput: who may have to leave so that a gang finds room, and VictimSets: who
// of them together. Of one search (preemption.hpp), on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "policy/victims/loss.hpp"

namespace muster::policy {

// Pods that are evicted together, and what they hold in the snapshot.
struct Candidate {
  uint64_t owner = 0;
  std::string queue;                     // to which they are charged
  std::vector<cluster::Placement> held;  // on nodes of the snapshot; not empty
  // For comparing sets of candidates.
  LossTier tier = {};
  int64_t violates = 0;  // Loss::violates
  int64_t gpu_time = 0;  // that is lost, in tenths of a GPU × s
  // One pod of a gang's surplus: any of these could go in its place, which are `held` and others of
  // its gang that hold as much. Null: no surplus.
  std::shared_ptr<const std::vector<cluster::Placement>> alike = {};
};

// Which candidates may leave together. Of one search, on one thread.
class VictimSets {
 public:
  virtual ~VictimSets() = default;
  virtual bool Allows(const std::vector<bool>& chosen) = 0;
  // Every part of an allowed set is allowed too. For a cheap look before many.
  virtual bool AllowsParts(const std::vector<bool>& chosen) = 0;
  // Of all candidates, by position, one after the other in this order: which of them may go when
  // those before it that may have gone.
  virtual std::vector<bool> AllowsInOrder(const std::vector<size_t>& order) {
    return std::vector<bool>(order.size(), true);
  }
};

// The VictimSets of some of the candidates.
class SetsOfSome final : public VictimSets {
 public:
  // `those`: positions among so many `candidates`.
  SetsOfSome(VictimSets& all, const std::vector<size_t>& those, size_t candidates)
      : all_(all), those_(those), candidates_(candidates) {}
  bool Allows(const std::vector<bool>& chosen) override { return all_.Allows(OfAll(chosen)); }
  bool AllowsParts(const std::vector<bool>& chosen) override {
    return all_.AllowsParts(OfAll(chosen));
  }
  std::vector<bool> AllowsInOrder(const std::vector<size_t>& order) override;

 private:
  std::vector<bool> OfAll(const std::vector<bool>& chosen) const;

  VictimSets& all_;
  const std::vector<size_t>& those_;
  const size_t candidates_;
};

// Who may have to leave, and the cluster with and without them.
struct PreemptionInput {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  std::shared_ptr<const cluster::Snapshot> without;  // all candidates; null: worked out when needed
  const std::vector<Candidate>& candidates;
  VictimSets* sets = nullptr;  // null: any
  bool by_place = false;
  const cluster::NodeSet* first = nullptr;  // by place: nodes that come before all others
};

}  // namespace muster::policy
