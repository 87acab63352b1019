// ReadHamiChoice: which devices a pod lets be its own by HAMi's annotations, and how they are
// chosen (cluster/amounts/gpu_choice.hpp):
//
//   nvidia.com/use-gputype, nouse-gputype   "A100,H100": parts of the model's name
//   nvidia.com/use-gpuuuid, nouse-gpuuuid   "GPU-1,GPU-2"
//   nvidia.com/vgpu-mode                    hami-core, mig, mps, or several of them
//   hami.io/node-scheduler-policy           binpack, spread
//   hami.io/gpu-scheduler-policy            binpack, spread, mutex, topology-aware (what Muster
//                                           does in any case where it knows the links)
//
// Not honoured, and told: numa of hami.io/gpu-scheduler-policy. Pure, any thread. For the decoders
// of kube/ only.
#pragma once

#include <string>

#include "cluster/amounts/gpu_choice.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

class JsonWriter;

inline constexpr const char* kHamiUseType = "nvidia.com/use-gputype";
inline constexpr const char* kHamiNoUseType = "nvidia.com/nouse-gputype";
inline constexpr const char* kHamiUseUuid = "nvidia.com/use-gpuuuid";
inline constexpr const char* kHamiNoUseUuid = "nvidia.com/nouse-gpuuuid";
inline constexpr const char* kHamiMode = "nvidia.com/vgpu-mode";
inline constexpr const char* kHamiNodePolicy = "hami.io/node-scheduler-policy";
inline constexpr const char* kHamiGpuPolicy = "hami.io/gpu-scheduler-policy";

// Of a pod that asks for GPUs. What can let no device is a problem of the view.
cluster::GpuChoice ReadHamiChoice(const JsonView& annotations);
// Which of these words are not heeded, for people; empty: all are.
std::string UnheededOfHami(const JsonView& annotations);
// The annotations that say it.
void AppendHamiChoice(JsonWriter& json, const cluster::GpuWords& words);

}  // namespace muster::kube
