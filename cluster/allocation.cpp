#include "cluster/allocation.hpp"

#include <algorithm>

namespace muster::cluster {
namespace {

// ceil(1000 × part / whole); both are positive. More than 1000 when `part` is more than `whole`.
int64_t ThousandthsUp(int64_t part, int64_t whole) {
  if (part > whole) return kWholeGpu.value() + 1;
  int64_t thousandths = 0;
  if (__builtin_mul_overflow(part, kWholeGpu.value(), &thousandths)) {
    // So large that dividing first is exact enough, and never too little.
    return (part - 1) / (whole / kWholeGpu.value()) + 1;
  }
  return (thousandths - 1) / whole + 1;
}

}  // namespace

GpuMilli ShareOn(const Gpu& gpu, const GpuRequest& request) {
  if (request.each >= kWholeGpu) {
    const bool replicated =
        gpu.sharing == GpuSharing::kTimeSliced || gpu.sharing == GpuSharing::kMps;
    const int64_t replicas = replicated ? std::max<int64_t>(gpu.replicas, 1) : 1;
    return GpuMilli(std::max<int64_t>(kWholeGpu.value() / replicas, 1));
  }
  if (gpu.sharing != GpuSharing::kFractional) return GpuMilli(0);
  int64_t share = std::max<int64_t>(request.each.value(), 0);
  if (request.memory_each.value() > 0) {
    // A device of unknown size cannot promise an amount of memory.
    if (gpu.memory.value() <= 0) return GpuMilli(0);
    share = std::max(share, ThousandthsUp(request.memory_each.value(), gpu.memory.value()));
  }
  return share <= kWholeGpu.value() ? GpuMilli(share) : GpuMilli(0);
}

}  // namespace muster::cluster
