// What HAMi's device plugin learns of a pod's devices: annotations that are written with the pod's
// Binding where the node's plugin is HAMi's (Node::plugin), and what they say afterwards.
// Pure functions; any thread.
//
// The plugin hands out the devices of the first container in the list that is not empty, for each
// container that the kubelet asks about, and limits it to that memory and those cores. So the list
// has one place for each container, init containers first, as the pod lists them; containers
// that do not ask for nvidia.com/gpu have an empty one. Read in Project-HAMi/HAMi v2.10.0:
// EncodePodSingleDevice and DecodePodDevices (pkg/device/devices.go), GetPendingPod
// (pkg/util/util.go), Allocate (pkg/device-plugin/nvidiadevice/nvinternal/plugin). Before v2.9.0
// the list had no init containers.
//
// The kubelet does not tell the plugin whom it serves. The plugin takes the pod that the node's
// lock names (HAMi's scheduler writes it); without a lock the first pending pod of the node with
// kHamiBindTimeAnnotation that it is to serve, or, from v2.9.0 on, has served already. So one pod
// of a node at a time may be in that state, which is its turn:
//
//   Binding ──▶ kAllocating ──plugin: "success"; or kubelet: startTime──▶ kServed
//                    │                                                      │
//                    └─ "failed", ended or gone ─▶ kNone ◀─ Muster takes the bind-time away; runs
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"

namespace muster::cluster {

// The list of devices, twice: the plugin empties the first one as it hands them out.
inline constexpr const char* kHamiToAllocateAnnotation = "hami.io/vgpu-devices-to-allocate";
inline constexpr const char* kHamiAllocatedAnnotation = "hami.io/vgpu-devices-allocated";
// The node's name, and when it was chosen, in seconds since 1970.
inline constexpr const char* kHamiNodeAnnotation = "hami.io/vgpu-node";
inline constexpr const char* kHamiTimeAnnotation = "hami.io/vgpu-time";
// "allocating" from the Binding on; then the plugin's. And when that began, in seconds since 1970.
inline constexpr const char* kHamiPhaseAnnotation = "hami.io/bind-phase";
inline constexpr const char* kHamiAllocating = "allocating";
inline constexpr const char* kHamiSuccess = "success";
inline constexpr const char* kHamiFailed = "failed";
inline constexpr const char* kHamiBindTimeAnnotation = "hami.io/bind-time";
// Annotation of a node: "2026-08-21T06:20:39Z,NAMESPACE,POD", or a time alone.
inline constexpr const char* kHamiLockAnnotation = "hami.io/mutex.lock";

struct HamiDevice {
  std::string uuid;
  int64_t memory = 0;  // MiB
  int64_t cores = 0;   // percent; 0: as much as is free
  auto operator<=>(const HamiDevice&) const = default;
};
using HamiContainers = std::vector<std::vector<HamiDevice>>;

// How the devices of a pod are divided among its containers: in the order of the list, side cars
// first, then containers. An init container uses those that begin behind the side cars that were
// started before it; whoever comes later uses them again.
struct HamiHandover {
  HamiContainers containers;
  // Why the plugin cannot be told; empty: it can.
  std::string obstacle;
};
// Nothing where HAMi has no part in it: another plugin, or no container that asks for GPUs.
// `devices` are those of the pod's placement on `node`.
std::optional<HamiHandover> HamiHandoverOf(const Node& node, const PodSpec& spec,
                                           std::span<const GpuIndex> devices);

// "GPU-1,NVIDIA,3000,30:GPU-2,NVIDIA,3000,30:;;": devices end with ':', containers with ';'.
std::string EncodeHamiDevices(const HamiContainers& containers);
// As the plugin decodes it, with an empty container behind the last ';'. Nothing: it would refuse
// the text.
std::optional<HamiContainers> DecodeHamiDevices(std::string_view text);

// What a pod's annotations say; empty: it has none.
struct HamiMarks {
  std::string_view phase;      // kHamiPhaseAnnotation
  std::string_view node;       // kHamiNodeAnnotation
  std::string_view bind_time;  // kHamiBindTimeAnnotation
  // The kubelet has taken the pod up, which it does when its devices were handed out:
  // status.startTime is there.
  bool acknowledged = false;
};
// Of a pod whose phase and node are known.
HamiTurn HamiTurnOf(const Pod& pod, const HamiMarks& marks);

// The pod for which the node is locked, as Node::hami_lock has it: "NAMESPACE/POD", or the text
// itself.
std::string HamiLockOf(std::string_view text);

}  // namespace muster::cluster
