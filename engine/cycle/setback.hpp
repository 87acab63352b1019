// What follows when a gang's plan goes wrong: it is given back whole, and the gang waits (internal
// to engine/).
#pragma once

#include <string>

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct ClaimState;

// The nodes whose turns its members waited for in vain (HamiTurns) are not for them, for a while.
void ExcludeHanging(ClaimState& state, Gang& gang, cluster::Time now);
// Gives back what no binding is under way for, refuses held Bind calls, spares victims.
void GiveBack(ClaimState& state, Gang& gang, const std::string& why);
// GiveBack, of a plan that something broke: the gang waits if it was made just now.
void Drop(ClaimState& state, Gang& gang, const std::string& why, cluster::Time now);
// GiveBack after a failed start: the gang waits before it is tried again.
void Fail(ClaimState& state, Gang& gang, const Reason& setback, cluster::Time now);
// The same where the whole reservation ran out.
void Expire(ClaimState& state, Gang& gang, const Reason& setback, cluster::Time now);
// The same where kube-scheduler finds no node for a member: the gang waits for evidence that it
// would now (Refusals).
void Refuse(ClaimState& state, Gang& gang, const Reason& setback, cluster::Time now);
// Beside bound members: each one that did not come in time, or was refused, gives back what it held
// and pauses, the others go on.
void ExpireMembers(ClaimState& state, Gang& gang, cluster::Time now);

// From plan to the last Bind call; longer after one that ran out (HeldAfter).
cluster::Duration ReservationTimeout(const ClaimState& state, const Gang& gang);

}  // namespace muster::engine
