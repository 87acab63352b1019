// Whether a machine of which something is known is the one that a node is: by the indices of its
// devices, and by the labels of GPU feature discovery. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cluster/records/node.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

// The GPUs of the machine, healthy or not: label nvidia.com/gpu.count where it is a number not
// below the node's devices, else these (partitions aside).
size_t GpusOf(const cluster::Node& node);

// Which model all of the node's devices are, as label nvidia.com/gpu.product has it. Empty when
// they differ, nobody told it, or they are partitions (MIG), which have no links.
std::string_view ProductOf(const cluster::Node& node);

// In PlacesIn: the machine has this GPU, and the node does not offer it.
inline constexpr size_t kNotOffered = SIZE_MAX;

// By place in machine.gpus, the place in node.gpus of the device with the same index, partitions
// aside. Nothing when the machine is another one: it lacks a device of the node, or has one that
// the node lacks, unless GpusOf(node) says that the node is that large (a GPU that is unhealthy is
// missing from what a node offers).
std::optional<std::vector<size_t>> PlacesIn(const Machine& machine, const cluster::Node& node);

}  // namespace muster::topology
