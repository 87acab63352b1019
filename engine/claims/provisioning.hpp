// Provisioning: gangs that lack room ask cluster-autoscaler for their nodes, by
// ProvisioningRequests (internal to engine/). Which gangs do, engine/claims/scale_up.hpp decides;
// what is kept for them, engine/claims/asked_rooms.hpp.
//
// 1. A request asks for the members that the gang needs to start, as they are. Where they become
//    others, it is replaced.
// 2. It is there until the gang runs, or no longer may ask.
// 3. One that failed, or whose nodes did not come while cluster-autoscaler kept them, is tried
//    again: after a minute, then twice as long each time, up to an hour. The try and its end are in
//    the API server, so that a restart changes nothing of that.
// 4. The name follows from the gang, from what is asked for and from the try: a process that does
//    not know of an earlier request and asks again creates no second one.
// 5. A request of an unknown gang is deleted a minute after it was first seen: the gang may become
//    known later than the request.
#pragma once

#include <string>

#include "engine/claims/node_requests.hpp"
#include "engine/contract/facts.hpp"
#include "engine/contract/outcome.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct ClaimState;

// A ProvisioningRequest takes no more.
inline constexpr size_t kMostPodSets = 32;

// The gang lacks room: it has a request that is open, or will have one.
void AskByRequest(ClaimState& state, Gang& gang, cluster::Time now);
// What there is of the gang's stays as it is.
void KeepRequests(ClaimState& state, const Gang& gang);
// None is wanted any more.
void WithdrawRequests(ClaimState& state, const GangId& gang);
// When the gang is to be looked at again for it; Never: not without a fact.
cluster::Time RequestDue(const ClaimState& state, const Gang& gang);

// After all gangs were looked at: what is to be created or deleted.
void WriteRequests(ClaimState& state, cluster::Time now);
// False: it is not the outcome of such a write.
bool ReportRequest(ClaimState& state, const Outcome& outcome, cluster::Time now);

void ApplyRequest(ClaimState& state, const cluster::ProvisioningRequest& told, cluster::Time now);
void RemoveRequest(ClaimState& state, const cluster::ProvisioningRequestUid& uid,
                   cluster::Time now);

// For people: "asked cluster-autoscaler for 4 × 8 GPUs: request a/muster-train-1, accepted …".
// Empty: the gang has none.
std::string RequestText(const ClaimState& state, const Gang& gang);
// More shapes of pods than a request takes.
bool TooManyShapes(const ClaimState& state, const Gang& gang);

}  // namespace muster::engine
