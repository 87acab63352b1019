#include "topology/machine.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "topology/amd_json.hpp"
#include "topology/amd_tables.hpp"
#include "topology/gpu_listing.hpp"
#include "topology/smi_matrix.hpp"
#include "topology/tool_text.hpp"

namespace muster::topology {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::string_view kWanted =
    "give the output of `nvidia-smi topo -m`, `rocm-smi --showtopo`, `amd-smi topology` or "
    "`npu-smi info -t topo`";

struct Impostor {
  std::string_view sign;
  std::string_view what;
};

// Outputs that people give instead. Earlier ones first.
constexpr std::string_view kPeerTable = "the output of `nvidia-smi topo -p2p`: it has no links";
constexpr std::array<Impostor, 10> kImpostors = {
    {{"Chipset not supported", kPeerTable},
     {"between DRM devices", "the JSON of rocm-smi"},
     {"NVIDIA-SMI has failed", "a failure of nvidia-smi: its driver does not run"},
     {"command not found", "the failure of a command that is not installed"},
     {"Driver Version:", "the overview of nvidia-smi"},
     {"NVIDIA-SMI", "the overview of nvidia-smi"},
     {"ROCm System Management", "another output of rocm-smi"},
     {"HostBridge", "the output of lstopo"},
     {"node distances", "the output of numactl"},
     {"NVLink", "another output about NVLinks"}}};

Error ThisIs(const std::string& source, Place place, std::string_view what) {
  return Refusal(source, place, "this is " + std::string(what) + "; " + std::string(kWanted));
}

Error Unknown(const std::vector<ToolLine>& lines, const std::string& source) {
  if (lines.empty()) return Refusal(source, {}, "the text is empty: " + std::string(kWanted));
  for (const ToolLine& line : lines) {
    // A row of a matrix without its header.
    if (IsDeviceName(line.first().text) && line.words.size() > 1 && ParseLink(line.words[1].text)) {
      return Refusal(source, line.first().place,
                     "a row without a header above it: give the whole matrix");
    }
    for (const Impostor& impostor : kImpostors) {
      if (!line.Has(impostor.sign)) continue;
      return ThisIs(source, line.first().place, impostor.what);
    }
  }
  return Refusal(source, lines.front().first().place,
                 "no matrix of links found; " + std::string(kWanted));
}

std::string Numbers(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text.empty() ? "N/A" : text;
}

}  // namespace

Result<Machine> ParseMachine(std::string_view text, const std::string& source) {
  if (text.size() > kMostTopologyBytes) {
    return Error{
        Code::kExhausted,
        "more than " + std::to_string(kMostTopologyBytes) + " bytes; " + std::string(kWanted),
        source};
  }
  std::vector<ToolLine> lines = CutLines(text);
  if (IsAmdJson(lines)) {
    const Result<std::vector<ToolLine>> tables = TablesOfAmdJson(lines, source);
    if (!tables.ok()) return tables.error();
    return ReadAmdTables(*tables, source);
  }
  const std::optional<Place> peers = DropPeerTables(lines);
  if (HasAmdTables(lines)) return ReadAmdTables(lines, source);
  if (const auto header = FindSmiMatrix(lines)) return ReadSmiMatrix(lines, *header, source);
  if (IsGpuListing(lines)) return ReadGpuListing(lines, source);
  if (peers) return ThisIs(source, *peers, kPeerTable);
  return Unknown(lines, source);
}

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
