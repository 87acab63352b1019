#include "engine/minimum.hpp"

#include <tuple>
#include <utility>

namespace muster::engine {

using cluster::Headcount;
using cluster::Pod;
using cluster::PodPhase;

namespace {

int64_t CountOf(const Headcount& heads, const std::string& role) {
  const auto found = heads.roles.find(role);
  return found == heads.roles.end() ? 0 : found->second;
}

bool Leaving(const Member& member) { return member.pod->deleting || member.evicting; }

}  // namespace

Headcount DeclaredMinimum(const cluster::PodGroup* group) {
  if (group == nullptr) return {1, {}};
  Headcount minimum{group->min_member, {}};
  for (const cluster::RoleMinimum& role : group->roles) {
    if (role.min_member > 0) minimum.roles[role.name] = role.min_member;
  }
  return minimum;
}

Headcount Lower(const Headcount& a, const Headcount& b) {
  Headcount lower{std::min(a.members, b.members), {}};
  for (const auto& [role, count] : a.roles) {
    const int64_t both = std::min(count, CountOf(b, role));
    if (both > 0) lower.roles[role] = both;
  }
  return lower;
}

Headcount Higher(Headcount a, const Headcount& b) {
  a.members = std::max(a.members, b.members);
  for (const auto& [role, count] : b.roles) a.roles[role] = std::max(a.roles[role], count);
  return a;
}

Headcount Plus(Headcount a, const Headcount& b) {
  a.members += b.members;
  for (const auto& [role, count] : b.roles) a.roles[role] += count;
  return a;
}

Headcount Minus(const Headcount& a, const Headcount& b) {
  Headcount rest{std::max<int64_t>(0, a.members - b.members), {}};
  for (const auto& [role, count] : a.roles) {
    const int64_t left = count - CountOf(b, role);
    if (left > 0) rest.roles[role] = left;
  }
  return rest;
}

int64_t Lack(const Headcount& minimum, const Headcount& heads) {
  int64_t of_roles = 0;
  for (const auto& [role, count] : minimum.roles) {
    of_roles += std::max<int64_t>(0, count - CountOf(heads, role));
  }
  return std::max({int64_t{0}, minimum.members - heads.members, of_roles});
}

bool Stays(const Member& member) {
  const Pod& pod = *member.pod;
  if (member.bygone) return false;
  if (pod.phase == PodPhase::kSucceeded) return true;
  return pod.bound() && !pod.terminal() && !Leaving(member);
}

bool IsThere(const Member& member, Counting counting) {
  const Pod& pod = *member.pod;
  if (Stays(member)) return true;
  if (pod.terminal() || Leaving(member) || member.malformed()) return false;
  if (counting == Counting::kPlanned) return member.plan.has_value();
  if (counting == Counting::kReady)
    return member.ours && !pod.gated_by_others() && !member.pauses_until;
  return counting == Counting::kPresent;
}

int64_t Need(const Gang& gang, Counting counting) {
  if (!gang.minimum.roles.empty()) {
    return Lack(gang.minimum, CountMembers(gang, true, [&](const Member& member) {
                  return IsThere(member, counting);
                }));
  }
  const Tally& tally = gang.tally;
  Headcount have{tally.bound + tally.succeeded, {}};
  if (counting == Counting::kPlanned) have.members += tally.planned;
  if (counting >= Counting::kReady) have.members += tally.pending;
  if (counting == Counting::kPresent)
    have.members += tally.pausing + tally.gated_by_others + tally.others_pending;
  return Lack(gang.minimum, have);
}

Headcount Lacking(const Gang& gang) {
  if (!gang.minimum.roles.empty()) return Minus(gang.minimum, CountMembers(gang, true, Stays));
  return Minus(gang.minimum, {gang.tally.bound + gang.tally.succeeded, {}});
}

bool BarrierMet(const Gang& gang) {
  const Headcount arrived =
      CountMembers(gang, !gang.minimum.roles.empty(), [](const Member& member) {
        if (Stays(member)) return true;
        const bool at_bind = !member.held.empty() || member.may_be_bound();
        return at_bind && !member.pod->terminal() && !Leaving(member);
      });
  return Lack(gang.minimum, arrived) == 0;
}

std::vector<const Member*> TakeSurplus(const Gang& gang, std::vector<const Member*>& bound) {
  std::sort(bound.begin(), bound.end(), [](const Member* a, const Member* b) {
    return std::tie(b->pod->created, a->key, a->uid) < std::tie(a->pod->created, b->key, b->uid);
  });
  const Headcount have = CountMembers(gang, true, Stays);
  if (Lack(gang.minimum, have) > 0) return {};
  int64_t spare = have.members - gang.minimum.members;
  Headcount left = have;
  std::vector<const Member*> surplus;
  std::vector<const Member*> needed;
  for (const Member* member : bound) {
    const std::string& role = member->pod->role;
    const bool may = spare > 0 && left.roles[role] > CountOf(gang.minimum, role);
    (may ? surplus : needed).push_back(member);
    if (!may) continue;
    --spare;
    --left.roles[role];
  }
  bound = std::move(needed);
  return surplus;
}

}  // namespace muster::engine
