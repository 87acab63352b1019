// The gang's minimum, in one place: which members count, what is lacking, which are surplus
// (internal to engine/). Pure functions of a gang's members.
//
// A minimum is a Headcount: so many members in all, and of each role so many. A role that it does
// not name has no minimum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/records/gang_record.hpp"
#include "cluster/records/pod_group.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/gangs/headcount.hpp"

namespace muster::engine {

// What the PodGroup asks for; of a gang of one (null) its pod. As written: DefectOf
// (engine/gangs/defect.hpp) checks it.
cluster::Headcount DeclaredMinimum(const cluster::PodGroup* group);
// What it starts with: the same, but for PodGroup::starts_with.
cluster::Headcount FirstMinimum(const cluster::PodGroup* group);
// Of either, how many in all.
int64_t MinMember(const cluster::PodGroup* group, bool first);
// It began with those, and still lacks others that start together.
bool Grows(const Gang& gang, const cluster::PodGroup* group);
// It grows, and none of those others is bound yet: from then on those that lack are completed.
bool AwaitsRest(const Gang& gang, const cluster::PodGroup* group);
// It has run whole and lost members, of which its controller makes some only when others are
// placed.
bool ComesInParts(const Gang& gang, const cluster::PodGroup* group);

// The members for which `counts` says yes, in all and, where `by_role`, by role.
template <typename Counts>
cluster::Headcount CountMembers(const Gang& gang, bool by_role, const Counts& counts) {
  int64_t members = 0;
  std::unordered_map<std::string_view, int64_t> roles;  // there may be a thousand
  for (const auto& [uid, member] : gang.members) {
    if (!counts(member)) continue;
    ++members;
    if (by_role) ++roles[member.pod->role];
  }
  return HeadcountOf(members, roles);
}

// Which members count when a gang's lack is computed.
//   kBound    bound, or succeeded
//   kArrived  and those at Bind
//   kPlanned  kBound, and those with a plan
//   kReady    and those free of other controllers' gates, with volumes that are ready, that are not
//             pausing
//   kPresent  and those that exist and are not leaving
enum class Counting { kBound, kArrived, kPlanned, kReady, kPresent };

// It has succeeded, or is bound and not leaving.
bool CountsAsBound(const Member& member);
bool IsThere(const Member& member, Counting counting);
// How many pods the gang still lacks of Gang::minimum. Tally and minimum must be of now.
int64_t Need(const Gang& gang, Counting counting);
// What its live and its succeeded members lack of Gang::minimum, in all and by role.
cluster::Headcount Lacking(const Gang& gang);
cluster::Headcount LackingOf(const Gang& gang, const cluster::Headcount& minimum);

// Which of `members` (positions, in the order in which they are taken) the gang needs to have its
// minimum beside those of whom `others` tells: of each role as many as it lacks, then any; the
// first ones first.
std::vector<size_t> Needed(const cluster::Headcount& minimum, const cluster::Headcount& others,
                           const std::vector<const Member*>& members);
// Of so many bound members the gang needs all in any case: none of them is surplus.
bool NeedsAll(const Gang& gang, int64_t bound);
// Takes from `bound` the members without which the gang keeps its minimum: youngest first, then by
// name. None where the minimum is not met anyway.
std::vector<const Member*> TakeSurplus(const Gang& gang, std::vector<const Member*>& bound);

}  // namespace muster::engine
