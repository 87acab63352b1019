// Machine: what the output of a vendor's tool says of one machine's accelerators and NICs
// (parse_machine.hpp). Plain values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/links/link.hpp"

namespace muster::topology {

enum class Tool : uint8_t { kNvidia, kAscend, kPpu, kAmd };

// An accelerator, whatever its vendor calls it.
struct Accelerator {
  std::string name;                // as the tool has it: "GPU3", "0000:0c:00.0"
  uint16_t index = 0;              // its number; its place in the list where names are addresses
  std::string cpus;                // "0-23,48-71"; empty when not told
  std::vector<int> numa;           // NUMA nodes with CPUs near it; empty when not told
  std::optional<int> memory_node;  // of its own memory (Grace): column "GPU NUMA ID"
  // Only from listings.
  std::string uuid;
  std::string model;
  std::vector<std::string> mig;  // profiles of its MIG devices, in order
  int active_links = 0;
  auto operator<=>(const Accelerator&) const = default;
};

struct NetworkDevice {
  std::string name;    // "mlx5_1": by the NIC legend, else the name of its column
  std::string column;  // "NIC0"
  std::vector<int> numa;
  auto operator<=>(const NetworkDevice&) const = default;
};

struct Cell {
  Link link;
  std::string text;  // as the tool wrote it
  // What the tool says that it carries, one way; 0: nothing.
  MegabytesPerSecond bandwidth = 0;
  auto operator<=>(const Cell&) const = default;
};

struct Machine {
  Tool tool = Tool::kNvidia;
  std::vector<Accelerator> gpus;
  std::vector<NetworkDevice> nics;
  // Square and symmetric: GPUs first, then NICs, each in the order of its list. Empty when the text
  // is a listing.
  std::vector<Cell> cells;
  // `topo -mp`: NVLinks do not show, whether the machine has them or not.
  bool pcie_only = false;
  auto operator<=>(const Machine&) const = default;

  size_t devices() const { return gpus.size() + nics.size(); }
  bool has_links() const { return !cells.empty(); }
  // By place: a GPU's, or gpus.size() plus a NIC's.
  const Cell& At(size_t a, size_t b) const { return cells[a * devices() + b]; }
};

inline constexpr size_t kMostGpus = 64;
inline constexpr size_t kMostDevices = 256;  // GPUs and NICs

// A matrix that ParseMachine reads as the same machine, with no more legend than that takes: short
// enough for an annotation. For machines with links.
std::string WriteMachine(const Machine& machine);

}  // namespace muster::topology
