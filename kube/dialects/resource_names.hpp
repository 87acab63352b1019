// Names of resources: those that Muster plans, and what others say: that no node can have it, that
// it is another one mistyped, that a request needs a limit. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::kube {

inline constexpr const char* kGpuResource = "nvidia.com/gpu";
inline constexpr const char* kGpuMemoryResource = "nvidia.com/gpumem";
inline constexpr const char* kGpuMemoryPercentResource = "nvidia.com/gpumem-percentage";
inline constexpr const char* kGpuCoresResource = "nvidia.com/gpucores";

// What is wrong with the name in a pod's requests, a node's capacity or the like; empty: nothing. A
// name without a domain must be one of Kubernetes' own, as the API server has it; one that is close
// to a device that Muster plans is taken for a slip, because no node would ever have it.
std::string WrongResource(std::string_view name);

// "hugepages-2Mi".
bool IsHugePages(std::string_view resource);

// kube-scheduler counts it on nodes, and all that Muster knows of it is its name:
// ephemeral-storage, huge pages, and resources with a domain that stand for no GPU or other device
// that Muster plans or refuses (unplanned_devices.hpp).
bool IsNamedResource(std::string_view resource);

// A request without a limit is taken: not of devices and huge pages (IsOvercommitAllowed in
// pkg/apis/core/v1/helper of k8s.io/kubernetes).
bool MayOvercommit(std::string_view resource);

}  // namespace muster::kube
