#include "policy/gpu_links/kubelet_forecast.hpp"

#include <algorithm>
#include <bit>

#include "policy/gpu_links/device_links.hpp"

namespace muster::policy {

using cluster::Gpu;
using cluster::GpuIndex;
using cluster::Node;
using topology::GpuMask;

namespace {

// Kinds of machines of which the tables are kept: 0.1 ms to build for 8 GPUs and 50 ms for 16, and
// 3 MB then.
constexpr size_t kMostKept = 16;

}  // namespace

KubeletForecast::KubeletForecast() : links_(std::make_unique<LinksMemory>(nullptr, kMostKept)) {}
KubeletForecast::~KubeletForecast() = default;

void KubeletForecast::Use(const std::shared_ptr<const topology::MachineProfiles>& profiles) {
  if (profiles == profiles_) return;
  profiles_ = profiles;
  links_ = std::make_unique<LinksMemory>(profiles, kMostKept);
}

bool KubeletForecast::Concerns(const Node& node, const cluster::PodSpec& spec) {
  return !spec.gpus.none() && spec.gpus.whole() && !node.gpus.empty() &&
         node.plugin == cluster::DevicePlugin::kStock;
}

std::optional<KubeletPick> KubeletForecast::Of(const Node& node, const cluster::PodSpec& spec,
                                               std::span<const GpuIndex> taken,
                                               std::span<const GpuIndex> planned) {
  if (!Concerns(node, spec)) return std::nullopt;
  KubeletPick pick;
  if (planned.empty() || !spec.one_gpu_container() || !ForeseesPicks(node)) return pick;
  const std::shared_ptr<const DeviceLinks> links = links_->Of(node);
  // ResourceSlices show neither PCIe switches nor NVLinks, which the rule looks at.
  if (links == nullptr ||
      links->topology()->facts.source == cluster::TopologySource::kResourceSlices)
    return pick;
  const auto contains = [](std::span<const GpuIndex> list, GpuIndex index) {
    return std::find(list.begin(), list.end(), index) != list.end();
  };
  GpuMask free = 0;
  GpuMask wanted = 0;
  const std::vector<size_t>& places = links->places();
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= node.gpus.size()) continue;
    const Gpu& gpu = node.gpus[places[i]];
    if (contains(planned, gpu.index)) wanted |= GpuMask{1} << i;
    // Whether Muster leaves a device out, or HAMi's users cordon it, is nothing to the kubelet.
    if (gpu.healthy && !contains(taken, gpu.index)) free |= GpuMask{1} << i;
  }
  const auto count = static_cast<size_t>(std::popcount(wanted));
  if (count != planned.size()) return pick;  // not of this node, or not as it is now
  const bool gone = (wanted & ~free) != 0;   // another pod has some of them
  const std::vector<size_t> left = topology::PlacesOf(free);
  if (left.size() < count) return pick;
  if (gone) {
    wanted = 0;
    for (size_t i = 0; i < count; ++i) wanted |= GpuMask{1} << left[i];
  }
  topology::PickForecast forecast = links->ForecastOf(free, wanted);
  if (gone && forecast.outcome != topology::PickOutcome::kUnknown)
    forecast.outcome = topology::PickOutcome::kDiffers;
  pick.outcome = forecast.outcome;
  pick.choices = static_cast<int32_t>(forecast.choices);
  for (const size_t place : topology::PlacesOf(forecast.pick))
    pick.gpus.push_back(node.gpus[places[place]].index);
  std::sort(pick.gpus.begin(), pick.gpus.end());
  return pick;
}

}  // namespace muster::policy
