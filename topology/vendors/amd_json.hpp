// TablesOfAmdJson: amd-smi topology --json as the tables that amd-smi prints without --json, each
// word at its place in the JSON, so that one reader judges both. Internal to topology/.
//
//   [{"gpu": 0, "bdf": "0000:0c:00.0", "links": [{"gpu": 1, "link_type": "XGMI", "num_hops": 1,
//     "bandwidth": "50000-50000", …}, …]}, …]                        since ROCm 6.2; ROCm 7 may put
//                                                                     it into {"gpu_data": …}
//   [{"gpu": 0, "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI"}, "hops": {…}, …}, …]  before
#pragma once

#include <string>
#include <vector>

#include "topology/vendors/tool_text.hpp"

namespace muster::topology {

// Whether the lines hold JSON of amd-smi: objects with a key "gpu".
bool IsAmdJson(const std::vector<ToolLine>& lines);
// GPUs are called GPU0 and so on, by their numbers. Of the JSON's form it checks only what takes it
// apart; nothing of what the cells say.
cluster::Result<std::vector<ToolLine>> TablesOfAmdJson(const std::vector<ToolLine>& lines,
                                                       const std::string& source);

}  // namespace muster::topology
