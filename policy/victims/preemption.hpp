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
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/allocation.hpp"
#include "policy/placing/placement.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/victims/victim_sets.hpp"

namespace muster::policy {

struct PreemptionAnswer {
  bool placed = false;
  std::vector<cluster::Placement> placements;  // in the order of the demands
  std::vector<size_t> victims;                 // positions in `candidates`, ascending
  std::vector<cluster::PodUid> pods = {};      // that leave, ordered
};

PreemptionAnswer PlaceByPreemption(Placer& placer, const PreemptionInput& input,
                                   const std::vector<Demand>& demands, const GangTerms& terms = {});

}  // namespace muster::policy
