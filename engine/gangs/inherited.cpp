#include "engine/gangs/inherited.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/gangs/minimum.hpp"

namespace muster::engine {

using cluster::Headcount;
using cluster::Pod;
using cluster::PodPhase;
using cluster::Time;

bool OfAnotherOwner(const Pod& pod, const cluster::GangRecord& record) {
  if (pod.owner_uid.empty() || !record.has_run || record.owners.empty()) return false;
  return !record.owners.contains(cluster::kAnyOwner) &&
         !record.owners.contains(cluster::OwnerTag(pod.owner_uid));
}

namespace {

// Members that were bound, have Failed or are leaving, and were not replaced: no member was created
// after they were bound that was bound itself. (It may have Failed in its turn.)
Headcount VisiblyLost(const Gang& gang) {
  std::vector<const Pod*> gone;
  std::multiset<std::pair<std::string, Time>>
      later;  // roles and creation times of members that are or were bound
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (CountsAsBound(member)) later.emplace(pod.role, pod.created);
    if (member.from_earlier_run) continue;
    const bool went = pod.phase == PodPhase::kFailed || (pod.deleting && !pod.terminal());
    if (!went || !pod.bound()) continue;
    gone.push_back(&pod);
    later.emplace(pod.role, pod.created);
  }
  std::sort(gone.begin(), gone.end(), [](const Pod* a, const Pod* b) {
    return std::tie(b->bound_at, a->uid) < std::tie(a->bound_at, b->uid);
  });
  Headcount heads;
  for (const Pod* pod : gone) {
    const auto place = later.lower_bound({pod->role, pod->bound_at});
    if (place != later.end() && place->first == pod->role) {
      later.erase(place);
      continue;
    }
    ++heads.members;
    ++heads.roles[pod->role];
  }
  return heads;
}

// Members that wait and were made since the gang runs: each takes the place of one that was lost.
Headcount Replacing(const Gang& gang, const cluster::GangRecord& record) {
  Headcount heads;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (pod.bound() || pod.ending() || OfAnotherOwner(pod, record)) continue;
    if (!record.started || pod.created < *record.started) continue;
    ++heads.members;
    ++heads.roles[pod.role];
  }
  return heads;
}

}  // namespace

Past Inherited(const Gang& gang, const cluster::GangRecord& record) {
  // The replacement of a Failed member that still exists must not count twice.
  const Headcount gone = Higher(VisiblyLost(gang), Replacing(gang, record));
  Past past;
  past.Adopt(record, CountMembers(gang, true, CountsAsBound), gone);
  return past;
}

}  // namespace muster::engine
