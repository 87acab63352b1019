// Options: how gangs are placed, as the policy file says it. Plain values.
#pragma once

#include <memory>

#include "topology/fabric/fabric_options.hpp"
#include "topology/links/machine_profile.hpp"

namespace muster::policy {

// How pods are laid out over nodes (and shares over devices).
//   kBinpack  fill the fullest node first, so that whole nodes stay free for gangs that need them
//   kSpread   use the emptiest node first, so that members disturb each other least
enum class Strategy { kBinpack, kSpread };

// Whether what is known of a GPU's model counts where nothing is known of a node.
//   kShipped  the machine profiles of config/topologies/
//   kNone     none: all GPUs of such a node are alike
enum class ProfileUse { kShipped, kNone };

struct Options {
  Strategy strategy = Strategy::kBinpack;
  topology::FabricOptions fabric = {};
  // What the policy file says; whoever reads it sets `profiles` by it (config::UseProfiles).
  ProfileUse profile_use = ProfileUse::kShipped;
  // Machines by model and number of GPUs, for nodes whose links nothing else tells; null: none.
  std::shared_ptr<const topology::MachineProfiles> profiles = nullptr;
  bool operator==(const Options&) const = default;
};

}  // namespace muster::policy
