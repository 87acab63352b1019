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
//    all earlier ones (a gang's surplus first, then the gang).
// 4. No victim could keep its place beside this placement, but for rule 3.
//
// 5. Where VictimSets says so, a set of victims is one that it allows. It allows the whole list,
// and
//    of two prefixes that it allows the longer one too, or the search may miss an answer.
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
  int64_t gpu_time = 0;  // that is lost, in tenths of a GPU × s
};

// Which candidates may leave together. Of one search, on one thread.
class VictimSets {
 public:
  virtual ~VictimSets() = default;
  virtual bool Allows(const std::vector<bool>& chosen) = 0;
  // Every part of an allowed set is allowed too. For a cheap look before many.
  virtual bool AllowsParts(const std::vector<bool>& chosen) = 0;
};

struct PreemptionAnswer {
  bool placed = false;
  std::vector<cluster::Placement> placements;  // in the order of the demands
  std::vector<size_t> victims;                 // positions in `candidates`, ascending
};

// Who may have to leave, and the cluster with and without them.
struct PreemptionInput {
  std::shared_ptr<const cluster::Snapshot> snapshot;
  std::shared_ptr<const cluster::Snapshot> without;  // all candidates; null: worked out when needed
  const std::vector<Candidate>& candidates;
  VictimSets* sets = nullptr;  // null: any
};

PreemptionAnswer PlaceByPreemption(Placer& placer, const PreemptionInput& input,
                                   const std::vector<Demand>& demands, const GangTerms& terms = {});

}  // namespace muster::policy
