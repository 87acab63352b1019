// FabricView: what the domains of the fabric have free now, for people. Plain values; pure
// functions of a snapshot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::engine {

// `nodes` and `gpus` count all nodes; what is free counts only on nodes that may get new pods.
struct DomainView {
  std::string tree;
  std::string level;
  std::string name;   // label values from the outermost level on, with '/'
  int64_t depth = 0;  // 0 is the outermost
  int64_t nodes = 0;
  int64_t free_nodes = 0;  // all of their GPUs are free
  int64_t kept_nodes = 0;  // of the free ones, for lost members (policy/domains/reserve.hpp)
  int64_t gpus = 0;
  int64_t free_gpus = 0;  // as a whole
  int64_t slots = 0;      // gangs of so many GPUs that fit, each by itself in this domain
};

// Where a node is in a tree.
struct NodePlace {
  std::string tree;
  std::string node;
  std::string domain;  // the innermost one, as DomainView::name; empty: it is in none
};

struct FabricView {
  std::vector<DomainView> domains;    // each followed by those below it
  std::vector<std::string> findings;  // what is wrong with the labels of nodes
  std::vector<NodePlace> places;      // each node's in each tree
};

// `gpus`: of a gang, for DomainView::slots; 0: slots are not counted. Up to the GPUs of a node they
// are on one node, beyond that on nodes that are free as a whole. Kept nodes have no slots.
FabricView ViewFabric(const cluster::Snapshot& nodes, const topology::FabricOptions& options,
                      int64_t gpus);

}  // namespace muster::engine
