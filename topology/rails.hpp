// Rails: which NICs lie nearest to which GPUs. A collective over many nodes runs ring by ring, each
// ring over the same NIC of every node (its rail); so members of a gang that take a part of a node
// each should lie beside the same NICs, and no two of their GPUs beside one. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <vector>

#include "topology/gpu_chooser.hpp"
#include "topology/machine.hpp"

namespace muster::topology {

struct NearNics {
  LinkType type = LinkType::kUnknown;  // the best class from the GPU to any NIC
  std::vector<size_t> nics;            // places of the NICs at that class, rising
  auto operator<=>(const NearNics&) const = default;
};

// `gpu` is a place in machine.gpus. Empty when the machine has no NICs or no matrix.
NearNics NicsNear(const Machine& machine, size_t gpu);
// By GPU.
std::vector<NearNics> AllNicsNear(const Machine& machine);

// The places of NICs beside which the GPUs of `set` lie, rising.
std::vector<size_t> RailsOf(const std::vector<NearNics>& near, GpuMask set);
// How many GPUs of `set` can have a NIC of their own among those nearest to them.
size_t DistinctNics(const std::vector<NearNics>& near, GpuMask set);
// How many of them have one of `rails` (rising places of NICs) among those nearest.
size_t OnRails(const std::vector<NearNics>& near, GpuMask set, const std::vector<size_t>& rails);

// As chooser.Choose, but among sets with the best ring: first those with the most GPUs beside one
// of `rails`, what the gang's other members use (empty: no matter); then those with the most NICs
// of their own; then as usual.
GpuMask ChooseOnRails(const GpuChooser& chooser, const std::vector<NearNics>& near, GpuMask free,
                      size_t count, const std::vector<size_t>& rails);

}  // namespace muster::topology
