// Rank: the order of a gang's pods among themselves, as their controllers number them. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/gangs/gang.hpp"

namespace muster::engine {

// Bytes that order as names do whose runs of digits compare as numbers: "worker-9" comes before
// "worker-10". Controllers put the completion index, and that of the Job in a JobSet, into the
// names of pods in that way. Each run is written after its length, and the whole name at the end.
std::string NaturalKey(std::string_view name);

// By position among `members`: its rank, from 0. By name; the pods of one role and one owner divide
// the places of their names by their index (cluster::Pod::index), if each of them has one and no
// two that stay have the same. In a JobSet, where the index begins anew in each Job, all Jobs are
// one owner, and the Job's index comes first.
std::vector<uint32_t> RanksOf(const std::vector<const Member*>& members);
// The ranks of the gang's members that are well-formed and stay, wherever they are.
using Ranks = std::unordered_map<const Member*, uint32_t>;
Ranks RanksOfLive(const Gang& gang);

}  // namespace muster::engine
