// Node and Gpu: the records of one machine, as the API server and the GPU operator's labels
// describe it. Plain values, built by the decoders, immutable once inside a ClusterState.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/amounts/gpu_choice.hpp"
#include "cluster/amounts/resources.hpp"
#include "cluster/amounts/sharing.hpp"
#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/selector.hpp"
#include "cluster/records/volume_demand.hpp"

namespace muster::cluster {

struct Gpu {
  GpuIndex index;
  std::string uuid;   // empty when nothing reported it
  std::string model;  // e.g. "NVIDIA-H100-80GB-HBM3", as label nvidia.com/gpu.product has it
  MiB memory;         // 0 when nothing reported it
  GpuSharing sharing = GpuSharing::Exclusive();
  int32_t replicas = 1;
  bool healthy = true;
  bool cordoned = false;  // given to no new pod: an administrator says so
  bool left_out = false;  // given to no new pod for now: pods failed on it at their start
  // The device of which this is a MIG partition. That device is given out only as partitions, and
  // is not in Node::gpus.
  GpuIndex parent = kNoParent;
  HamiMode hami_mode = HamiMode::kNone;
  auto operator<=>(const Gpu&) const = default;

  static constexpr GpuIndex kNoParent{UINT16_MAX};
  DeviceSize size() const { return {memory, replicas}; }
  bool partition() const { return parent != kNoParent; }
  // True when new pods may be planned on it at all.
  bool usable() const { return healthy && !cordoned && !left_out; }
};

// What the kubelet's topology manager turns away (topologyManagerPolicy): with single-numa-node
// GPUs of several NUMA nodes, with restricted GPUs of more NUMA nodes than so many GPUs need.
enum class NumaPolicy : uint8_t { kNone, kBestEffort, kRestricted, kSingleNumaNode };

// Who hands out the node's GPUs: NVIDIA's device plugin, which chooses on its own, or HAMi's, which
// takes those that the pod's annotations name (hami_devices.hpp).
enum class DevicePlugin : uint8_t { kStock, kHami };

// Where the links between a node's GPUs were read, best first.
enum class TopologySource : uint8_t { kAnnotation, kPairScores, kResourceSlices, kProfile, kFlat };

struct Node {
  NodeUid uid;
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  bool unschedulable = false;  // spec.unschedulable (cordoned)
  bool ready = true;           // condition Ready is True
  Resources allocatable;       // CPU, memory, pod slots
  std::vector<Gpu> gpus;       // ordered by index
  // How its GPUs are connected, as an object of the API says it: a matrix that
  // topology::ParseMachine reads. Empty: nothing says it, and the source is kFlat.
  std::string topology;
  TopologySource topology_source = TopologySource::kFlat;
  NumaPolicy numa_policy = NumaPolicy::kNone;
  DevicePlugin plugin = DevicePlugin::kStock;
  std::string hami_lock;  // for which pod HAMi's scheduler has locked the node; empty: for none
  bool left_out = false;  // like Gpu::left_out; the scheduler's own mark, no API object has it
  // Of CSI drivers; the scheduler's own, too: another object than the node says it. A driver that
  // is not there has no limit.
  std::vector<AttachLimit> attach_limits = {};
  auto operator<=>(const Node&) const = default;

  // True when new pods may be planned here at all.
  bool schedulable() const { return ready && !unschedulable && !left_out; }
};

// The UUIDs of those of its GPUs, comma-separated; empty where one of them is not known.
std::string UuidsOf(const Node& node, const std::vector<GpuIndex>& gpus);

}  // namespace muster::cluster
