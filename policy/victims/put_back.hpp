// PutBack: a victim is spared (internal to policy/). Pure; any thread.
#pragma once

#include <algorithm>
#include <utility>

#include "cluster/holdings/transaction.hpp"

namespace muster::policy {

// What an evicted pod holds it holds again, if there is still room for that; else nothing changes.
// What it has of devices that are given to nobody any more (cluster::Gpu::usable) is in nobody's
// way.
inline bool PutBack(cluster::Transaction& tx, cluster::Placement held) {
  const cluster::Node& node = *tx.node(held.node);
  std::erase_if(held.gpus, [&](const cluster::GpuShare& share) {
    return std::any_of(node.gpus.begin(), node.gpus.end(), [&](const cluster::Gpu& gpu) {
      return gpu.index == share.index && !gpu.usable();
    });
  });
  if (!tx.free().Fits(node, held)) return false;
  tx.Place(std::move(held));
  return true;
}

}  // namespace muster::policy
