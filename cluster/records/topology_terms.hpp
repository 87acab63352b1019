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
// Likewise: a list of LEVEL=ROLE+ROLE+….
inline constexpr const char* kRolesRequiredAnnotation = "muster.dev/topology-roles-required";
inline constexpr const char* kRolesPreferredAnnotation = "muster.dev/topology-roles-preferred";
// Likewise: "even" or "pack".
inline constexpr const char* kTopologyBalanceAnnotation = "muster.dev/topology-balance";
// Likewise: a level over whose domains the gangs of one group are spread, and the name of the
// group.
inline constexpr const char* kTopologySpreadAnnotation = "muster.dev/topology-spread";
inline constexpr const char* kSpreadGroupAnnotation = "muster.dev/spread-group";

// The pods of a role, in the order of rank, are cut into pieces of `size`; each piece is in one
// domain of the level.
struct TopologySegment {
  std::string level;
  int64_t size = 1;      // pods; at least 1
  bool required = true;  // else: where it can be
  auto operator<=>(const TopologySegment&) const = default;
};

// The pods of these roles are in one domain, which lies in the gang's and in that of every subgroup
// around this one.
struct TopologySubgroup {
  std::string name;                // for people
  std::vector<std::string> roles;  // rising, distinct; at least one
  std::string required = {};       // as TopologyTerms has it
  std::string preferred = {};
  std::vector<TopologySegment> segments = {};  // as TopologyTerms has them; of these pods only
  auto operator<=>(const TopologySubgroup&) const = default;
};

// How a gang is divided over the domains below its own, of which it uses the fewest.
//   kUnsaid  as kEven
//   kEven    in shares as equal as can be
//   kPack    each as full as can be but for the last one, which has the least that can be
enum class Balance { kUnsaid, kEven, kPack };

struct TopologyTerms {
  std::string required;   // all members are in one domain of this level; empty: of none
  std::string preferred;  // so, or else of the innermost level above it that can be; empty: of none
  // The largest first; each size is a multiple of the next one's.
  std::vector<TopologySegment> segments = {};
  static constexpr size_t kMostSegments = 4;
  // The field of another system that says so; empty: Muster's annotations. Of what follows only
  // Muster's annotations say anything.
  std::string said_by = {};
  Balance balance = Balance::kUnsaid;
  // Rather in domains of this level with few gangs of the group; empty: of none.
  std::string spread = {};
  std::string spread_group = {};  // within the namespace; empty: it is in none
  // Those with the most roles first. Of any two one has all roles of the other, or they share none.
  std::vector<TopologySubgroup> subgroups = {};
  auto operator<=>(const TopologyTerms&) const = default;
  bool none() const { return !places() && spread_group.empty(); }
  // They say something of where the gang itself wants to be.
  bool places() const {
    return names_levels() || !subgroups.empty() || balance != Balance::kUnsaid;
  }
  bool names_levels() const { return within() || !spread.empty(); }
  // They name the domains that are to hold it, or its segments.
  bool within() const { return !required.empty() || !preferred.empty() || !segments.empty(); }
};

}  // namespace muster::cluster
