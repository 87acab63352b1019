#include "policy/gpu_links/gang_rails.hpp"

#include <algorithm>
#include <bit>

namespace muster::policy {

using cluster::NodeIndex;
using topology::GpuMask;
using topology::RailOrder;

void GangRails::Count(const Use& use, int32_t nodes) {
  for (const size_t nic : use.nics) {
    if (nic >= nodes_.size()) nodes_.resize(nic + 1, 0);
    nodes_[nic] += nodes;
  }
}

void GangRails::Add(NodeIndex node, const DeviceLinks& links, GpuMask gpus) {
  if (gpus == 0 || gpus == links.topology()->chooser->all() || !links.has_rails()) return;
  Use& use = uses_[node];
  Count(use, -1);
  use.gpus |= gpus;
  const std::vector<GpuMask>& beside = links.topology()->beside;
  use.nics = topology::ServedBy(beside, topology::AnyRail(beside), use.gpus).nics;
  Count(use, 1);
}

size_t GangRails::nics() const {
  return static_cast<size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](int32_t nodes) { return nodes > 0; }));
}

size_t GangRails::most_nics() const {
  size_t most = 0;
  for (const auto& [node, use] : uses_) most = std::max(most, use.nics.size());
  return most;
}

void GangRails::Clear() {
  uses_.clear();
  nodes_.clear();
}

RailOrder GangRails::OrderOn(NodeIndex node, size_t nics) const {
  const auto use = uses_.find(node);
  const auto here = [&](size_t nic) {
    return use != uses_.end() &&
           std::binary_search(use->second.nics.begin(), use->second.nics.end(), nic);
  };
  const auto elsewhere = [&](size_t nic) {
    return nic < nodes_.size() ? nodes_[nic] - (here(nic) ? 1 : 0) : 0;
  };
  int32_t most = 0;
  for (size_t nic = 0; nic < nodes_.size(); ++nic) most = std::max(most, elsewhere(nic));
  RailOrder order;
  order.nics.reserve(nics);
  for (const bool wanted : {true, false}) {
    for (size_t nic = 0; nic < nics; ++nic) {
      const int32_t others = elsewhere(nic);
      if (!here(nic) && (others > 0 && 2 * others >= most) == wanted) order.nics.push_back(nic);
    }
    if (wanted) order.wanted = order.nics.size();
  }
  return order;
}

std::vector<size_t> GangRails::Take(NodeIndex node, const DeviceLinks& links,
                                    std::span<const cluster::DeviceAmount> free, size_t count) {
  const topology::NodeTopology& machine = *links.topology();
  if (machine.beside.empty() || count == machine.facts.machine.gpus.size())
    return links.Choose(free, count);
  const GpuMask mask = links.MaskOf(free);
  RailOrder order = OrderOn(node, machine.beside.size());
  const auto [answer, unknown] = answers_.try_emplace(
      Question{&machine, links.numa_policy(), mask, count, std::move(order)}, 0);
  if (unknown) answer->second = links.ChooseOnRails(mask, count, std::get<4>(answer->first));
  const GpuMask set = answer->second;
  Add(node, links, set);
  return links.PlacesOf(set);
}

}  // namespace muster::policy
