// GpuChooser: which k of a machine's free GPUs a pod gets.
//
// Of all sets of k free GPUs, the one with
//   1. the best ring: the largest b such that a ring over the set has no link below b (two GPUs:
//      their link; one: no matter),
//   2. the largest sum of the bandwidths between its GPUs,
//   3. the most useful rest: by 1 and 2 the best set of 8 that is left, then of 4, then of 2, then
//      all that is left, so that a single GPU is the odd one; then the most GPUs left on one
//      socket, on the next, …
//   4. the lowest places.
//
// Exact for at most kMostExact GPUs: every set's ring and rank are in tables, built once for a
// matrix (16 GPUs: 3 MB with the answers; 8 GPUs: nothing to speak of). The answers of a set of
// free GPUs are found when it is first asked about, in 2^free steps, and then read in nanoseconds.
// Above, rings are grown: from each GPU, by the GPU with the most bandwidth to the ring that can be
// put between two neighbours without a link below b, for the largest b with which that reaches k.
// That may miss a better ring, and leaves 3 out. A single GPU is the one with the least bandwidth
// to the other free ones.
//
// Any thread. Answers that are found later are the same whoever finds them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "topology/links/device_graph.hpp"

namespace muster::topology {

// Bit i: the GPU at place i.
using GpuMask = uint64_t;

std::vector<size_t> PlacesOf(GpuMask mask);
// The one with the lower place at the first difference; equal sets have none.
bool HasLowerPlaces(GpuMask a, GpuMask b);

class GpuChooser {
 public:
  static constexpr size_t kMostExact = 16;

  // `matrix` has at most 64 GPUs.
  explicit GpuChooser(GpuMatrix matrix);

  const GpuMatrix& matrix() const { return matrix_; }
  bool exact() const { return matrix_.gpus <= kMostExact; }
  GpuMask all() const;

  // 1. The best set of `count`; empty when fewer are free or `count` is 0.
  GpuMask Choose(GpuMask free, size_t count) const;
  // 2. Of the sets that lie within `within` (a part of `free`); what is left of `free` counts.
  GpuMask ChooseWithin(GpuMask free, size_t count, GpuMask within) const;
  // 3. Of the sets that `may` accepts. Exact machines only try every set; larger ones try the one
  //    that they would choose.
  GpuMask ChooseIf(GpuMask free, size_t count, const std::function<bool(GpuMask)>& may) const;
  // 4. Between 1 and 2 above, the set for which `merit` is largest. On larger machines as 1.
  GpuMask ChooseBy(GpuMask free, size_t count, const std::function<uint32_t(GpuMask)>& merit) const;

  // Of one GPU: 0. Of the empty set: 0.
  MegabytesPerSecond RingOf(GpuMask set) const;
  uint64_t TotalOf(GpuMask set) const;  // MB/s over all pairs
  // How useful a set of free GPUs is as a rest (3. above): larger is better; comparable between
  // sets of the same machine. 0 on machines that are not exact.
  uint32_t UsefulnessOf(GpuMask free) const;

 private:
  struct Ring {
    std::vector<size_t> places;
    MegabytesPerSecond bandwidth = 0;
  };

  void BuildRings();
  void RankSets();
  void RankRests();
  size_t AnswerAt(GpuMask free, size_t count) const { return free * (matrix_.gpus + 1) + count; }
  void FindAnswers(GpuMask free) const;
  // Larger is better, among sets of one size.
  uint64_t Key(GpuMask free, GpuMask set) const {
    return worth_[set] | uint64_t{rest_[free ^ set]} << 16U;
  }
  GpuMask OddOne(GpuMask free, GpuMask within) const;
  Ring GrowRing(GpuMask free, size_t count) const;
  bool GrowFrom(size_t start, GpuMask free, size_t count, Ring* ring) const;

  const GpuMatrix matrix_;
  std::vector<MegabytesPerSecond> levels_;  // different bandwidths of pairs, falling, 0 last
  // By set; empty on machines that are not exact.
  std::vector<uint8_t> ring_;  // place in levels_
  // From bit 40 on: its place among all sets by ring and total, equal ones alike, the best last.
  // Below bit 16: larger for sets with lower places.
  std::vector<uint64_t> worth_;
  std::vector<uint8_t> size_;
  std::vector<uint32_t> rest_;  // usefulness
  // By free set and count; 0: not found yet.
  mutable std::vector<std::atomic<uint16_t>> answer_;
};

}  // namespace muster::topology
