// SliceLinks: how the GPUs of a node are connected, as the ResourceSlices of NVIDIA's DRA driver
// say it. Part of NodeParts, which joins it to the nodes. One thread at a time.
//
//   one PCIe root complex                     PHB, through a host bridge
//   several, of one NUMA node                 NODE
//   several NUMA nodes, or one is not known   SYS
// They know neither NVLinks nor PCIe switches, so no link is said to be faster than this.
//
// Of a pool only the highest generation counts, and only while as many slices of it are there as it
// has (resource.k8s.io, ResourcePool). While a pool of a node is not whole, the node's slices say
// nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/records/node.hpp"
#include "kube/decode/news.hpp"

namespace muster::kube {

class SliceLinks {
 public:
  // The names of the nodes of which they may say something else now: where the slice was, and where
  // it is.
  std::vector<std::string> Observe(const ResourceSlice& slice);
  std::optional<std::string> Observe(const ResourceSliceRemoved& removed);

  struct Answer {
    std::string topology;  // as cluster::Node::topology; empty: nothing is said
    std::string warning;   // empty: none
  };
  // Devices are the node's GPUs by UUID, where all of these have one; else in the order of their
  // PCI addresses, which is NVML's and the device plugin's, if they are as many. A warning: they
  // are other GPUs.
  Answer Of(const cluster::Node& node) const;
  bool empty() const { return pools_of_.empty(); }

 private:
  using Pool = std::map<std::string, ResourceSlice>;  // by UID
  // By name; nothing: one is not whole.
  static std::optional<std::vector<SliceGpu>> GpusOf(const std::map<std::string, Pool>& pools);

  struct Place {
    std::string node;
    std::string pool;
  };
  // Both looked up, never ordered.
  std::unordered_map<std::string, std::map<std::string, Pool>> pools_of_;  // by node, then name
  std::unordered_map<std::string, Place> place_of_;                        // by the slice's UID
};

}  // namespace muster::kube
