// GangRecord: what a gang's pods cannot tell of its past, kept with the API objects, so that a
// restart or another leader goes on where the last one was. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cluster/base/units.hpp"

namespace muster::cluster {

// On the PodGroup; where there is no such object, on each bound pod of the gang.
inline constexpr const char* kGangRecordAnnotation = "muster.dev/gang-record";

// How many pods, in all and by role. Roles that are not there count 0.
struct Headcount {
  int64_t members = 0;
  std::map<std::string, int64_t> roles;
  auto operator<=>(const Headcount&) const = default;
};

// Short for an owner's UID: its first eight characters. UIDs are random, so that tells a gang's
// owners apart. Empty for no owner.
inline std::string OwnerTag(const std::string& owner_uid) { return owner_uid.substr(0, 8); }
// Instead of the tags, where there are too many.
inline constexpr const char* kAnyOwner = "*";

struct GangRecord {
  bool evicted = false;  // as a whole, and its queue starts such gangs no more (onEvicted: fail)
  bool has_run = false;  // at least once; false: nothing below says anything
  // Since when it runs, milliseconds since 1970; nothing: none of it is bound.
  std::optional<Time> started;
  Headcount whole;  // the minimum that it has run with
  Headcount ended;  // of these, ended well and gone, or gone nobody knows how
  Headcount lost;   // of these, lost and not replaced
  Time lost_since;  // while any are; 0: not known
  // OwnerTag of the pods that ran, or kAnyOwner alone; none: not known.
  std::set<std::string> owners;
  auto operator<=>(const GangRecord&) const = default;
};

}  // namespace muster::cluster
