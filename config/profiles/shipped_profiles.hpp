// The machine profiles that are part of every binary. Reading them takes some milliseconds; the
// result is immutable, any thread.
#pragma once

#include <memory>

#include "policy/placing/placement.hpp"
#include "topology/links/machine_profile.hpp"

namespace muster::config {

// config/topologies/*.yaml as they were at build time.
std::shared_ptr<const topology::MachineProfiles> ShippedProfiles();

// Sets `placement.profiles` to what `placement.profile_use` says: for every policy that an engine
// is given, one that was read as well as the default one.
void UseProfiles(policy::Options* placement);

}  // namespace muster::config
