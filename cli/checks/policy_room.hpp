// What a policy promises that nodes do not have.
#pragma once

#include <string>
#include <vector>

#include "cluster/records/node.hpp"
#include "queues/queue_spec.hpp"

namespace muster::cli {

// In the order of the file: guarantees that are more than all nodes have, and amounts of models of
// which no node has a device. Nodes count as if they were ready.
std::vector<std::string> PromisesBeyond(const std::vector<queues::QueueSpec>& queues,
                                        const std::vector<cluster::Node>& nodes);

}  // namespace muster::cli
