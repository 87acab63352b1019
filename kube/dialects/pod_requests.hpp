// The effective request of a pod: what kube-scheduler counts for it on its node, and what it asks
// of GPUs. For the decoders of kube/ only.
//
//   per resource: max(Σ containers + Σ restartable init containers,
//                     max over i of (init container i + Σ restartable ones up to i)) + overhead;
//   pod-level CPU and memory replace what stands before "+ overhead".
//   A request that is missing is its limit, container by container, as the API server fills it in.
//
// GPUs are asked for in one of four ways; two at once contradict each other:
//   nvidia.com/gpu                       whole devices
//   annotation gpu-fraction "0.5"        a share of one device, of its compute and memory (KAI)
//   annotation gpu-memory "4096"         MiB of one device's memory (KAI)
//     … of gpu-fraction-num-devices devices, when that is set
//   nvidia.com/gpucores (%) and          a share of each of the nvidia.com/gpu, of one when that is
//   gpumem (MiB), gpumem-percentage      missing (HAMi): so much of its compute, so much of its
//                                        memory. Without a word about memory it is all of it, and
//                                        all of either is the whole device. Containers that ask for
//                                        different shares get, of each kind, the greatest one each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/amounts/container_gpus.hpp"
#include "cluster/amounts/resources.hpp"
#include "cluster/base/result.hpp"
#include "kube/dialects/resource_names.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

inline constexpr const char* kGpuFractionAnnotation = "gpu-fraction";
inline constexpr const char* kGpuMemoryAnnotation = "gpu-memory";
inline constexpr const char* kGpuFractionDevicesAnnotation = "gpu-fraction-num-devices";

// "true": one of the pod's resource claims is for a channel of a ComputeDomain.
inline constexpr const char* kComputeDomainAnnotation = "muster.dev/compute-domain";

// A whole amount; parts of one are rounded up, as kube-scheduler does (Quantity.Value).
cluster::Result<int64_t> ParseAmount(std::string_view text);

struct PodRequests {
  cluster::Resources resources;
  cluster::GpuRequest gpus;
  std::vector<cluster::ContainerGpus> gpu_containers;  // see PodSpec
  std::string unplanned_devices;                       // see PodSpec and unplanned_devices.hpp
};

// `spec` is pod.spec, `annotations` pod.metadata.annotations. What is malformed is a problem of the
// view.
PodRequests ReadPodRequests(const JsonView& spec, const JsonView& annotations);

inline constexpr const char* kNeedsLimit = "needs a limit of the same size";

// What every API server refuses before it has such a pod: a container's request of a device, or of
// huge pages, without a limit. A problem of the view. Of manifests only: a pod that was admitted
// is never refused for it.
void RequireLimits(const JsonView& spec);

}  // namespace muster::kube
