#include "config/profiles/shipped_profiles.hpp"

#include <string>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "config/profiles/topology_profile.hpp"
#include "config/shipped_files.hpp"

namespace muster::config {

// The tests read every file, so none is wrong here.
std::shared_ptr<const topology::MachineProfiles> ShippedProfiles() {
  std::vector<topology::MachineProfile> profiles;
  profiles.reserve(ShippedTopologies().size());
  for (const ShippedFile& file : ShippedTopologies()) {
    TopologyProfileReading reading = ReadTopologyProfile(file.text, std::string(file.name));
    MUSTER_CHECK(reading.ok());
    profiles.push_back(std::move(reading.profile));
  }
  cluster::Result<topology::MachineProfiles> all =
      topology::MachineProfiles::Of(std::move(profiles));
  MUSTER_CHECK(all.ok());
  return std::make_shared<const topology::MachineProfiles>(*std::move(all));
}

void UseProfiles(policy::Options* placement) {
  placement->profiles =
      placement->profile_use == policy::ProfileUse::kShipped ? ShippedProfiles() : nullptr;
}

}  // namespace muster::config
