// ArrangeByPlace: candidates in the order in which they free nodes for a gang (internal to
// policy/).
//
// Who of a gang's surplus goes is no matter where its members are alike (Candidate::alike). So of
// neighbours in the list that are surplus of one tier those come first that make room together
// (node_gain.hpp): node by node, first the nodes where the fewest GPUs have to leave for each pod
// that finds room; of equal ones those where the fewest of the gangs' oldest members go in place of
// others, then those of the cheapest candidates. What makes no room comes behind them, as it came.
//
// Pure: the same answer for the same input.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/placing/placement.hpp"
#include "policy/victims/victim_sets.hpp"

namespace muster::policy {

struct Arrangement {
  std::vector<Candidate> candidates;
  std::vector<size_t> positions;  // in the input's, of each
};

Arrangement ArrangeByPlace(Placer& placer, const PreemptionInput& input,
                           const std::vector<Demand>& demands, const GangTerms& terms);

}  // namespace muster::policy
