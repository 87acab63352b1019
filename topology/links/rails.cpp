#include "topology/links/rails.hpp"

#include <array>
#include <bit>

namespace muster::topology {
namespace {

// GPUs of a set and the NICs that they have. Larger sets of NICs that can be given out at once
// come of smaller ones by one NIC (they are the independent sets of a transversal matroid), so
// taking the NICs one by one in their order, each where that is possible, gives the first ones and
// as many as can be.
class Matching {
 public:
  Matching(const std::vector<GpuMask>& beside, GpuMask set) : beside_(beside), set_(set) {}

  bool full() const { return given_ == set_; }
  // Gives the NIC to a GPU, moving others to another NIC of theirs where that helps.
  bool Give(size_t nic) {
    GpuMask visited = 0;
    return Give(nic, visited);
  }

 private:
  bool Give(size_t nic, GpuMask& visited) {
    while (const GpuMask open = beside_[nic] & set_ & ~visited) {
      const GpuMask free = open & ~given_;
      const auto gpu = static_cast<size_t>(std::countr_zero(free != 0 ? free : open));
      visited |= GpuMask{1} << gpu;
      if (free == 0 && !Give(nic_of_[gpu], visited)) continue;
      given_ |= GpuMask{1} << gpu;
      nic_of_[gpu] = nic;
      return true;
    }
    return false;
  }

  const std::vector<GpuMask>& beside_;
  const GpuMask set_;
  GpuMask given_ = 0;                     // GPUs that have a NIC
  std::array<size_t, kMostGpus> nic_of_;  // of these; the others have no value
};

// No GPU of the set is beside two of the NICs: then none is in another one's way.
bool Apart(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set) {
  GpuMask seen = 0;
  for (const size_t nic : order.nics) {
    if ((seen & beside[nic] & set) != 0) return false;
    seen |= beside[nic];
  }
  return true;
}

template <typename Visit>
void EachServed(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set,
                const Visit& visit) {
  if (Apart(beside, order, set)) {
    for (size_t i = 0; i < order.nics.size(); ++i) {
      if ((beside[order.nics[i]] & set) != 0) visit(order.nics[i], i < order.wanted);
    }
    return;
  }
  Matching matching(beside, set);
  for (size_t i = 0; i < order.nics.size() && !matching.full(); ++i) {
    if (matching.Give(order.nics[i])) visit(order.nics[i], i < order.wanted);
  }
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
  near.reserve(machine.gpus.size());
  for (size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) near.push_back(NicsNear(machine, gpu));
  return near;
}

std::vector<GpuMask> GpusBeside(const Machine& machine) {
  std::vector<GpuMask> beside;
  if (!machine.has_links()) return beside;
  beside.resize(machine.nics.size(), 0);
  for (size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    for (const size_t nic : NicsNear(machine, gpu).nics) beside[nic] |= GpuMask{1} << gpu;
  }
  return beside;
}

RailOrder AnyRail(const std::vector<GpuMask>& beside) {
  RailOrder order;
  order.nics.reserve(beside.size());
  for (size_t nic = 0; nic < beside.size(); ++nic) order.nics.push_back(nic);
  return order;
}

Served ServedBy(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set) {
  Served served;
  EachServed(beside, order, set, [&](size_t nic, bool wanted) {
    served.nics.push_back(nic);
    served.wanted += wanted ? 1 : 0;
  });
  return served;
}

uint32_t RailMerit(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set) {
  constexpr uint32_t kMost = kMostGpus + 1;
  uint32_t merit = 0;
  EachServed(beside, order, set,
             [&](size_t /*nic*/, bool wanted) { merit += wanted ? kMost + 1 : 1; });
  return merit;
}

}  // namespace muster::topology
