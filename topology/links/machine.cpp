#include "topology/links/machine.hpp"

#include <algorithm>

namespace muster::topology {
namespace {

std::string Numbers(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text.empty() ? "N/A" : text;
}

}  // namespace

std::string WriteMachine(const Machine& machine) {
  std::string text;
  const auto name = [&](size_t i) {
    const size_t gpus = machine.gpus.size();
    return i < gpus ? machine.gpus[i].name : machine.nics[i - gpus].column;
  };
  const auto header = [&] {
    for (size_t i = 0; i < machine.devices(); ++i) text += "\t" + name(i);
  };
  const auto rows = [&](const auto& cell, const auto& rest) {
    for (size_t a = 0; a < machine.devices(); ++a) {
      text += name(a);
      for (size_t b = 0; b < machine.devices(); ++b) text += "\t" + cell(machine.At(a, b));
      text += rest(a) + "\n";
    }
  };
  const auto plain = [](const Cell& cell) { return cell.text; };
  if (machine.tool == Tool::kAmd) {
    const auto none = [](size_t) { return std::string(); };
    const auto table = [&](const char* title, const auto& cell) {
      text += std::string(title) + " TABLE:\n";
      header();
      text += "\n";
      rows(cell, none);
    };
    table("LINK TYPE", plain);
    table("HOPS", [](const Cell& cell) {
      return std::to_string(cell.link.type == LinkType::kSelf ? 0 : cell.link.hops);
    });
    table("NUMA BW", [](const Cell& cell) {
      const std::string most = std::to_string(cell.bandwidth);
      return cell.bandwidth == 0 ? "N/A" : most + "-" + most;
    });
    text += "=== Numa Nodes ===\n";
    for (const Accelerator& gpu : machine.gpus) {
      if (gpu.numa.empty()) continue;
      text += "GPU[" + std::to_string(gpu.index) +
              "] : (Topology) Numa Node: " + std::to_string(gpu.numa.front()) + "\n";
    }
    return text;
  }
  header();
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  rows(plain, [&](size_t a) {
    const size_t gpus = machine.gpus.size();
    if (a >= gpus) return "\tN/A\t" + Numbers(machine.nics[a - gpus].numa) + "\tN/A";
    const Accelerator& gpu = machine.gpus[a];
    return "\t" + (gpu.cpus.empty() ? "N/A" : gpu.cpus) + "\t" + Numbers(gpu.numa) + "\t" +
           (gpu.memory_node ? std::to_string(*gpu.memory_node) : "N/A");
  });
  // Only a legend says that the matrix does not show NVLinks.
  if (machine.pcie_only) text += "\nLegend:\n  NODE = PCIe only\n";
  const auto renamed = [](const NetworkDevice& nic) { return nic.name != nic.column; };
  if (std::any_of(machine.nics.begin(), machine.nics.end(), renamed)) text += "\nNIC Legend:\n\n";
  for (const NetworkDevice& nic : machine.nics) {
    if (renamed(nic)) text += "  " + nic.column + ": " + nic.name + "\n";
  }
  return text;
}

}  // namespace muster::topology
