#include "topology/vendors/parse_machine.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "topology/vendors/amd_json.hpp"
#include "topology/vendors/amd_tables.hpp"
#include "topology/vendors/gpu_listing.hpp"
#include "topology/vendors/smi_matrix.hpp"
#include "topology/vendors/tool_text.hpp"

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

}  // namespace muster::topology
