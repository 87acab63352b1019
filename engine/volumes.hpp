// Volumes: what pods need because of their claims becomes a part of what they ask for, and how many
// volumes a node takes a part of its record (internal to engine/). Facts about claims, volumes,
// classes and drivers touch the pods and nodes that they concern, no others.
#pragma once

#include "engine/facts.hpp"
#include "engine/gang.hpp"

namespace muster::engine {

struct EngineState;

void ApplyStorage(EngineState& state, const cluster::StorageRecord& record, cluster::Time now);
void RemoveStorage(EngineState& state, const StorageRemoved& removed, cluster::Time now);
void ApplyStorageReadable(EngineState& state, const StorageReadable& told, cluster::Time now);

// Its spec becomes what it says itself and what its volumes need.
void CompleteSpec(EngineState& state, cluster::Pod& pod);
// The reverse: as facts tell it.
cluster::Pod AsDeclared(cluster::Pod pod);
// The pod is as ClusterState has it now, or is forgotten next: who shares a claim with it may be
// let in, or kept out.
void FollowVolumes(EngineState& state, const cluster::Pod& pod, cluster::Time now);
void ForgetVolumes(EngineState& state, const cluster::PodUid& uid, cluster::Time now);
// A member of the gang may not start because of its volumes: which, why, and what to do.
Reason VolumeBar(const Gang& gang);

}  // namespace muster::engine
