#include "policy/device_links.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::policy {

using cluster::DeviceAmount;
using topology::GpuMask;
using topology::NodeTopology;

DeviceLinks::DeviceLinks(std::shared_ptr<const NodeTopology> topology, std::vector<size_t> places,
                         const cluster::Node& node)
    : topology_(std::move(topology)),
      places_(std::move(places)),
      numa_(topology_->machine, node.numa_policy),
      // A device that is left out is not free here and free in the kubelet's books.
      foreseen_(topology_->picks->tabled() && ForeseesPicks(node) &&
                std::none_of(node.gpus.begin(), node.gpus.end(),
                             [](const cluster::Gpu& gpu) { return gpu.left_out; })) {}

GpuMask DeviceLinks::MaskOf(std::span<const DeviceAmount> free) const {
  GpuMask mask = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (free[places_[i]] == DeviceAmount::All()) mask |= GpuMask{1} << i;
  }
  return mask;
}

std::vector<size_t> DeviceLinks::Choose(std::span<const DeviceAmount> free, size_t count) const {
  std::vector<size_t> chosen =
      topology::PlacesOf(numa_.Choose(*topology_->chooser, MaskOf(free), count));
  for (size_t& place : chosen) place = places_[place];
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::optional<size_t> DeviceLinks::ChooseOne(std::span<const DeviceAmount> free) const {
  const GpuMask mask = MaskOf(free);
  const std::optional<size_t> chosen = topology_->ChooseOne(mask, mask);
  return chosen ? std::optional(places_[*chosen]) : std::nullopt;
}

uint32_t DeviceLinks::RingOf(std::span<const DeviceAmount> free, size_t count) const {
  if (count < 2) return 0;
  const topology::GpuChooser& chooser = *topology_->chooser;
  return chooser.RingOf(numa_.Choose(chooser, MaskOf(free), count));
}

int32_t DeviceLinks::AstrayOf(std::span<const DeviceAmount> free, size_t count) const {
  if (!foreseen_ || count < 2) return 0;
  const GpuMask mask = MaskOf(free);
  const GpuMask planned = numa_.Choose(*topology_->chooser, mask, count);
  if (planned == 0) return 0;
  const topology::PickForecast forecast = topology_->picks->Of(mask, planned);
  if (forecast.slower) return 2;
  return forecast.outcome == topology::PickOutcome::kDiffers ? 1 : 0;
}

std::optional<uint32_t> DeviceLinks::RingOver(const cluster::Node& node,
                                              const std::vector<cluster::GpuIndex>& devices) const {
  GpuMask mask = 0;
  size_t found = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    const cluster::GpuIndex index = node.gpus[places_[i]].index;
    if (std::find(devices.begin(), devices.end(), index) == devices.end()) continue;
    mask |= GpuMask{1} << i;
    ++found;
  }
  if (found != devices.size()) return std::nullopt;
  return topology_->chooser->RingOf(mask);
}

bool DeviceLinks::Fits(std::span<const DeviceAmount> free, size_t count) const {
  return numa_.Choose(*topology_->chooser, MaskOf(free), count) != 0;
}

int64_t DeviceLinks::Times(std::span<const DeviceAmount> free, size_t count, int64_t limit) const {
  return numa_.Times(*topology_->chooser, MaskOf(free), count, limit);
}

std::shared_ptr<const DeviceLinks> LinksMemory::Of(const cluster::Node& node) {
  if (node.topology.empty() || node.gpus.empty()) return nullptr;
  std::weak_ptr<const NodeTopology>& known = by_text_[node.topology];
  std::shared_ptr<const NodeTopology> topology = known.lock();
  if (topology == nullptr) {
    std::erase_if(by_text_, [&](const auto& entry) {
      return entry.first != node.topology && entry.second.expired();
    });
    const auto machine = topology::ParseMachine(node.topology, "");
    if (!machine.ok() || !machine->has_links()) return nullptr;
    topology = cache_.Of(*machine, {}, topology::TopologySource::kAnnotation);
    known = topology;
    if (kept_.size() >= most_kept_) kept_.clear();
    if (most_kept_ > 0) kept_.push_back(topology);
  }
  std::optional<std::vector<size_t>> places = topology->PlacesIn(node);
  if (!places) return nullptr;
  return std::make_shared<const DeviceLinks>(std::move(topology), *std::move(places), node);
}

bool ForeseesPicks(const cluster::Node& node) {
  return node.plugin == cluster::DevicePlugin::kStock &&
         node.numa_policy == cluster::NumaPolicy::kNone &&
         std::all_of(node.gpus.begin(), node.gpus.end(), [](const cluster::Gpu& gpu) {
           return gpu.sharing == cluster::GpuSharing::Exclusive();
         });
}

}  // namespace muster::policy
