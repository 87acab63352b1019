// NodeView: a node and what is free of it, for people. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/amounts/resources.hpp"
#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"
#include "engine/contract/left_out.hpp"

namespace muster::engine {

struct NodeView {
  cluster::Node node;
  cluster::Resources free;
  std::vector<int16_t> gpu_free;         // milli, in the order of node.gpus
  std::vector<cluster::PodUid> holders;  // ordered
  bool overcommitted = false;
  std::optional<LeftOut> left_out;
};

}  // namespace muster::engine
