// NodeTopology: all that placement asks about the inside of one node, and TopologyCache, which
// builds it once for all nodes that are alike.
//
//   TopologyCache cache;                                   // one for each owner of nodes
//   auto topology = cache.Of(machine, speeds, TopologySource::kAnnotation);
//   std::vector<size_t> places = topology->Choose(free, 4);
//
// GPUs are counted by place: the place in Machine::gpus, which is the place in cluster::Node::gpus
// where PlacesIn() says so.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "cluster/node.hpp"
#include "topology/gpu_chooser.hpp"
#include "topology/kubelet_pick.hpp"
#include "topology/machine.hpp"
#include "topology/pick_table.hpp"
#include "topology/rails.hpp"

namespace muster::topology {

// Where a node's topology was read, best first.
enum class TopologySource { kAnnotation, kPairScores, kResourceSlices, kProfile, kFlat };
std::string_view ToString(TopologySource source);

// Constant after construction, any thread.
struct NodeTopology {
  TopologySource source;
  Machine machine;
  std::shared_ptr<const GpuChooser> chooser;  // shared by all machines with this matrix
  std::vector<NearNics> near;                 // by GPU
  std::shared_ptr<const PickTable> picks;     // what the device plugin makes of a plan

  // The best set of `count` free GPUs, rising; empty when fewer are free.
  std::vector<size_t> Choose(GpuMask free, size_t count) const {
    return PlacesOf(chooser->Choose(free, count));
  }
  // Beside the same NICs as the gang's other members (rails.hpp).
  std::vector<size_t> ChooseOnRails(GpuMask free, size_t count,
                                    const std::vector<size_t>& rails) const {
    return PlacesOf(topology::ChooseOnRails(*chooser, near, free, count, rails));
  }
  // Of single GPUs in `candidates` the one whose loss costs the free ones least: the odd one out.
  // For parts of a GPU, ask only when none is opened already: that one costs nothing.
  std::optional<size_t> ChooseOne(GpuMask free, GpuMask candidates) const;

  // By place here, the place in node.gpus of the device with the same index. Nothing when a device
  // is missing on either side (partitions aside): the topology is of another machine.
  std::optional<std::vector<size_t>> PlacesIn(const cluster::Node& node) const;
};

// A machine of which nothing is known but how many GPUs it has: all links alike.
Machine FlatMachine(size_t gpus);
// From scores of pairs (hami.io/node-nvidia-score; link.hpp), gpus × gpus, the diagonal ignored.
// kInvalidArgument for what is no such score, or not the same both ways.
cluster::Result<Machine> MachineOfPairScores(const std::vector<int>& scores, size_t gpus);

// Owner: one thread. What it hands out may go to any, and lives as long as someone holds it.
class TopologyCache {
 public:
  // For a machine with links. Alike machines get the same object.
  std::shared_ptr<const NodeTopology> Of(const Machine& machine, const LinkSpeeds& speeds,
                                         TopologySource source);
  // Tables of choosers that somebody holds; for tests and metrics.
  size_t live_tables() const;

 private:
  using Key = std::tuple<Machine, LinkSpeeds, TopologySource>;
  std::map<Key, std::weak_ptr<const NodeTopology>> nodes_;
  std::map<GpuMatrix, std::weak_ptr<const GpuChooser>> choosers_;
};

}  // namespace muster::topology
