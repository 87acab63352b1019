// Causes: what keeps a pod off each node, named and counted for people, and how many GPUs there are
// for it (internal to policy/). Pure functions of what is free in a Search's transaction.
#pragma once

#include <vector>

#include "policy/roles.hpp"
#include "policy/search.hpp"
#include "policy/shortage.hpp"

namespace muster::policy {

// Fills in of a gang of these roles, for one of whose members there is no room: what it wants, what
// GPUs there are, and for a member of that shape `nodes`, `with_room` and `causes`.
void TellCauses(const Search& search, const std::vector<Role>& roles, const Shape& shape,
                const Demand& demand, Shortage& shortage);

}  // namespace muster::policy
