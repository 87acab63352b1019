// Rails: which NICs lie nearest to which GPUs. A collective over many nodes runs ring by ring, each
// ring over the same NIC of every node (its rail); so members of a gang that take a part of a node
// each should lie beside the same NICs, and no two of their GPUs beside one. Pure functions, any
// thread.
//
// NICs are counted by their place in Machine::nics.
#pragma once

#include <cstddef>
#include <vector>

#include "topology/links/gpu_chooser.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

struct NearNics {
  LinkType type = LinkType::kUnknown;  // the best class from the GPU to any NIC
  std::vector<size_t> nics;            // those at that class, rising
  auto operator<=>(const NearNics&) const = default;
};

// `gpu` is a place in machine.gpus. Empty when the machine has no NICs or no matrix.
NearNics NicsNear(const Machine& machine, size_t gpu);
// By GPU.
std::vector<NearNics> AllNicsNear(const Machine& machine);
// By NIC: the GPUs that have it among those nearest to them. Empty when the machine has none.
std::vector<GpuMask> GpusBeside(const Machine& machine);

// The NICs that GPUs may be given, in the order in which they are given to them.
struct RailOrder {
  std::vector<size_t> nics;
  size_t wanted = 0;  // so many of them, the first ones, are those of other nodes
  auto operator<=>(const RailOrder&) const = default;
};

// All NICs, rising.
RailOrder AnyRail(const std::vector<GpuMask>& beside);

// Which NICs GPUs of a set have as their own, one of those beside them each: as many as can be, and
// among these those that are first in the order.
struct Served {
  std::vector<size_t> nics;  // in the order
  size_t wanted = 0;         // so many of the wanted ones
};
Served ServedBy(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set);

// Larger is better: first the number of wanted NICs that serve the set, then of all.
uint32_t RailMerit(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set);

}  // namespace muster::topology
