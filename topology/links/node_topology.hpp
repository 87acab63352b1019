// NodeTopology: all that placement asks about the inside of one node, and TopologyCache, which
// builds it once for all nodes that are alike.
//
//   TopologyCache cache;                                   // one for each owner of nodes
//   auto topology = cache.Of({TopologySource::kAnnotation, machine, speeds});
//   std::vector<size_t> places = topology->Choose(free, 4);
//
// GPUs are counted by place: the place in Machine::gpus, which PlacesIn (node_match.hpp) maps to
// the place in cluster::Node::gpus.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"
#include "topology/links/gpu_chooser.hpp"
#include "topology/links/kubelet_pick.hpp"
#include "topology/links/machine.hpp"
#include "topology/links/pick_table.hpp"
#include "topology/links/rails.hpp"

namespace muster::topology {

using cluster::TopologySource;
std::string_view ToString(TopologySource source);

// What some source says of a machine.
struct MachineFacts {
  TopologySource source = TopologySource::kFlat;
  Machine machine;  // with links
  LinkSpeeds speeds = {};
  std::string profile = {};  // for people: of which profile machine or speeds are; empty: of none
  // The profile is of another number of GPUs: its slowest link between all of these.
  bool another_size = false;
  auto operator<=>(const MachineFacts&) const = default;
};

// Constant after construction, any thread.
struct NodeTopology {
  MachineFacts facts;
  std::shared_ptr<const GpuChooser> chooser;  // shared by all machines with this matrix
  std::shared_ptr<const PickTable> picks;     // what the device plugin makes of a plan
  std::vector<GpuMask> beside;                // GpusBeside: by NIC
  // The one bandwidth that all pairs of GPUs have; nothing where they differ, and for one GPU.
  std::optional<MegabytesPerSecond> even;

  // The best set of `count` free GPUs, rising; empty when fewer are free.
  std::vector<size_t> Choose(GpuMask free, size_t count) const {
    return PlacesOf(chooser->Choose(free, count));
  }
  // Of single GPUs in `candidates` the one whose loss costs the free ones least: the odd one out.
  // For parts of a GPU, ask only when none is opened already: that one costs nothing.
  std::optional<size_t> ChooseOne(GpuMask free, GpuMask candidates) const;
};

// A machine of which nothing is known but how many GPUs it has: all links alike, `link` each.
Machine FlatMachine(size_t gpus, const Cell& link = {Link{LinkType::kUnknown}, "NA", 0});
// The slowest link between two of the machine's GPUs; null for one GPU.
const Cell* SlowestLink(const Machine& machine, const LinkSpeeds& speeds);
// From scores of pairs (hami.io/node-nvidia-score; link.hpp), gpus × gpus, the diagonal ignored.
// kInvalidArgument for what is no such score, or not the same both ways.
cluster::Result<Machine> MachineOfPairScores(const std::vector<int>& scores, size_t gpus);

// Owner: one thread. What it hands out may go to any, and lives as long as someone holds it.
class TopologyCache {
 public:
  // Alike machines get the same object.
  std::shared_ptr<const NodeTopology> Of(MachineFacts facts);
  // Tables of choosers that somebody holds; for tests and metrics.
  size_t live_tables() const;

 private:
  std::map<MachineFacts, std::weak_ptr<const NodeTopology>> nodes_;
  std::map<GpuMatrix, std::weak_ptr<const GpuChooser>> choosers_;
};

}  // namespace muster::topology
