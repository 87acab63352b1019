// Nodes that a command is given: a file, or how many of how many GPUs.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"

namespace muster::cli {

inline constexpr std::size_t kMaxTraceBytes = std::size_t{1} << 30U;

// Kubernetes Nodes or NodePools (.yaml, .yml, .json), an openb CSV file, or "180x8". What is
// ignored of them is said on `err`, as the command.
cluster::Result<std::vector<cluster::Node>> ReadNodes(const std::string& nodes,
                                                      const std::string& command,
                                                      std::ostream& err);

}  // namespace muster::cli
