// Rails: which NICs lie nearest to which GPUs. A collective over many nodes runs ring by ring, each
// ring over the same NIC of every node (its rail); so members of a gang that take a part of a node
// each should lie beside the same NICs, and not two of them beside one. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/machine.hpp"

namespace muster::topology {

struct NearNics {
  LinkType type = LinkType::kUnknown;  // the best class from the GPU to any NIC
  std::vector<size_t> nics;            // places of the NICs at that class, rising
};

// `gpu` is a place in machine.gpus. Empty when the machine has no NICs or no matrix.
NearNics NicsNear(const Machine& machine, size_t gpu);

}  // namespace muster::topology
