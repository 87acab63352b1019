// Volumes: what pods need because of their claims becomes a part of what they ask for, and how many
// volumes a node takes a part of its record (internal to engine/). Facts about claims, volumes,
// classes and drivers touch the pods and nodes that they concern, no others.
#pragma once

#include "engine/contract/facts.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct KnownState;

// Its spec becomes what it says itself and what its volumes need.
void CompleteSpec(KnownState& state, cluster::Pod& pod);
// The reverse: as facts tell it.
cluster::Pod AsDeclared(cluster::Pod pod);
// A member of the gang may not start because of its volumes: which, why, and what to do.
Reason VolumeBar(const Gang& gang);

}  // namespace muster::engine
