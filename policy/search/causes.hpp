// Causes: what keeps a pod off each node, named and counted for people, and how many GPUs there are
// for it (internal to policy/). Pure functions of what is free in a Search's transaction.
#pragma once

#include <vector>

#include "policy/search/roles.hpp"
#include "policy/search/room.hpp"
#include "policy/search/search.hpp"
#include "policy/terms/shortage.hpp"

namespace muster::policy {

// Counts over all nodes why `demand` finds no room there, once as many pods of its shape are on
// them as fit: in the numbers for decisions.
void CountRefusals(const Search& search, const Shape& shape, const Demand& demand,
                   Shortage& shortage);

// Fills in `nodes`, `with_room` and `causes` as things are, and how many GPUs there are; gives what
// is free of them on the nodes that are neither barred nor excluded. `count_too`: in the same pass
// what CountRefusals does.
// Costs a look at the chunks that changed since the last time for this shape, unless the demand
// excludes nodes or pods demand something of each other.
GpuMilliSum TellCauses(const Search& search, Shape& shape, const Demand& demand, bool count_too,
                       Shortage& shortage);

// Fills in what a gang of these roles wants, whose member of that shape has no room, beside `free`.
void TellWanted(const std::vector<Role>& roles, const Shape& shape, const GpuMilliSum& free,
                Shortage& shortage);

}  // namespace muster::policy
