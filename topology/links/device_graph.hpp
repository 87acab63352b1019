// DeviceGraph: one machine's GPUs and NICs and what lies between them, with link types and
// bandwidths; and the dense GPU×GPU matrix that comes out of it. Built once for each different
// machine; placement looks at the matrix only. Immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/links/machine.hpp"

namespace muster::topology {

// What the choice of GPUs goes by. GPUs are counted by place in the machine.
struct GpuMatrix {
  size_t gpus = 0;
  std::vector<MegabytesPerSecond> bandwidth;  // gpus × gpus, symmetric, 0 where nothing is known
  // Which GPUs share a socket: numbers from 0. From NUMA nodes, else CPU lists, else link classes.
  std::vector<uint8_t> socket;
  auto operator<=>(const GpuMatrix&) const = default;

  MegabytesPerSecond At(size_t a, size_t b) const { return bandwidth[a * gpus + b]; }
};

struct DeviceGraph {
  enum class Kind : uint8_t { kGpu, kNic, kFabricSwitch, kPcieSwitch, kHostBridge, kNumaNode };
  struct Vertex {
    Kind kind;
    std::string name;
  };
  struct Edge {
    size_t from;  // places in vertices; links work both ways
    size_t to;
    LinkType type;
    int count;  // bonded links
    MegabytesPerSecond bandwidth;
  };

  std::vector<Vertex> vertices;  // GPUs, then NICs, each by place in the machine; then the rest
  std::vector<Edge> edges;
  GpuMatrix matrix;
  size_t odd_pairs = 0;  // whose class the paths do not give
};

// For a machine with links. Bridges and switches are those that the classes imply: devices at PIX
// share a switch, at PXB a larger one, at PHB a host bridge, at NODE a NUMA node; NVLinks of a GPU
// that add up to more than a GPU has go through a switch. A pair's bandwidth is that of the widest
// path that passes no other GPU or NIC; where classes fit no tree, the pair's own class counts.
DeviceGraph BuildGraph(const Machine& machine, const LinkSpeeds& speeds);

// How a pair of GPUs is related over PCIe, also where `topo -m` shows the NVLinks between them: by
// what both have near, kSys where nothing is known. gpus × gpus.
std::vector<LinkType> PcieRelations(const Machine& machine);

// For Graphviz.
std::string ToDot(const DeviceGraph& graph);

}  // namespace muster::topology
