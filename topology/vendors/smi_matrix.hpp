// ReadSmiMatrix: the matrices of nvidia-smi topo, npu-smi info -t topo and ppu-smi topo.
// Internal to topology/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/links/machine.hpp"
#include "topology/vendors/tool_text.hpp"

namespace muster::topology {

// Takes out the tables of nvidia-smi topo -p2p, which scripts print beside the matrix: whether
// pairs of GPUs can read each other's memory, and nothing of links. The place of the first.
std::optional<Place> DropPeerTables(std::vector<ToolLine>& lines);
// The line of the header, counted in `lines`; nothing when there is no such matrix.
std::optional<size_t> FindSmiMatrix(const std::vector<ToolLine>& lines);
// `header` is what FindSmiMatrix found.
cluster::Result<Machine> ReadSmiMatrix(const std::vector<ToolLine>& lines, size_t header,
                                       const std::string& source);

}  // namespace muster::topology
