// How members start on nodes, and what follows for the nodes: see NodeHealth (internal to engine/).
#pragma once

#include "cluster/records/pod.hpp"

namespace muster::engine {

struct StandingState;

// How a member's start went is held against its node, or for it.
void NoteStart(StandingState& state, const cluster::Pod& pod);
// Nodes that are left out from now on, or not any more: their records say so, which every plan
// looks at.
void SettleLeftOut(StandingState& state, cluster::Time now);

}  // namespace muster::engine
