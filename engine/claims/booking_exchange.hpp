// The exchange of closed nodes (internal to engine/; R15): room outside that became free takes the
// place of closed nodes that are still in use, and those are opened again.
//
//   NextExchange    before the turns of a pass, when something became free: the first closed
//                   booking for which there may be such room; nothing: there is none
//   CommitExchange  what was found, outside the lock
//
// 1. What is found follows all rules of placement, and nothing of it is in another booking's room.
// 2. Those who have to leave before the gang starts are afterwards some of those who had to
//    before, and fewer: an exchange never makes the gang wait longer.
// 3. Opened first: the nodes with the most GPUs in use by those, then those whose last start is
//    most recent.
#pragma once

#include <optional>

#include "cluster/base/units.hpp"
#include "policy/victims/later.hpp"

namespace muster::engine {

struct ClaimState;
struct PlanJob;

std::optional<PlanJob> NextExchange(ClaimState& state, cluster::Time now);
void CommitExchange(ClaimState& state, const PlanJob& job, const policy::LaterAnswer& found,
                    cluster::Time now);

}  // namespace muster::engine
