#include "policy/devices.hpp"

#include <algorithm>

namespace muster::policy {

using cluster::GpuMilli;
using cluster::GpuShare;

std::optional<std::vector<GpuShare>> ChooseDevices(const cluster::Node& node,
                                                   std::span<const int16_t> free,
                                                   const cluster::GpuRequest& request,
                                                   Strategy strategy) {
  std::vector<GpuShare> chosen;
  if (request.none()) return chosen;
  struct Fit {
    int64_t room;
    GpuShare share;
  };
  std::vector<Fit> fits;
  for (size_t i = 0; i < free.size(); ++i) {
    const GpuMilli share = cluster::ShareOn(node.gpus[i], request);
    if (share.value() > 0 && share.value() <= free[i])
      fits.push_back({free[i], {node.gpus[i].index, share}});
  }
  const auto count = static_cast<size_t>(request.count);
  if (fits.size() < count) return std::nullopt;
  std::stable_sort(fits.begin(), fits.end(), [&](const Fit& a, const Fit& b) {
    return strategy == Strategy::kBinpack ? a.room < b.room : a.room > b.room;
  });
  for (size_t i = 0; i < count; ++i) chosen.push_back(fits[i].share);
  std::sort(chosen.begin(), chosen.end(),
            [](const GpuShare& a, const GpuShare& b) { return a.index < b.index; });
  return chosen;
}

}  // namespace muster::policy
