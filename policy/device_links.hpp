// DeviceLinks: how the GPUs of a node are connected, by their place in Node::gpus; and the memory
// that reads each text once (internal to policy/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/device_amount.hpp"
#include "cluster/node.hpp"
#include "topology/node_topology.hpp"
#include "topology/numa_sets.hpp"

namespace muster::policy {

// Constant after construction, any thread.
class DeviceLinks {
 public:
  // `places`: NodeTopology::PlacesIn.
  DeviceLinks(std::shared_ptr<const topology::NodeTopology> topology, std::vector<size_t> places,
              const cluster::Node& node);
  // The kubelet turns some sets away: Choose may be empty though enough are free.
  bool turns_away() const { return numa_.turns_away(); }

  // In all of these `free` is what is free of each device, in the order of Node::gpus; only those
  // that are free as a whole are chosen from, and named by their place there.
  //
  // The best `count` (topology/gpu_chooser.hpp) that the kubelet admits (topology/numa_sets.hpp),
  // rising; empty when there are not so many.
  std::vector<size_t> Choose(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // The one that the others miss least, to be opened for a share; nothing when none is free.
  std::optional<size_t> ChooseOne(std::span<const cluster::DeviceAmount> free) const;
  // The slowest link of the ring over them, MB/s; 0 for one device and for none.
  uint32_t RingOf(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // Whether NVIDIA's device plugin hands out the set that Choose gives: 0 where it does, or as good
  // a ring, or nothing is known of it; 1 where it hands out another one; 2 where that may have a
  // slower ring.
  int32_t AstrayOf(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // The same for devices by their places in Node::gpus. `free`: in the kubelet's books.
  topology::PickForecast ForecastOf(topology::GpuMask free, topology::GpuMask planned) const {
    return topology_->picks->Of(free, planned);
  }
  // By place in the topology, the place in Node::gpus.
  const std::vector<size_t>& places() const { return places_; }
  // The same of these devices of the node, be they free or not; nothing where one is unknown.
  std::optional<uint32_t> RingOver(const cluster::Node& node,
                                   const std::vector<cluster::GpuIndex>& devices) const;
  // There is a set of `count`.
  bool Fits(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // How many sets of `count` can be chosen one after the other, at most `limit`.
  int64_t Times(std::span<const cluster::DeviceAmount> free, size_t count, int64_t limit) const;

 private:
  topology::GpuMask MaskOf(std::span<const cluster::DeviceAmount> free) const;

  std::shared_ptr<const topology::NodeTopology> topology_;
  std::vector<size_t> places_;  // by place in the topology
  topology::NumaSets numa_;
  const bool foreseen_;  // NVIDIA's device plugin chooses, by a rule that can be followed here
};

// NVIDIA's device plugin hands out the node's devices, each whole, and only its rule decides.
bool ForeseesPicks(const cluster::Node& node);

// Owned by a Placer's memory or a KubeletForecast; not thread-safe.
class LinksMemory {
 public:
  // Topologies live as long as somebody holds what Of gave, and besides the last few, `kept` at
  // most: for who asks again and holds nothing.
  explicit LinksMemory(size_t kept = 0) : most_kept_(kept) {}
  // Null: nothing is known of the node's links, or what is known is of another machine.
  std::shared_ptr<const DeviceLinks> Of(const cluster::Node& node);

 private:
  topology::TopologyCache cache_;
  std::map<std::string, std::weak_ptr<const topology::NodeTopology>> by_text_;
  const size_t most_kept_;
  std::vector<std::shared_ptr<const topology::NodeTopology>> kept_;
};

}  // namespace muster::policy
