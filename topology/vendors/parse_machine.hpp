// ParseMachine: reads what the output of a vendor's tool says of one machine.
//
//   nvidia-smi topo -m and -mp of every driver, npu-smi info -t topo, ppu-smi topo -m,
//   rocm-smi --showtopo, amd-smi topology [--json]; nvidia-smi -L, nvlink --status: without links
//
// Text that people copied is read as it is meant where one meaning is possible: other blanks,
// CRLF, quoted, wrapped or glued columns, residue of escape codes, with or without a legend,
// before or behind the matrix. Where two are possible, or none, it is refused, with line and
// column. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

inline constexpr size_t kMostTopologyBytes = size_t{1} << 20U;

// `source` stands before line and column in errors ("FILE:3:9").
cluster::Result<Machine> ParseMachine(std::string_view text, const std::string& source);

}  // namespace muster::topology
