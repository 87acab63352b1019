#include "topology/rails.hpp"

namespace muster::topology {

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

}  // namespace muster::topology
