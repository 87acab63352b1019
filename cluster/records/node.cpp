#include "cluster/records/node.hpp"

#include <algorithm>

namespace muster::cluster {

std::string UuidsOf(const Node& node, const std::vector<GpuIndex>& gpus) {
  std::string uuids;
  for (const GpuIndex index : gpus) {
    const auto gpu = std::find_if(node.gpus.begin(), node.gpus.end(),
                                  [&](const Gpu& one) { return one.index == index; });
    if (gpu == node.gpus.end() || gpu->uuid.empty()) return {};
    uuids += (uuids.empty() ? "" : ",") + gpu->uuid;
  }
  return uuids;
}

}  // namespace muster::cluster
