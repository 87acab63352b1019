#include "cluster/holdings/device_assigner.hpp"

#include <algorithm>

namespace muster::cluster {
namespace {

// One answer in the making.
class Picks {
 public:
  explicit Picks(const DeviceQuestion& question) : question_(question) {
    positions_.reserve(std::min(static_cast<size_t>(question.missing), question.free.size()));
  }

  bool enough() const { return positions_.size() == static_cast<size_t>(question_.missing); }
  // True when the device has room for it. A second time only where several turns may be had.
  bool Add(size_t at) {
    const Gpu& gpu = question_.node.gpus[at];
    const auto picked = std::count(positions_.begin(), positions_.end(), at);
    if (question_.free[at].Times(ShareOn(gpu, question_.request)) <= picked) return false;
    if ((picked > 0 || Known(gpu.index)) && gpu.sharing->ReplicasOf(gpu.size()) == 1) return false;
    positions_.push_back(at);
    return true;
  }
  std::vector<size_t> Take() { return std::move(positions_); }

 private:
  bool Known(GpuIndex index) const {
    return std::any_of(question_.known.begin(), question_.known.end(),
                       [&](const GpuShare& share) { return share.index == index; });
  }

  const DeviceQuestion& question_;
  std::vector<size_t> positions_;
};

}  // namespace

std::vector<size_t> LowestNumbered::Choose(const DeviceQuestion& question) const {
  const size_t devices = question.node.gpus.size();
  Picks picks(question);
  for (const bool healthy : {true, false}) {
    for (size_t at = 0; at < devices && !picks.enough(); ++at) {
      if (question.node.gpus[at].healthy == healthy) picks.Add(at);
    }
  }
  for (bool progress = true; progress && !picks.enough();) {
    progress = false;
    for (size_t at = 0; at < devices && !picks.enough(); ++at) progress = picks.Add(at) || progress;
  }
  return picks.Take();
}

}  // namespace muster::cluster
