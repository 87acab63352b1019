#include "kube/watch/slice_links.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cluster/base/result.hpp"
#include "topology/links/node_match.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Node;
using cluster::Result;
using topology::LinkType;
using topology::Machine;

namespace {

Error OtherGpus(std::string message) { return {Code::kInvalidArgument, std::move(message), ""}; }

std::vector<const cluster::Gpu*> WholeGpus(const Node& node) {
  std::vector<const cluster::Gpu*> whole;
  whole.reserve(node.gpus.size());
  for (const cluster::Gpu& gpu : node.gpus) {
    if (!gpu.partition()) whole.push_back(&gpu);
  }
  return whole;
}

// A GPU with its index on the node.
struct Placed {
  int index = 0;
  const SliceGpu* gpu = nullptr;
};

Result<std::vector<Placed>> ByUuid(const std::vector<SliceGpu>& gpus,
                                   const std::vector<const cluster::Gpu*>& wanted) {
  std::vector<Placed> placed;
  placed.reserve(wanted.size());
  for (const cluster::Gpu* gpu : wanted) {
    const auto same = [&](const SliceGpu& one) { return one.uuid == gpu->uuid; };
    const auto found = std::find_if(gpus.begin(), gpus.end(), same);
    const std::string name = "GPU " + std::to_string(gpu->index.value) + ", " + gpu->uuid;
    if (found == gpus.end()) {
      return OtherGpus("the node has " + name + ", which is none of their " +
                       std::to_string(gpus.size()));
    }
    if (std::find_if(found + 1, gpus.end(), same) != gpus.end())
      return OtherGpus("the node has " + name + ", which they have twice");
    placed.push_back({gpu->index.value, &*found});
  }
  return placed;
}

Result<std::vector<Placed>> ByAddress(const std::vector<SliceGpu>& gpus) {
  std::vector<Placed> placed;
  placed.reserve(gpus.size());
  for (const SliceGpu& gpu : gpus) {
    if (!gpu.pci_address) {
      return OtherGpus("the node's GPUs have no UUIDs, and " + gpu.uuid +
                       " of the slices has no PCI address");
    }
    placed.push_back({0, &gpu});
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return *a.gpu->pci_address < *b.gpu->pci_address;
  });
  for (size_t i = 0; i < placed.size(); ++i) {
    if (i > 0 && placed[i].gpu->pci_address == placed[i - 1].gpu->pci_address) {
      return OtherGpus("the node's GPUs have no UUIDs, and " + placed[i - 1].gpu->uuid + " and " +
                       placed[i].gpu->uuid + " of the slices have one PCI address");
    }
    placed[i].index = static_cast<int>(i);
  }
  return placed;
}

LinkType LinkOf(const SliceGpu& a, const SliceGpu& b) {
  if (!a.pcie_root.empty() && a.pcie_root == b.pcie_root) return LinkType::kPhb;
  return a.numa && a.numa == b.numa ? LinkType::kNode : LinkType::kSys;
}

Machine MachineOf(const std::vector<Placed>& placed) {
  Machine machine;
  machine.gpus.reserve(placed.size());
  machine.cells.reserve(placed.size() * placed.size());
  for (const Placed& a : placed) {
    topology::Accelerator gpu;
    gpu.index = static_cast<uint16_t>(a.index);
    gpu.name = "GPU" + std::to_string(a.index);
    if (a.gpu->numa) gpu.numa = {*a.gpu->numa};
    machine.gpus.push_back(std::move(gpu));
    for (const Placed& b : placed) {
      const LinkType type = &a == &b ? LinkType::kSelf : LinkOf(*a.gpu, *b.gpu);
      machine.cells.push_back(
          {topology::Link{type}, type == LinkType::kSelf ? "X" : std::string(ToString(type)), 0});
    }
  }
  return machine;
}

Result<Machine> Match(const std::vector<SliceGpu>& gpus, const Node& node,
                      const std::vector<const cluster::Gpu*>& whole) {
  const bool named = std::all_of(whole.begin(), whole.end(),
                                 [](const cluster::Gpu* gpu) { return !gpu->uuid.empty(); });
  const std::string counts = "they have " + std::to_string(gpus.size()) + " GPUs, the node has " +
                             std::to_string(whole.size());
  if (std::max(gpus.size(), whole.size()) > topology::kMostGpus) {
    return OtherGpus(counts + "; expected at most " + std::to_string(topology::kMostGpus));
  }
  const Result<std::vector<Placed>> placed = named ? ByUuid(gpus, whole) : ByAddress(gpus);
  if (!placed.ok()) return placed.error();
  Machine machine = MachineOf(*placed);
  if (!topology::PlacesIn(machine, node)) return OtherGpus(counts);
  return machine;
}

}  // namespace

std::vector<std::string> SliceLinks::Observe(const ResourceSlice& slice) {
  std::vector<std::string> nodes;
  if (auto before = Observe(ResourceSliceRemoved{slice.uid})) nodes.push_back(*std::move(before));
  if (slice.node.empty()) return nodes;
  pools_of_[slice.node][slice.pool].insert_or_assign(slice.uid, slice);
  place_of_.insert_or_assign(slice.uid, Place{slice.node, slice.pool});
  if (nodes.empty() || nodes.front() != slice.node) nodes.push_back(slice.node);
  return nodes;
}

std::optional<std::string> SliceLinks::Observe(const ResourceSliceRemoved& removed) {
  const auto found = place_of_.find(removed.uid);
  if (found == place_of_.end()) return std::nullopt;
  const Place place = std::move(found->second);
  place_of_.erase(found);
  const auto pools = pools_of_.find(place.node);
  const auto pool = pools->second.find(place.pool);
  pool->second.erase(removed.uid);
  if (pool->second.empty()) pools->second.erase(pool);
  if (pools->second.empty()) pools_of_.erase(pools);
  return place.node;
}

std::optional<std::vector<SliceGpu>> SliceLinks::GpusOf(const std::map<std::string, Pool>& pools) {
  std::vector<SliceGpu> gpus;
  for (const auto& [name, pool] : pools) {
    int64_t generation = 0;
    for (const auto& [uid, slice] : pool) generation = std::max(generation, slice.generation);
    int64_t found = 0;
    int64_t expected = 0;
    bool whole = true;
    for (const auto& [uid, slice] : pool) {
      if (slice.generation != generation) continue;
      ++found;
      expected = std::max(expected, slice.slices);
      whole = whole && slice.whole;
      gpus.insert(gpus.end(), slice.gpus.begin(), slice.gpus.end());
    }
    if (!whole || found != expected) return std::nullopt;
  }
  return gpus;
}

SliceLinks::Answer SliceLinks::Of(const Node& node) const {
  const auto pools = pools_of_.find(node.name);
  if (pools == pools_of_.end()) return {};
  const std::vector<const cluster::Gpu*> whole = WholeGpus(node);
  if (whole.empty()) return {};
  const std::optional<std::vector<SliceGpu>> gpus = GpusOf(pools->second);
  if (!gpus) return {};
  const bool tells = std::any_of(gpus->begin(), gpus->end(), [](const SliceGpu& gpu) {
    return !gpu.pcie_root.empty() || gpu.numa.has_value();
  });
  if (!tells) return {};
  const Result<Machine> machine = Match(*gpus, node, whole);
  if (machine.ok()) return {topology::WriteMachine(*machine), {}};
  return {{},
          "the ResourceSlices of node " + node.name +
              " say nothing of its links: " + machine.error().ToString()};
}

}  // namespace muster::kube
