// Small random cases for the exact solver, and the answer of policy/ to them in the solver's words.
// For tests of policy/ only. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/records/node.hpp"
#include "cluster/records/topology_terms.hpp"
#include "tests/policy/exact_solver.hpp"
#include "tests/policy/random_world.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::testing {

// One case twice: for the solver and as facts for a cluster. Node i of both is the same.
struct Trial {
  ExactCase exact;
  topology::FabricOptions fabric;
  std::vector<cluster::Node> nodes;
  std::vector<std::vector<int>> taken;  // by node: GPUs that others have
  cluster::TopologyTerms terms;
};

// Up to 12 nodes, 4 levels and 3 roles. Some nodes are partly taken, have unhealthy GPUs or lack
// labels.
Trial RandomTrial(Dice& dice);

struct TrialAnswer {
  std::optional<ExactPlaces> places;  // nothing: refused
  std::string fault;                  // what is wrong with the placement by FaultOf; empty: nothing
  std::vector<std::string> where;     // by role and rank: node and GPUs
};

// `shuffle`: of nodes, pods and GPUs that others have; null: in their order.
TrialAnswer AnswerTo(const Trial& trial, Dice* shuffle = nullptr);

}  // namespace muster::testing
