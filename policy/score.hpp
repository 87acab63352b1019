// Score: how well a node suits a pod; compared field by field, smaller is better (internal to
// policy/).
#pragma once

#include <compare>
#include <cstdint>

#include "cluster/resources.hpp"
#include "cluster/snapshot.hpp"
#include "policy/placement.hpp"

namespace muster::policy {

// Binpack, pod with GPUs: break open as few whole devices as possible, leave as few behind on the
// node as possible, fill the device and the node. Pod without GPUs: nodes without GPUs first, then
// nodes whose GPUs are taken, then the fullest. Spread: the emptiest node, except that a pod
// without GPUs still stays off GPU nodes where it can.
struct Score {
  int32_t opened =
      0;  // whole devices that become shared ones; for a pod without GPUs: 1 on a node with GPUs
  int32_t whole = 0;  // fully free devices that remain
  int32_t milli = 0;  // GPU-milli that remain free, on the device for a share, else on the node
  int64_t cpu = 0;    // milli-CPU that remain free
  uint32_t rank = 0;  // of the node's name
  auto operator<=>(const Score&) const = default;
};

// `room`: free milli of the device that a share would take (ignored for whole GPUs).
inline Score ScoreOf(const cluster::NodeFree& free, const cluster::PodSpec& spec, int16_t share,
                     int16_t room, bool has_gpus, uint32_t rank, Strategy strategy) {
  Score score;
  const bool shares = share > 0 && share < cluster::kWholeGpu.value();
  if (spec.gpus.none()) {
    score.opened = has_gpus ? 1 : 0;
    score.whole = free.gpu_whole;
    score.milli = free.gpu_total;
  } else if (shares) {
    score.opened = room == cluster::kWholeGpu.value() ? 1 : 0;
    score.whole = free.gpu_whole - score.opened;
    score.milli = room - share;
  } else {
    score.whole = free.gpu_whole - spec.gpus.count;
    score.milli = free.gpu_total;
  }
  score.cpu = (free.resources.cpu - spec.requests.cpu).value();
  score.rank = rank;
  if (strategy == Strategy::kSpread) {
    if (!spec.gpus.none()) score.opened = -score.opened;
    score.whole = -score.whole;
    score.milli = -score.milli;
    score.cpu = -score.cpu;
  }
  return score;
}

}  // namespace muster::policy
