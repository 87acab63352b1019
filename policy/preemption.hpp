// PlaceByPreemption: finds nodes and GPUs for a whole gang where others run, and who has to leave.
//
// Pure: no clock, no randomness, the same answer for the same input.
//
// 1. Placed only if the whole gang fits when its victims are gone; else nobody is a victim. A gang
//    of equal pods without exclusions is placed whenever evicting every candidate makes it fit.
// 2. Candidates come in the order in which they are to be lost, cheapest first: of two prefixes of
//    that list the shorter one is taken, and then candidates that are not in the way of the
//    placement found are spared, dearest first.
// 3. A candidate goes whole or not at all. Of candidates with one owner a later one goes only with
//    all earlier ones (a gang's surplus first, then the gang); but surplus goes by itself.
// 4. No victim could keep its place beside this placement, but for rule 3.
//
// 5. Where VictimSets says so, a set of victims is one that it allows. It allows the whole list,
//    and of two prefixes that it allows the longer one too, or the search may miss an answer.
// 6. By place (by_place.hpp) surplus goes where it is in the way, whichever of its gang it is; then
//    the list is what VictimSets allows of that order, one after the other.
//
// What is not promised is the smallest number of victims: that is NP-hard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/allocation.hpp"
#include "cluster/snapshot.hpp"
#include "policy/placement.hpp"
#include "policy/victim_rule.hpp"

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

struct PreemptionAnswer {
  bool placed = false;
  std::vector<cluster::Placement> placements;  // in the order of the demands
  std::vector<size_t> victims;                 // positions in `candidates`, ascending
  std::vector<cluster::PodUid> pods = {};      // that leave, ordered
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

PreemptionAnswer PlaceByPreemption(Placer& placer, const PreemptionInput& input,
                                   const std::vector<Demand>& demands, const GangTerms& terms = {});

}  // namespace muster::policy
