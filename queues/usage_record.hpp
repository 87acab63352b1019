// UsageRecord: what queues have used (UsageMemory), as a value that outlives who remembered it and
// can be read under another policy. Plain values; pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "queues/resource.hpp"
#include "queues/tree.hpp"
#include "queues/wide.hpp"

namespace muster::queues {

// M at any time after `since` follows from it: see usage_memory.hpp.
struct PastUse {
  cluster::Duration half_life;  // 0: what was before counts for nothing
  cluster::Time since;          // `used` is what it was from then on
  Vector used;                  // by resource, as what follows
  std::vector<Uint128> mean;    // M then, times 2^kMeanDigits
  bool operator==(const PastUse&) const = default;
};
using PastUses = std::map<std::string, PastUse>;  // by queue
inline constexpr unsigned kMeanDigits = 24;

struct UsageRecord {
  std::vector<Resource> resources;  // in the order of the amounts
  PastUses queues;
  bool operator==(const UsageRecord&) const = default;
};

// The clock of who reads a record may be behind that of who made it by so much: then no time has
// passed in between.
inline constexpr cluster::Duration kMostClockSkew = cluster::Seconds(300);

// What is wrong with a record, and where; then nothing of it is believed.
cluster::Status CheckUsage(const UsageRecord& record, cluster::Time now);
// Those that count least come first: they use nothing, since the longest time; then by name.
std::vector<std::string> LeastFirst(const PastUses& queues);
// By the resources of another tree; of those that `before` does not have: nothing.
void Reorder(PastUses& queues, const std::vector<Resource>& before,
             const std::vector<Resource>& after);

}  // namespace muster::queues
