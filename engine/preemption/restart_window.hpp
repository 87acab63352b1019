// The restart window (internal to engine/; docs/design/restart-window.md): a gang for which others
// were evicted and that dies before its minRuntime keeps its devices for preemption.restartWindow.
//
//   KeepRoom         a member goes: what it had is kept, before anybody can be planned there
//   OpenWindow       all of them are gone, or about to go
//   FollowKeptRooms  before a pass: ends what is over
//   AwaitNextAttempt the gang is forgotten with its last pod: how long what it had is still kept
//
// What is kept is the gang's, that of the next attempts of its owner (AcrossAttempts), and of gangs
// of higher priority in its queue: see KeptOff in engine/claims/booking_rules.hpp. Not kept is what
// a member had that made way for another gang, that ended well, or that had no group: another pod
// in its place has another name.
#pragma once

#include <optional>
#include <string>

#include "engine/gangs/gang.hpp"
#include "engine/standing/kept_rooms.hpp"

namespace muster::engine {

struct StandingState;

// The room of a pod that would be kept if the pod went now; nothing: none. Whether its gang is
// early is for FollowKeptRooms to say.
std::optional<KeptRoom> RoomAtStake(const StandingState& state, const cluster::PodUid& pod);
// What the gang's members have is kept for it if they go now.
bool KeepsIfLost(const StandingState& state, const Gang& gang, cluster::Time now);
// The pod is gone, or holds nothing any more.
void KeepRoom(StandingState& state, const KeptRoom& room);

void FollowKeptRooms(StandingState& state, cluster::Time now);
// What is kept for the gang, or for another attempt of its owner; null: nothing is.
const KeptRoom* KeptRoomOf(const StandingState& state, const Gang& gang);
// The last of it has gone, with all that said of it: another attempt comes soon, or none does.
void AwaitNextAttempt(StandingState& state, const Gang& gang, cluster::Time now);
// The gang, which ran since then, died early: what members still have that leave is kept, too. For
// people: "what it had on n0, n1 is kept for it for 300 s"; empty: nothing is.
std::string OpenWindow(StandingState& state, const Gang& gang, cluster::Time since);
// Those that it kept off may fit now.
void EndKeptRoom(StandingState& state, const GangId& gang, WindowEnd how);

// Of the gang that it is kept for, or what it was when it went.
int32_t PriorityAt(const StandingState& state, const KeptRoom& room);

// "gang a/b, which lost it early and may start there again until 2027-01-15T08:00:00Z".
std::string Describe(const KeptRoom& room);
// The names of its nodes, in order, a few of them.
std::string NodesOf(const StandingState& state, const KeptRoom& room);

}  // namespace muster::engine
