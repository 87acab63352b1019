// Scale-up: whether nodes are asked for, for a gang that lacks room, and what follows (internal to
// engine/). Options::autoscaling switches it on.
//
// With ScaleUp::kUnschedulable the members that a gang needs to start are released without a plan.
// kube-scheduler asks Filter, is refused, and marks them Unschedulable; cluster-autoscaler and
// Karpenter add nodes for such pods, and look at neither their schedulerName nor their gang. When
// there is room for all of them they are nominated and woken, as pods are that never had a gate.
//
// With ScaleUp::kProvisioningRequest cluster-autoscaler is asked by a ProvisioningRequest
// (engine/claims/provisioning.hpp), and the members stay behind their gate; but members without one
// are seen by autoscalers anyway, and their gang is released as above. So is a gang of one where
// the class is one of cluster-autoscaler's own, of which it takes one request at a time.
//
// Nothing is asked for
//   - of what a queue, an order of an operator or strict order keeps from starting, also where room
//     is what it lacks besides
//   - beyond the limits of its queues, counting all gangs for which nodes were asked for before;
//     where the limits come to bar it later, it is taken back if that is still possible
//   - where Muster keeps room that is free for others: to an autoscaler it is free; but for what is
//     kept for gangs that asked for it by a request
//   - for members beyond the minimum
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct ClaimState;

// After the gang was judged, or tried in vain: asks, or ends that.
void FollowScaleUp(ClaimState& state, Gang& gang, cluster::Time now);
void EndScaleUp(ClaimState& state, const GangId& gang);

// When it is to be looked at again without further facts; Never: not at all.
cluster::Time ScaleUpDue(const ClaimState& state, const Gang& gang);

// Of a gang that is asked for by its pods: the members that it needs to start.
std::set<cluster::PodUid> ReleasedForScaleUp(const ClaimState& state, const Gang& gang);

// For people: "asked for: …", "not asked for: …". Empty: it does not wait for room, or scale-up is
// off.
std::string ScaleUpText(const ClaimState& state, const Gang& gang);

// The clause of it that says what keeps the gang waiting and autoscalers do not know of, so that
// they may add nothing. Empty: there is no such thing.
std::string UnseenText(const ClaimState& state, const Gang& gang);

// It is bound with the annotations by which autoscalers leave its node alone.
bool KeepsNode(const ClaimState& state, const Gang& gang, const Member& member);

}  // namespace muster::engine
