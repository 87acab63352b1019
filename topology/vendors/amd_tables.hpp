// ReadAmdTables: rocm-smi --showtopo and amd-smi topology. Internal to topology/.
#pragma once

#include <string>
#include <vector>

#include "topology/links/machine.hpp"
#include "topology/vendors/tool_text.hpp"

namespace muster::topology {

// Whether the lines hold at least one of these tools' tables.
bool HasAmdTables(const std::vector<ToolLine>& lines);
cluster::Result<Machine> ReadAmdTables(const std::vector<ToolLine>& lines,
                                       const std::string& source);

}  // namespace muster::topology
