// The GPUs of a node, from the best source that the node object has. For kube/ only.
//
//   1. annotation muster.dev/gpu-devices: a JSON list, one object a device; index is required, the
//   rest has these
//      defaults:  {"index": 0, "uuid": "", "model": "", "memory": 0 (MiB), "healthy": true,
//                  "cordoned": false,
//                  "sharing": "exclusive" | "time-slicing" | "mps" | "fractional" | "mig",
//                  "replicas": 1}
//      "parent": the index of the device of which it is a partition. Where that one is listed too,
//      it says whether its partitions are healthy and cordoned, and is not given out itself.
//   2. annotation hami.io/node-nvidia-register: HAMi's device list, JSON or the older colon form;
//   "fractional".
//   3. allocatable nvidia.com/gpu with the labels of GPU feature discovery: gpu.product,
//   gpu.memory, gpu.replicas,
//      gpu.sharing-strategy. Time-slicing and MPS advertise each replica, so there are allocatable
//      / replicas devices. GKE's labels say the same of its own plugin (gke-gpu-sharing-strategy,
//      gke-max-shared-clients-per-gpu, gke-gpu-partition-size), and the models are known from
//      labels of clouds where feature discovery does not run (cloud_gpus.hpp).
// A source that is malformed is left out, with a warning, for the next one.
// Label or annotation muster.dev/gpu-sharing ("fractional", "exclusive") decides for 2 and 3,
// sliced devices apart. Annotation hami.io/device-cordon, UUIDs with commas in between, cordons
// devices of 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/selector.hpp"

namespace muster::kube {

// No machine has more; a node that claims more gets this many and a warning.
inline constexpr int64_t kMaxGpusPerNode = 1024;

inline constexpr const char* kHamiRegisterAnnotation = "hami.io/node-nvidia-register";
inline constexpr const char* kHamiCordonAnnotation = "hami.io/device-cordon";

struct DeviceSources {
  const cluster::Labels& labels;
  const cluster::Labels& annotations;
  int64_t advertised = 0;  // allocatable nvidia.com/gpu
  int64_t capacity = 0;    // nvidia.com/gpu; what the plugin has beyond the advertised is unhealthy
};

std::vector<cluster::Gpu> ReadNodeDevices(const DeviceSources& sources,
                                          std::vector<std::string>& warnings);

// HAMi's device plugin hands out the node's devices: it has registered them.
bool RegisteredByHami(const cluster::Labels& annotations);

// The text of annotation muster.dev/gpu-devices.
void AppendGpuDevices(std::string& out, const std::vector<cluster::Gpu>& gpus);
// How many GPUs a device plugin would advertise for these devices.
int64_t AdvertisedGpus(const std::vector<cluster::Gpu>& gpus);

// HAMi's register (hami_register.cpp): devices in order of index, each "fractional", `model` as it
// says.
cluster::Result<std::vector<cluster::Gpu>> ParseHamiRegister(std::string_view text);
// Orders by index; two devices with one index are an Error.
cluster::Result<std::vector<cluster::Gpu>> OrderByIndex(std::vector<cluster::Gpu> gpus);

}  // namespace muster::kube
