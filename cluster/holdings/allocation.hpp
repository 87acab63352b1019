// Placement and Allocation: which node and which of its GPUs a pod has, planned or real.
#pragma once

#include <compare>
#include <vector>

#include "cluster/amounts/resources.hpp"
#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"

namespace muster::cluster {

// `taken` of one device.
struct GpuShare {
  GpuIndex index;
  DeviceAmount taken;
  auto operator<=>(const GpuShare&) const = default;
};

struct Placement {
  PodUid pod;
  NodeIndex node;
  Resources requests;
  std::vector<GpuShare> gpus;  // ordered by index, distinct
  auto operator<=>(const Placement&) const = default;
};

// The devices that it has whole, by index.
inline std::vector<GpuIndex> WholeGpusOf(const Placement& placement) {
  std::vector<GpuIndex> gpus;
  gpus.reserve(placement.gpus.size());
  for (const GpuShare& gpu : placement.gpus) {
    if (gpu.taken == DeviceAmount::All()) gpus.push_back(gpu.index);
  }
  return gpus;
}

enum class Holding { kBound, kReserved };

struct Allocation {
  Placement placement;
  Holding holding = Holding::kReserved;
  // False when the node's devices could not be found for it: more was bound than the node has (its
  // GPU count shrank, or another scheduler bound it). Then placement.gpus may be shorter than the
  // request.
  bool devices_known = true;
};

// What `request` takes of `gpu` when it is given a part of it; none when that device cannot serve
// such a request at all, or the request does not let it. See SharingModel.
// HeldOn is what a pod has that was given it all the same.
inline DeviceAmount HeldOn(const Gpu& gpu, const GpuRequest& request) {
  return gpu.sharing->ShareOn(gpu.size(), request);
}
inline DeviceAmount ShareOn(const Gpu& gpu, const GpuRequest& request) {
  return !request.choice.Allows(gpu.model, gpu.uuid, gpu.hami_mode) ? DeviceAmount()
                                                                    : HeldOn(gpu, request);
}

}  // namespace muster::cluster
