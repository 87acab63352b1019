// Score: how well a node suits one pod, compared field by field; smaller is better (internal to
// policy/). Plain values.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/pod.hpp"
#include "policy/fit/eligibility.hpp"
#include "policy/terms/options.hpp"

namespace muster::policy {

// What one pod would take of a node's devices.
struct DeviceUse {
  int32_t opened = 0;  // devices that are fully free now and would be shared from then on
  int32_t whole = 0;   // devices that are fully free now and would be taken whole
  // GPU-milli taken in all, of compute or of memory, whichever is more.
  int32_t milli = 0;
  uint32_t ring = 0;   // slowest link of the ring over them, MB/s; 0: not known, or no matter
  int32_t astray = 0;  // DeviceLinks::AstrayOf
};

// First of all the fastest ring, where the links of nodes are known; then a node where NVIDIA's
// device plugin will hand out the GPUs that have it.
//
// Binpack: break open as few whole devices as possible, then fill the node that has the fewest
// whole devices left afterwards, then the least GPU-milli, then the least CPU. A pod without GPUs
// goes where there are none, else where they are taken already: CPU beside free GPUs is kept for
// those who will want both.
//
// Spread: the reverse, except that a pod without GPUs still stays off GPU nodes where it can, and
// looks for the node with most CPU left, which is what such pods compete for.
struct Score {
  int32_t stray = 0;       // 1: a node with GPUs for a pod that wants none
  int64_t ring = 0;        // DeviceUse::ring, less than 0
  int32_t astray = 0;      // DeviceUse::astray
  int32_t opened = 0;      // DeviceUse::opened
  int32_t whole_left = 0;  // fully free devices afterwards
  int32_t milli_left = 0;  // GPU-milli free on the node afterwards
  int32_t cpu_left = 0;    // thousandths of the node's CPU free afterwards
  uint64_t rank = 0;       // of the node's name, under either strategy
  auto operator<=>(const Score&) const = default;
};

// Both scores rate the GPUs equally.
inline bool SameGpus(const Score& a, const Score& b) {
  return a.stray == b.stray && a.ring == b.ring && a.astray == b.astray && a.opened == b.opened &&
         a.whole_left == b.whole_left && a.milli_left == b.milli_left;
}

inline Score ScoreOf(const cluster::PodSpec& spec, const cluster::NodeFree& free,
                     const NodeFacts& facts, const DeviceUse& use, Strategy strategy) {
  const bool wants_gpus = !spec.gpus.none();
  const int64_t cpu = (free.resources.cpu - spec.requests.cpu).value();
  Score score;
  score.stray = !wants_gpus && facts.gpus > 0 ? 1 : 0;
  score.ring = -int64_t{use.ring};
  score.astray = use.astray;
  score.opened = use.opened;
  score.whole_left = free.gpu_whole - use.opened - use.whole;
  score.milli_left = free.gpu_total() - use.milli;
  const int64_t share = cluster::SaturatingMultiply(cpu, 1000) / std::max<int64_t>(facts.cpu, 1);
  score.cpu_left = static_cast<int32_t>(std::clamp<int64_t>(share, 0, 1000));
  score.rank = facts.rank;
  if (strategy == Strategy::kSpread) {
    score.opened = -score.opened;
    score.whole_left = wants_gpus ? -score.whole_left : 0;
    score.milli_left = wants_gpus ? -score.milli_left : 0;
    score.cpu_left = -score.cpu_left;
  }
  return score;
}

}  // namespace muster::policy
