// LeftOut: that a node, or devices of it, are given to no new member for now, because members
// failed there at their start. For people; plain values. NodeHealth decides it.
#pragma once

#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"

namespace muster::engine {

struct LeftOut {
  cluster::Time until;
  std::string why;
  std::vector<cluster::GpuIndex> gpus;  // these alone; empty: the node
};

}  // namespace muster::engine
