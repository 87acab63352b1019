// Files of config/topologies: one machine profile each, with the matrix as the vendor's tool prints
// it. Reading text is pure; LoadTopologyProfiles reads a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "topology/links/machine_profile.hpp"

namespace muster::config {

struct TopologyProfileReading {
  topology::MachineProfile profile;    // counts only when nothing is wrong
  std::vector<cluster::Error> faults;  // in the order of the file
  bool ok() const { return faults.empty(); }
};

TopologyProfileReading ReadTopologyProfile(std::string_view text, const std::string& file_name);

// Every *.yaml of the folder, in the order of their names. The first fault of any, or two profiles
// for the same machine, is the error.
cluster::Result<topology::MachineProfiles> LoadTopologyProfiles(const std::string& folder);

}  // namespace muster::config
