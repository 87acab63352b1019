#include "engine/gangs/minimum.hpp"

#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace muster::engine {

using cluster::Headcount;
using cluster::Pod;
using cluster::PodPhase;

namespace {

Headcount HeadcountOf(int64_t members, const std::vector<cluster::RoleMinimum>& roles) {
  Headcount heads{members, {}};
  for (const cluster::RoleMinimum& role : roles) {
    if (role.min_member > 0) heads.roles[role.name] = role.min_member;
  }
  return heads;
}

int64_t ThereOf(const RoleTally& role, Counting counting) {
  int64_t count = role.bound;
  if (counting == Counting::kPlanned) count += role.planned;
  if (counting >= Counting::kReady) count += role.pending;
  if (counting == Counting::kPresent) count += role.others;
  return count;
}

// From what was counted already: this is asked several times whenever a gang is judged. Roles are
// counted where the minimum names some.
Headcount There(const Gang& gang, Counting counting) {
  const bool by_role = !gang.minimum.roles.empty();
  if (counting == Counting::kArrived) {
    return CountMembers(gang, by_role,
                        [&](const Member& member) { return IsThere(member, counting); });
  }
  Headcount have;
  for (const auto& [role, tally] : gang.tally.roles) {
    const int64_t count = ThereOf(tally, counting);
    have.members += count;
    if (by_role && count > 0) have.roles.emplace_hint(have.roles.end(), role, count);
  }
  return have;
}

}  // namespace

Headcount DeclaredMinimum(const cluster::PodGroup* group) {
  if (group == nullptr) return {1, {}};
  return HeadcountOf(group->min_member, group->roles);
}

int64_t MinMember(const cluster::PodGroup* group, bool first) {
  if (group == nullptr) return 1;
  return first && group->starts_with > 0 ? group->starts_with : group->min_member;
}

Headcount FirstMinimum(const cluster::PodGroup* group) {
  if (group == nullptr || group->starts_with == 0) return DeclaredMinimum(group);
  return HeadcountOf(group->starts_with, group->first_roles);
}

bool Grows(const Gang& gang, const cluster::PodGroup* group) {
  const bool begun = group != nullptr && group->starts_with > 0 && gang.past.running_since() &&
                     !gang.past.one_by_one();
  if (!begun || Lack(DeclaredMinimum(group), gang.past.whole()) == 0) return false;
  // What it began with comes first.
  const Headcount first = LackingOf(gang, gang.past.Wanted(gang.past.whole()));
  return first == Headcount{};
}

bool AwaitsRest(const Gang& gang, const cluster::PodGroup* group) {
  return Grows(gang, group) &&
         gang.tally.bound + gang.tally.succeeded <= gang.past.Wanted(gang.past.whole()).members;
}

bool ComesInParts(const Gang& gang, const cluster::PodGroup* group) {
  const bool whole = group != nullptr && group->starts_with > 0 && gang.past.running_since() &&
                     Lack(DeclaredMinimum(group), gang.past.whole()) == 0;
  return whole && Need(gang, Counting::kPresent) > 0;
}

bool CountsAsBound(const Member& member) {
  if (member.from_earlier_run) return false;
  if (member.pod->phase == PodPhase::kSucceeded) return true;
  return member.holds() && !member.leaving();
}

bool IsThere(const Member& member, Counting counting) {
  const Pod& pod = *member.pod;
  if (CountsAsBound(member)) return true;
  if (pod.terminal() || member.leaving() || member.malformed()) return false;
  switch (counting) {
    case Counting::kBound:
      return false;
    case Counting::kArrived:
      return !member.writes->held.empty() || member.may_be_bound();
    case Counting::kPlanned:
      return member.planned();
    case Counting::kReady:
      return member.ours && !pod.gated_by_others() && !member.awaits_volumes() &&
             !member.plan->pauses_until;
    case Counting::kPresent:
      return true;
  }
  return false;
}

int64_t Need(const Gang& gang, Counting counting) {
  return Lack(gang.minimum, There(gang, counting));
}

Headcount Lacking(const Gang& gang) { return Minus(gang.minimum, There(gang, Counting::kBound)); }

Headcount LackingOf(const Gang& gang, const Headcount& minimum) {
  return Minus(minimum, CountMembers(gang, !minimum.roles.empty(), CountsAsBound));
}

std::vector<size_t> Needed(const Headcount& minimum, const Headcount& others,
                           const std::vector<const Member*>& members) {
  std::map<std::string, int64_t> of_role = Minus(minimum, others).roles;
  const int64_t total = minimum.members - others.members;
  std::vector<bool> taken(members.size(), false);
  std::vector<size_t> needed;
  const auto take = [&](size_t i) {
    taken[i] = true;
    needed.push_back(i);
  };
  for (size_t i = 0; i < members.size() && !of_role.empty(); ++i) {
    const auto role = of_role.find(members[i]->pod->role);
    if (role == of_role.end() || role->second <= 0) continue;
    --role->second;
    take(i);
  }
  int64_t absent = 0;  // of roles: nobody else makes up for them
  for (const auto& [role, count] : of_role) absent += std::max<int64_t>(0, count);
  for (size_t i = 0; i < members.size() && std::ssize(needed) < total - absent; ++i) {
    if (!taken[i]) take(i);
  }
  return needed;
}

bool NeedsAll(const Gang& gang, int64_t bound) {
  const int64_t have = CountMembers(gang, false, CountsAsBound).members;
  return gang.minimum.members - std::max<int64_t>(0, have - bound) >= bound;
}

std::vector<const Member*> TakeSurplus(const Gang& gang, std::vector<const Member*>& bound) {
  std::sort(bound.begin(), bound.end(), [](const Member* a, const Member* b) {
    return std::tie(b->pod->created, b->pod->job_index, a->key, a->uid) <
           std::tie(a->pod->created, a->pod->job_index, b->key, b->uid);
  });
  const Headcount have = CountMembers(gang, true, CountsAsBound);
  if (Lack(gang.minimum, have) > 0) return {};
  Headcount here;
  for (const Member* member : bound) {
    ++here.members;
    ++here.roles[member->pod->role];
  }
  // The members that are left after the oldest have been counted.
  const std::vector<const Member*> oldest_first(bound.rbegin(), bound.rend());
  std::vector<bool> stays(bound.size(), false);
  for (const size_t i : Needed(gang.minimum, Minus(have, here), oldest_first))
    stays[bound.size() - 1 - i] = true;
  std::vector<const Member*> surplus;
  std::vector<const Member*> needed;
  for (size_t i = 0; i < bound.size(); ++i) (stays[i] ? needed : surplus).push_back(bound[i]);
  bound = std::move(needed);
  return surplus;
}

}  // namespace muster::engine
