// TopologyTerms: where in the fabric a gang wants to be, by the names of levels, as its PodGroup or
// its pods say. Plain value.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::cluster {

// Annotations of PodGroups and of pods: the name of a level of the policy's fabric, or a list of
// LEVEL=SIZE.
inline constexpr const char* kTopologyRequiredAnnotation = "muster.dev/topology-required";
inline constexpr const char* kTopologyPreferredAnnotation = "muster.dev/topology-preferred";
inline constexpr const char* kSegmentsRequiredAnnotation = "muster.dev/topology-segments-required";
inline constexpr const char* kSegmentsPreferredAnnotation =
    "muster.dev/topology-segments-preferred";

// The pods of a role, in the order of rank, are cut into pieces of `size`; each piece is in one
// domain of the level.
struct TopologySegment {
  std::string level;
  int64_t size = 1;      // pods; at least 1
  bool required = true;  // else: where it can be
  auto operator<=>(const TopologySegment&) const = default;
};

struct TopologyTerms {
  std::string required;   // all members are in one domain of this level; empty: of none
  std::string preferred;  // so, or else of the innermost level above it that can be; empty: of none
  // The largest first; each size is a multiple of the next one's.
  std::vector<TopologySegment> segments = {};
  static constexpr size_t kMostSegments = 4;
  // The field of another system that says so; empty: Muster's annotations.
  std::string said_by = {};
  auto operator<=>(const TopologyTerms&) const = default;
  bool none() const { return required.empty() && preferred.empty() && segments.empty(); }
};

}  // namespace muster::cluster
