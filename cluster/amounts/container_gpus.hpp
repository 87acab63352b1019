// ContainerGpus: what one container of a pod asks of GPUs. A pod's GpuRequest is what all of them
// come to; the containers count where the devices of a pod are divided among them. Plain values.
#pragma once

#include <compare>
#include <cstdint>

namespace muster::cluster {

// kInit runs before the containers and ends; kSidecar is an init container that goes on beside them
// (restartPolicy Always).
enum class ContainerKind : uint8_t { kMain, kInit, kSidecar };

struct ContainerGpus {
  ContainerKind kind = ContainerKind::kMain;
  // Of each device, in percent. memory_percent 0 with memory_mib 0: nothing was said of a share,
  // and the container gets all of the memory.
  int8_t cores = 0;
  int8_t memory_percent = 0;
  int32_t count = 0;       // devices that the kubelet is asked for; 0: none
  int32_t memory_mib = 0;  // of each device; 0: not said so. Before memory_percent

  auto operator<=>(const ContainerGpus&) const = default;
  // It asks for a part of each device in the words of HAMi.
  bool says_share() const { return cores > 0 || memory_percent > 0 || memory_mib > 0; }
  // Devices that are planned for it: a share without a number of devices is one of one device,
  // though the kubelet is not asked for any.
  int32_t planned() const { return count == 0 && says_share() ? 1 : count; }
};

}  // namespace muster::cluster
