// The names of levels of the fabric, and lists of them, as the decoders of kube/ read them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "cluster/records/topology_terms.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// No level has so long a name, also not by TREE/LEVEL or its label key.
inline constexpr size_t kMaxLevelName = 400;
inline constexpr int64_t kMaxSegment = 1'000'000;  // pods

inline std::string ReadLevel(const JsonView& name) {
  return std::string(name.Text().substr(0, kMaxLevelName));
}

// The item of a list before the first separator; the list is shortened by both.
inline std::string_view TakeItem(std::string_view& list, char separator) {
  const std::string_view item = list.substr(0, list.find(separator));
  list.remove_prefix(std::min(list.size(), item.size() + 1));
  return item;
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
