// What is asked of placement for a gang, or for one member of a plan (internal to engine/). Reads
// the engine's state, changes nothing of it.
#pragma once

#include <vector>

#include "engine/gangs/gang.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

struct StandingState;

// Of a gang that has members. `moving`: their places count no more.
policy::GangTerms TermsOf(const StandingState& state, const Gang& gang,
                          const std::vector<Member*>& moving);
// Members that it needs come in the place of lost ones: what is kept for those is theirs. Not of
// one that is still to grow (PodGroup::starts_with).
bool Replaces(const StandingState& state, const Gang& gang);
// The outermost subgroup that pods of `subgroup` are in and of which nobody has a node; kNone:
// there is none.
size_t WhollyLost(const policy::GangTerms& terms, size_t subgroup);
// As many members as it needs are bound on nodes that are known, or can be planned: no others go or
// come.
bool AllThere(const StandingState& state, const Gang& gang);
// What its PodGroup, or else one of its pods says of the fabric.
const cluster::TopologyTerms& TopologyOf(const StandingState& state, const Gang& gang);
// Its members that are to be planned, oldest first, then by name.
std::vector<const Member*> OpenMembers(const Gang& gang);
policy::GangRequest RequestOf(const StandingState& state, const Gang& gang, cluster::Time now);
// Of all members that have their nodes, bound or planned, as if they had none: for people.
policy::GangRequest AsIfWithoutNodes(const StandingState& state, const Gang& gang);
// With the nodes that the member may not have now.
policy::Demand DemandOf(const StandingState& state, const policy::GangTerms& terms,
                        const Member& member, cluster::Time now);
// No exclusions of its own: what comes of it holds for every gang that asks for the same.
bool Plain(const StandingState& state, const policy::GangRequest& request);

// The members that it needs to start and that are not planned, oldest first.
std::vector<const Member*> NeededForStart(const Gang& gang);

}  // namespace muster::engine
