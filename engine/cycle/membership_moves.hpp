// Pods join, leave and change gangs, and what follows for their plans, writes and victims (internal
// to engine/).
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct ClaimState;

// A known pod joins the gang that it belongs to, or stays in it.
void Join(ClaimState& state, const cluster::Pod& pod);
// Pods of that schedulerName are Muster's when kube-scheduler asks about them. Those that it finds
// no node for, and so does not ask about, are taken now.
void Serve(ClaimState& state, const std::string& scheduler);
// The pod is a member no more. Its record may be gone already.
void Leave(ClaimState& state, const cluster::PodUid& uid);
// A pod that lives on and is Muster's no more. Room is kept for it as long as it is nominated.
void Disown(ClaimState& state, const cluster::Pod& pod);
// The options changed whose pods are Muster's. `joins`: it does, if it should; else it leaves.
void ReassignPod(ClaimState& state, const cluster::PodUid& uid, bool joins);
// What was deferred while the pod was being bound.
void ApplyDeferred(ClaimState& state, const cluster::PodUid& uid);

// Where gangs are judged, that is where they end. A follower judges none, for weeks.
void EraseUnjudged(ClaimState& state, const GangId& id);
// The gang has ended: nothing of it is left.
void EraseGang(ClaimState& state, Gang& gang);

}  // namespace muster::engine
