// How Headcounts (a number of members in all, and one for each role) are added and compared
// (internal to engine/). Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "cluster/records/gang_record.hpp"

namespace muster::engine {

// In each count the lower of the two; a role is asked for only where both do.
cluster::Headcount Lower(const cluster::Headcount& a, const cluster::Headcount& b);
// In each count the higher of the two.
cluster::Headcount Higher(cluster::Headcount a, const cluster::Headcount& b);
cluster::Headcount Plus(cluster::Headcount a, const cluster::Headcount& b);
// a - b, never below 0.
cluster::Headcount Minus(cluster::Headcount a, const cluster::Headcount& b);
cluster::Headcount HeadcountOf(int64_t members,
                               const std::unordered_map<std::string_view, int64_t>& roles);
// How many pods `heads` lacks of `minimum`: role by role or in total, whichever is more.
int64_t Lack(const cluster::Headcount& minimum, const cluster::Headcount& heads);

}  // namespace muster::engine
