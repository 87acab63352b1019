#include "topology/links/machine_profile.hpp"

#include <algorithm>
#include <utility>

namespace muster::topology {

using cluster::Code;
using cluster::Error;
using cluster::Result;

std::string_view WholeProduct(std::string_view label) {
  label = label.substr(0, label.find("-MIG-"));
  constexpr std::string_view kShared = "-SHARED";
  if (label.ends_with(kShared)) label.remove_suffix(kShared.size());
  return label;
}

Result<MachineProfiles> MachineProfiles::Of(std::vector<MachineProfile> profiles) {
  MachineProfiles result;
  for (MachineProfile& profile : profiles) {
    for (const std::string& product : profile.products) {
      const MachineProfile* other = result.Find(product, profile.machine.gpus.size());
      if (other == nullptr) continue;
      return Error{Code::kConflict,
                   "profile " + other->name + " is for " +
                       std::to_string(profile.machine.gpus.size()) + " of " + product + " as well",
                   profile.name};
    }
    result.profiles_.push_back(std::move(profile));
  }
  return result;
}

const MachineProfile* MachineProfiles::Find(std::string_view product, size_t gpus) const {
  const MachineProfile* nearest = Nearest(product, gpus);
  return nearest != nullptr && nearest->machine.gpus.size() == gpus ? nearest : nullptr;
}

const MachineProfile* MachineProfiles::Nearest(std::string_view product, size_t gpus) const {
  product = WholeProduct(product);
  const MachineProfile* best = nullptr;
  for (const MachineProfile& profile : profiles_) {
    if (std::find(profile.products.begin(), profile.products.end(), product) ==
        profile.products.end())
      continue;
    const size_t size = profile.machine.gpus.size();
    const size_t known = best == nullptr ? 0 : best->machine.gpus.size();
    const bool better = known < gpus ? size > known : size >= gpus && size < known;
    if (best == nullptr || better) best = &profile;
  }
  return best;
}

}  // namespace muster::topology
