// ChooseDevices: which GPUs of a node a pod gets. The one place where devices are chosen. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cluster/allocation.hpp"
#include "policy/placement.hpp"

namespace muster::policy {

// `free` in the order of node.gpus. Nothing when the devices do not suffice; an empty list when
// none are asked for.
//   whole GPUs   the lowest-numbered fully free ones
//   shares       binpack: the devices with least room that fits; spread: those with most; ties to
//   the lower index
std::optional<std::vector<cluster::GpuShare>> ChooseDevices(const cluster::Node& node,
                                                            std::span<const int16_t> free,
                                                            const cluster::GpuRequest& request,
                                                            Strategy strategy);

}  // namespace muster::policy
