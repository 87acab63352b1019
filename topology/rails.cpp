#include "topology/rails.hpp"

#include <algorithm>
#include <map>

namespace muster::topology {
namespace {

// Finds a NIC for `gpu`, moving others to another NIC of theirs where that helps.
bool Match(const std::vector<NearNics>& near, size_t gpu, std::vector<size_t>* visited,
           std::map<size_t, size_t>* owners) {
  for (const size_t nic : near[gpu].nics) {
    if (std::find(visited->begin(), visited->end(), nic) != visited->end()) continue;
    visited->push_back(nic);
    const auto owner = owners->find(nic);
    if (owner != owners->end() && !Match(near, owner->second, visited, owners)) continue;
    (*owners)[nic] = gpu;
    return true;
  }
  return false;
}

}  // namespace

NearNics NicsNear(const Machine& machine, size_t gpu) {
  NearNics near;
  if (!machine.has_links()) return near;
  for (size_t nic = 0; nic < machine.nics.size(); ++nic) {
    const LinkType type = machine.At(gpu, machine.gpus.size() + nic).link.type;
    if (type > near.type || near.nics.empty()) {
      near = {type, {nic}};
    } else if (type == near.type) {
      near.nics.push_back(nic);
    }
  }
  return near;
}

std::vector<NearNics> AllNicsNear(const Machine& machine) {
  std::vector<NearNics> near;
  for (size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) near.push_back(NicsNear(machine, gpu));
  return near;
}

std::vector<size_t> RailsOf(const std::vector<NearNics>& near, GpuMask set) {
  std::vector<size_t> rails;
  for (const size_t gpu : PlacesOf(set)) {
    rails.insert(rails.end(), near[gpu].nics.begin(), near[gpu].nics.end());
  }
  std::sort(rails.begin(), rails.end());
  rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
  return rails;
}

size_t DistinctNics(const std::vector<NearNics>& near, GpuMask set) {
  std::map<size_t, size_t> owners;
  for (const size_t gpu : PlacesOf(set)) {
    std::vector<size_t> visited;
    Match(near, gpu, &visited, &owners);
  }
  return owners.size();
}

size_t OnRails(const std::vector<NearNics>& near, GpuMask set, const std::vector<size_t>& rails) {
  size_t count = 0;
  for (const size_t gpu : PlacesOf(set)) {
    const std::vector<size_t>& nics = near[gpu].nics;
    if (std::any_of(nics.begin(), nics.end(), [&](size_t nic) {
          return std::binary_search(rails.begin(), rails.end(), nic);
        })) {
      ++count;
    }
  }
  return count;
}

GpuMask ChooseOnRails(const GpuChooser& chooser, const std::vector<NearNics>& near, GpuMask free,
                      size_t count, const std::vector<size_t>& rails) {
  const bool told = std::any_of(near.begin(), near.end(),
                                [](const NearNics& nics) { return !nics.nics.empty(); });
  if (!told) return chooser.Choose(free, count);
  return chooser.ChooseBy(free, count, [&](GpuMask set) {
    constexpr size_t kMost = kMostGpus + 1;
    return static_cast<uint32_t>(OnRails(near, set, rails) * kMost + DistinctNics(near, set));
  });
}

}  // namespace muster::topology
