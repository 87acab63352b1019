// Succession: who the owner of a gang's pods is, what a gang leaves to it when its pods go, and
// what the owner's next gang takes up (internal to engine/). A gang with a PodGroup object has no
// such owner: the object outlives the pods, and the gang is the same one.
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

// The pod has joined it.
void FollowOwner(StandingState& state, Gang& gang, const cluster::Pod& pod);
// Its PodGroup is as it is now.
void FollowOwner(Gang& gang, const cluster::PodGroup& group);

// Nothing of it goes on: orders, counts and pauses are its owner's from now on.
void LeaveToOwner(StandingState& state, Gang& gang, cluster::Time now);
// The same where all of it has ended well, or nobody makes others: an order ends there.
void LeaveNothing(StandingState& state, Gang& gang);
// Before it is judged first.
void TakeFromOwner(StandingState& state, Gang& gang, cluster::Time now);
// It makes no more pods.
void ForgetOwner(StandingState& state, const std::string& owner);

}  // namespace muster::engine
