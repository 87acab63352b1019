// The name of a level of the fabric, as the decoders of kube/ read it.
#pragma once

#include <string>

#include "cluster/topology_terms.hpp"
#include "kube/json_view.hpp"

namespace muster::kube {

// No level has so long a name, also not by TREE/LEVEL or its label key.
inline constexpr size_t kMaxLevelName = 400;
inline constexpr int64_t kMaxSegment = 1'000'000;  // pods

inline std::string ReadLevel(const JsonView& name) {
  return std::string(name.Text().substr(0, kMaxLevelName));
}

// Volcano's networkTopology{mode, highestTierAllowed, highestTierName}: the level that is required
// (hard) or preferred (soft). Volcano counts tiers from the nodes upwards; tier 1 is what holds
// nodes.
struct VolcanoTier {
  std::string level;
  bool hard = true;
};
inline std::string NameOfTier(int64_t tier) { return "tier-" + std::to_string(tier); }
VolcanoTier ReadVolcanoTier(const JsonView& topology);

}  // namespace muster::kube
