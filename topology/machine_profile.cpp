#include "topology/machine_profile.hpp"

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
  product = WholeProduct(product);
  for (const MachineProfile& profile : profiles_) {
    if (profile.machine.gpus.size() == gpus &&
        std::find(profile.products.begin(), profile.products.end(), product) !=
            profile.products.end()) {
      return &profile;
    }
  }
  return nullptr;
}

}  // namespace muster::topology
