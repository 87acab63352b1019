#include "topology/links/node_match.hpp"

#include <algorithm>
#include <charconv>

namespace muster::topology {
namespace {

constexpr const char* kCountLabel = "nvidia.com/gpu.count";

size_t WholeDevices(const cluster::Node& node) {
  return static_cast<size_t>(
      std::count_if(node.gpus.begin(), node.gpus.end(),
                    [](const cluster::Gpu& gpu) { return !gpu.partition(); }));
}

}  // namespace

size_t GpusOf(const cluster::Node& node) {
  const size_t devices = WholeDevices(node);
  const auto label = node.labels.find(kCountLabel);
  if (label == node.labels.end()) return devices;
  const char* const end = label->second.data() + label->second.size();
  size_t told = 0;
  const auto [read, error] = std::from_chars(label->second.data(), end, told);
  return error == std::errc() && read == end ? std::max(told, devices) : devices;
}

std::string_view ProductOf(const cluster::Node& node) {
  std::string_view product;
  for (const cluster::Gpu& gpu : node.gpus) {
    if (gpu.partition()) continue;
    if (gpu.sharing == cluster::GpuSharing::Mig()) return {};
    if (!product.empty() && gpu.model != product) return {};
    if (gpu.model.empty()) return {};
    product = gpu.model;
  }
  return product;
}

std::optional<std::vector<size_t>> PlacesIn(const Machine& machine, const cluster::Node& node) {
  std::vector<size_t> places;
  places.reserve(machine.gpus.size());
  size_t found = 0;
  for (const Accelerator& gpu : machine.gpus) {
    const auto device = std::find_if(
        node.gpus.begin(), node.gpus.end(),
        [&](const cluster::Gpu& one) { return !one.partition() && one.index.value == gpu.index; });
    const bool offered = device != node.gpus.end();
    places.push_back(offered ? static_cast<size_t>(device - node.gpus.begin()) : kNotOffered);
    found += offered ? 1 : 0;
  }
  if (found != WholeDevices(node)) return std::nullopt;
  const bool whole = found == places.size() || GpusOf(node) == places.size();
  return whole ? std::optional(std::move(places)) : std::nullopt;
}

}  // namespace muster::topology
