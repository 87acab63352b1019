// What the kubelet does with a node's GPUs on its own: which ones NVIDIA's device plugin would
// hand out, and which sets its topology manager would turn away. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cluster/records/node.hpp"
#include "topology/links/gpu_chooser.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

// Scores of pairs as go-gpuallocator has them (link.hpp), gpus × gpus. With the matrix of `topo -m`
// alone, the PCIe relation of a pair with NVLinks is what other devices tell of it.
std::vector<int> PairScores(const Machine& machine);

// The set that go-gpuallocator's best-effort policy prefers: of all ways to divide the available
// GPUs into sets of `count` (the last one may be short), the one whose scores add up to most; of
// that, the set with the highest score that holds all `required`. Ties go to the first found, so
// the order of `available` matters: the kubelet promises none, and rising places are what is seen
// most. Empty when there is no such set, or for more than 16 available GPUs. Tries every division,
// as the plugin does: 105 for pairs of 8 GPUs, two million for pairs of 16. `scores` is gpus ×
// gpus; the others are places.
std::vector<size_t> BestEffortPick(const std::vector<int>& scores, size_t gpus,
                                   std::span<const size_t> available,
                                   std::span<const size_t> required, size_t count);

using cluster::NumaPolicy;

// Whether the topology manager would admit a pod that is given these GPUs. single-numa-node: all on
// one node; restricted: on no more nodes than that many GPUs need, counted over all GPUs of the
// machine, taken or not. GPUs whose node nobody told are no obstacle.
bool Admits(const Machine& machine, NumaPolicy policy, GpuMask set);

}  // namespace muster::topology
