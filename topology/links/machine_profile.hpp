// MachineProfiles: machines by the name of their GPUs' model and their number, for nodes of which
// nothing better is known. Immutable after construction, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "topology/links/machine.hpp"

namespace muster::topology {

struct MachineProfile {
  std::string name;
  // Values of GPU feature discovery's label nvidia.com/gpu.product, or of another vendor's like it.
  std::vector<std::string> products;
  LinkSpeeds speeds;
  Machine machine;  // with links; fits nodes with as many GPUs
};

// The product without what sharing adds: "-SHARED", "-MIG-1g.5gb".
std::string_view WholeProduct(std::string_view label);

class MachineProfiles {
 public:
  // kConflict when two profiles fit the same node: `place` is the name of the second.
  static cluster::Result<MachineProfiles> Of(std::vector<MachineProfile> profiles);

  // By the node's labels gpu.product and gpu.count; null when none fits.
  const MachineProfile* Find(std::string_view product, size_t gpus) const;
  // By the product alone: of the profiles for it the smallest with at least `gpus`, else the
  // largest; null when there is none.
  const MachineProfile* Nearest(std::string_view product, size_t gpus) const;
  const std::vector<MachineProfile>& all() const { return profiles_; }

 private:
  std::vector<MachineProfile> profiles_;
};

}  // namespace muster::topology
