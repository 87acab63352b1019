// ReadGpuListing: nvidia-smi -L and nvidia-smi nvlink --status, which name GPUs and say nothing of
// what lies between them. Internal to topology/.
#pragma once

#include <string>
#include <vector>

#include "topology/links/machine.hpp"
#include "topology/vendors/tool_text.hpp"

namespace muster::topology {

bool IsGpuListing(const std::vector<ToolLine>& lines);
cluster::Result<Machine> ReadGpuListing(const std::vector<ToolLine>& lines,
                                        const std::string& source);

}  // namespace muster::topology
