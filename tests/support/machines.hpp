// Nodes that are machines with known links between their GPUs.
#pragma once

#include <string>

#include "tests/support/builders.hpp"
#include "tests/topology/machines.hpp"

namespace muster::testing {

// GPU 0 … 7; NIC 0 is beside GPUs 0 and 1, NIC 1 beside 2 and 3, …
inline cluster::Node Dgx1v(const std::string& name) {
  cluster::Node node = MakeNode(name).Gpus(8, "Tesla-V100-SXM2-32GB", 32'768);
  node.topology = topology::testing::kDgx1v;
  node.topology_source = cluster::TopologySource::kAnnotation;
  return node;
}

}  // namespace muster::testing
