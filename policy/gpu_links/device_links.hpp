// DeviceLinks: how the GPUs of a node are connected, by their place in Node::gpus; and the memory
// that finds the best source of a node and reads each text once (internal to policy/).
//
// Sources, best first: what the node's record has (ResourceSlices only before profiles of PCIe
// alone), the profile of its model, nothing. One of another machine is left out for the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/amounts/device_amount.hpp"
#include "cluster/records/node.hpp"
#include "topology/links/machine_profile.hpp"
#include "topology/links/node_topology.hpp"
#include "topology/links/numa_sets.hpp"
#include "topology/links/rails.hpp"

namespace muster::policy {

// Constant after construction, any thread.
class DeviceLinks {
 public:
  // `places`: topology::PlacesIn. A profile does not say what the node's firmware makes a NUMA
  // node, so sets are turned away only by what was read on the node itself.
  DeviceLinks(std::shared_ptr<const topology::NodeTopology> topology, std::vector<size_t> places,
              const cluster::Node& node);
  const std::shared_ptr<const topology::NodeTopology>& topology() const { return topology_; }
  // The kubelet turns some sets away: Choose may be empty though enough are free.
  bool turns_away() const { return numa_.turns_away(); }
  topology::NumaPolicy numa_policy() const { return numa_.policy(); }
  // The devices of each NUMA node between which it tells, rising; empty where it turns none away.
  std::vector<std::vector<size_t>> NumaNodes() const;
  // It is known beside which NICs the GPUs are.
  bool has_rails() const { return !topology_->beside.empty(); }

  // In all of these `free` is what is free of each device, in the order of Node::gpus; only those
  // that are free as a whole are chosen from, and named by their place there.
  //
  // The best `count` (topology/links/gpu_chooser.hpp) that the kubelet admits
  // (topology/links/numa_sets.hpp), rising; empty when there are not so many.
  std::vector<size_t> Choose(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // Of `those`, which are free, the one that the other free ones miss least; nothing when none is
  // a GPU of the machine.
  std::optional<size_t> ChooseOne(std::span<const cluster::DeviceAmount> free,
                                  const std::vector<size_t>& those) const;
  // The slowest link of the ring over the best `count`, MB/s, of which at least so many are free; 0
  // for one device, and where the kubelet admits no set.
  uint32_t RingOf(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // RingOf for each of so many sets of `count` that are chosen one after the other. On machines of
  // more than GpuChooser::kMostExact GPUs the later sets count as the first.
  std::vector<uint32_t> RingsOf(std::span<const cluster::DeviceAmount> free, size_t count,
                                size_t sets) const;
  // Whether NVIDIA's device plugin hands out the set that Choose gives: 0 where it does, or as good
  // a ring, or nothing is known of it; 1 where it hands out another one; 2 where that may have a
  // slower ring.
  int32_t AstrayOf(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // What the plugin hands out; by place in the topology. `free`: in the kubelet's books.
  topology::PickForecast ForecastOf(topology::GpuMask free, topology::GpuMask planned) const {
    return topology_->picks->Of(free, planned);
  }
  // By place in the topology, the place in Node::gpus; kNotOffered: not on the node.
  const std::vector<size_t>& places() const { return places_; }
  // The slowest link of the ring over these devices, free or not; nothing where one is unknown.
  std::optional<uint32_t> RingOver(const std::vector<cluster::GpuIndex>& devices) const;
  // There is a set of `count`.
  bool Fits(std::span<const cluster::DeviceAmount> free, size_t count) const;
  // How many sets of `count` can be chosen one after the other, at most `limit`.
  int64_t Times(std::span<const cluster::DeviceAmount> free, size_t count, int64_t limit) const;

  // As a mask by place in topology()->facts.machine.
  topology::GpuMask MaskOf(std::span<const cluster::DeviceAmount> free) const;
  topology::GpuMask MaskOf(const std::vector<cluster::GpuIndex>& gpus) const;
  // As Choose, with topology::RailMerit by `order` after the ring.
  topology::GpuMask ChooseOnRails(topology::GpuMask free, size_t count,
                                  const topology::RailOrder& order) const;
  std::vector<size_t> PlacesOf(topology::GpuMask set) const;  // rising, in Node::gpus

 private:
  std::shared_ptr<const topology::NodeTopology> topology_;
  std::vector<size_t> places_;  // by place in the topology; kNotOffered: not on the node
  topology::NumaSets numa_;
  // The ring over any set of two or more; nothing where sets differ.
  std::optional<uint32_t> even_ring_;
  const bool foreseen_;  // NVIDIA's device plugin chooses, by a rule that can be followed here
};

// NVIDIA's device plugin hands out the node's devices, each whole, and only its rule decides.
bool ForeseesPicks(const cluster::Node& node);

// Owned by a Placer's memory or a KubeletForecast; not thread-safe.
class LinksMemory {
 public:
  // `profiles`: null: none count. A topology lives as long as somebody holds what Of gave. The last
  // few, at most `kept`, live on for callers that ask again and hold nothing.
  explicit LinksMemory(std::shared_ptr<const topology::MachineProfiles> profiles = nullptr,
                       size_t kept = 0)
      : profiles_(std::move(profiles)), most_kept_(kept) {}
  // Null: nothing is known of the node's links.
  std::shared_ptr<const DeviceLinks> Of(const cluster::Node& node);

 private:
  using Topology = std::shared_ptr<const topology::NodeTopology>;
  // What a node's own text says, with the speeds of its model.
  using TextsOf = std::pair<topology::TopologySource, const topology::MachineProfile*>;
  using ProfileOf = std::pair<const topology::MachineProfile*, size_t>;  // and number of GPUs

  void Keep(const Topology& topology);
  Topology FromText(const cluster::Node& node, const topology::MachineProfile* profile);
  Topology FromProfile(const topology::MachineProfile& profile, size_t gpus);

  std::shared_ptr<const topology::MachineProfiles> profiles_;
  topology::TopologyCache cache_;
  std::map<TextsOf, std::map<std::string, std::weak_ptr<const topology::NodeTopology>>> by_text_;
  std::map<ProfileOf, std::weak_ptr<const topology::NodeTopology>> by_profile_;
  const size_t most_kept_;
  std::vector<Topology> kept_;
};

}  // namespace muster::policy
