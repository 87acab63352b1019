// What whole nodes that are guaranteed to queues mean for gangs of other queues (internal to
// engine/; R14). Reads the engine's state.
//
// 1. A gang that such a queue could not have evicted once it had started is kept off the nodes that
//    are promised to it, unless others can be promised in their place.
// 2. Other gangs may be lent them, where they find no other nodes.
// 3. Gangs without GPUs are kept off nowhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/node_set.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

// Both null: none.
struct ShapedNodes {
  std::shared_ptr<const cluster::NodeSet> shut;  // to the gang
  std::shared_ptr<const cluster::NodeSet> lent;  // the others of other queues
  // Where it finds room only on those that are shut to it, others may be promised instead.
  bool may_exchange = false;
};
ShapedNodes ShapedFor(StandingState& state, const Gang& gang);

// With the gang there queues could have as many whole nodes as they can now, or could have it
// evicted.
bool ShapesHold(StandingState& state, const Gang& gang,
                const std::vector<cluster::Placement>& placements);

// Why nodes are shut to the gang; kNone: none are.
Reason ShapeBar(StandingState& state, const Gang& gang);

}  // namespace muster::engine
