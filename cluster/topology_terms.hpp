// TopologyTerms: where in the fabric a gang wants to be, by the names of levels, as its PodGroup or
// its pods say. Plain value.
#pragma once

#include <compare>
#include <string>

namespace muster::cluster {

// Annotations of PodGroups and of pods: the name of a level of the policy's fabric.
inline constexpr const char* kTopologyRequiredAnnotation = "muster.dev/topology-required";
inline constexpr const char* kTopologyPreferredAnnotation = "muster.dev/topology-preferred";

struct TopologyTerms {
  std::string required;   // all members are in one domain of this level; empty: of none
  std::string preferred;  // so, or else of the innermost level above it that can be; empty: of none
  auto operator<=>(const TopologyTerms&) const = default;
  bool none() const { return required.empty() && preferred.empty(); }
};

}  // namespace muster::cluster
