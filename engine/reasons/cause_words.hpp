// CauseWords: what keeps gangs off nodes, counted, in words for people. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/terms/shortage.hpp"

namespace muster::engine {

// "taint", "notReady", …: one word for programs.
const char* ToString(policy::Cause::What what);

// "5 with taint a that it does not tolerate, 1 cordoned, 6 with 0 to 6 of 8 GPUs free (best: n7, 6
// free)". Of taints and labels those of most nodes are named, kMostNamed at most.
std::string CausesText(const std::vector<policy::Cause>& causes);
inline constexpr size_t kMostNamed = 3;

// Which nodes have room for a member, and what keeps it off the others: "0/15 nodes had room at its
// last try: 5 with taint …". `had`: "had room at its last try".
std::string NodesText(const policy::Shortage& shortage, const std::string& had);

// What a gang lacks: what it wants of GPUs and what there is, then NodesText, then how many members
// find room. `never`: the counts are of a cluster on which only that runs which stays.
std::string LackText(const policy::Shortage& shortage, bool never);

// At most `most` bytes of the text: what is over is cut where a clause or an item ends, if one does
// in its second half, and replaced by "…".
std::string CutAtClause(const std::string& text, size_t most);

// 1500 as "1.5".
std::string Thousandths(int64_t milli);
// "1 GPU", "2.5 GPUs".
std::string GpuCount(int64_t milli);

}  // namespace muster::engine
