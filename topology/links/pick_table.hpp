// PickTable: whether NVIDIA's device plugin, left to itself, hands out the GPUs that were planned.
//
// Its rule (kubelet_pick.hpp) takes the first of the sets that it likes best, in the order in which
// the kubelet lists the free GPUs; and the kubelet lists them in no order: it hands over a Go set
// (UnsortedList in callGetPreferredAllocationIfAvailable, pkg/kubelet/cm/devicemanager/manager.go;
// Filter in gpuallocator/device.go keeps that order). So each of the sets that are liked as well
// may come: those that some best division of the free GPUs holds, and holds none with a higher
// score beside it. Where all links are alike that is every set.
//
// Bounds: at most kMostFree free GPUs, of which there are at most 15,400 divisions (triples of 12);
// above, the outcome is kUnknown, unless all of the free ones are handed out. Machines of at most
// kMostTabled GPUs keep each answer, in 3^gpus words (8 GPUs: 26 KB): found in 12 µs at most, read
// in nanoseconds. For larger machines each question is worked out anew, in a millisecond or so.
//
// Any thread. Answers that are found later are the same whoever finds them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "topology/links/gpu_chooser.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

//   kUnknown  nothing is known of what the rule does here
//   kAgrees   it hands out what is planned, in whatever order the GPUs are listed
//   kTied     it likes what is planned as well as other sets
//   kDiffers  it never hands out what is planned
enum class PickOutcome : uint8_t { kUnknown, kAgrees, kTied, kDiffers };
inline constexpr size_t kPickOutcomes = 4;
std::string_view ToString(PickOutcome outcome);  // "unknown", "agree", "tied", "differ"

struct PickForecast {
  PickOutcome outcome = PickOutcome::kUnknown;
  bool slower = false;  // what comes instead may have a slower ring than what is planned
  GpuMask pick = 0;  // what is planned if it may come, else the possible set with the lowest places
  uint32_t choices = 0;  // how many sets may come
  bool operator==(const PickForecast&) const = default;
};

class PickTable {
 public:
  static constexpr size_t kMostTabled = 8;
  static constexpr size_t kMostFree = 12;

  PickTable(const Machine& machine, std::shared_ptr<const GpuChooser> chooser);

  // `planned` is a part of `free`, not empty.
  PickForecast Of(GpuMask free, GpuMask planned) const;
  // Of() is cheap enough to be asked for every node.
  bool tabled() const { return chooser_->matrix().gpus <= kMostTabled; }

 private:
  PickForecast Find(GpuMask free, GpuMask planned) const;

  const std::shared_ptr<const GpuChooser> chooser_;
  const std::vector<int> scores_;  // PairScores
  // By Σ 3^i for each free GPU i that is not planned, 2·3^i for each that is; 0: not found yet.
  mutable std::vector<std::atomic<uint32_t>> answers_;
};

}  // namespace muster::topology
