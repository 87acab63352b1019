// The policies that bench_philly compares: the virtual clusters of the Philly list as queues, their
// quotas of nodes as guarantees. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::bench {

// A virtual cluster and its part of the cluster.
struct Quota {
  std::string queue;
  int64_t nodes = 0;
};

// Columns vc and share, as in philly_vc_quota_200nodes.csv: of `nodes` whole ones by the largest
// remainder. In order of the file.
cluster::Result<std::vector<Quota>> ReadQuotas(std::string_view text, const std::string& file,
                                               int64_t nodes);

//   strict-fifo      one queue; a gang that does not fit blocks those behind it
//   fifo             priority and age alone decide between all gangs
//   fair             the virtual cluster furthest below its share goes first; quotas are weights
//   fair-preemption  the same, and a part of each quota is guaranteed: taken back from borrowers
inline constexpr std::array<const char*, 4> kPolicies = {"strict-fifo", "fifo", "fair",
                                                         "fair-preemption"};

struct PolicyChoice {
  std::string name;        // one of these
  int64_t depth = 8;       // gangs that may have bookings at a time
  int64_t guarantee = 75;  // percent of the quotas, with `fair-preemption`
  bool learnt = false;     // what was learnt of run times counts
};

// The policy file.
std::string PolicyText(const PolicyChoice& policy, const std::vector<Quota>& quotas,
                       int64_t gpus_per_node);

}  // namespace muster::bench
