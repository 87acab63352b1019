// What a gang has been: taken up from API objects, and followed while it is judged.
#include "engine/remember.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/count.hpp"
#include "engine/defect.hpp"
#include "engine/engine_state.hpp"
#include "engine/minimum.hpp"
#include "engine/partial.hpp"

namespace muster::engine {

using cluster::Headcount;
using cluster::Pod;
using cluster::PodGroup;
using cluster::PodPhase;
using cluster::Time;

namespace {

// Members that were bound, and have Failed or are leaving, and whose place nobody took: nobody who
// stays was made after they were bound.
Headcount GoneInSight(const Gang& gang) {
  std::vector<const Pod*> gone;
  std::multiset<std::pair<std::string, Time>> later;  // roles and creation times of who stays
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (Stays(member)) later.emplace(pod.role, pod.created);
    if (member.bygone) continue;
    const bool went = pod.phase == PodPhase::kFailed || (pod.deleting && !pod.terminal());
    if (went && pod.bound()) gone.push_back(&pod);
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

// The record knows its owner for nobody of those that ran last.
bool OfAnotherOwner(const Pod& pod, const cluster::GangRecord& record) {
  if (pod.owner_uid.empty() || !record.begun || record.owners.empty()) return false;
  return !record.owners.contains(cluster::kAnyOwner) &&
         !record.owners.contains(cluster::OwnerTag(pod.owner_uid));
}

// Members that wait and were made since the gang runs: each takes the place of one that was lost.
Headcount Replacing(const Gang& gang, const cluster::GangRecord& record) {
  Headcount heads;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (pod.bound() || pod.terminal() || pod.deleting || OfAnotherOwner(pod, record)) continue;
    if (!record.started || pod.created < *record.started) continue;
    ++heads.members;
    ++heads.roles[pod.role];
  }
  return heads;
}

// Of a gang without an object. Pods that wait may carry what was before those that run were bound.
cluster::GangRecord CarriedRecord(const Gang& gang) {
  const Pod* carrier = nullptr;
  for (const auto& [uid, member] : gang.members) {
    const Pod* pod = member.pod;
    if (!pod->gang_record) continue;
    if (carrier == nullptr || (pod->bound() && !carrier->bound())) carrier = pod;
  }
  return carrier == nullptr ? cluster::GangRecord{} : *carrier->gang_record;
}

// What the API objects tell of its past, once. False: there is nothing that tells.
bool AdoptRecord(EngineState& state, Gang& gang, Time now) {
  const PodGroup* group = state.members.GroupOf(gang);
  if (group == nullptr) return false;
  const cluster::GangRecord record = group->declared ? CarriedRecord(gang) : group->record;
  for (auto& [uid, member] : gang.members) {
    member.bygone = member.pod->terminal() && OfAnotherOwner(*member.pod, record);
  }
  gang.past = Inherited(gang, record);
  state.announcer.Adopted(gang, record);
  if (gang.past.begun() && record.lost_since != Time()) {
    gang.course.partial_since = OnReturn(record.lost_since, state.options.partial_timeout, now);
  }
  return true;
}

// What the gang asks for, as far as anybody can say.
Headcount Declared(const EngineState& state, const Gang& gang) {
  const PodGroup* group = state.members.GroupOf(gang);
  const bool unsaid = group != nullptr && gang.past.runs_since() &&
                      DefectOf(*group, state.options).code != ReasonCode::kNone;
  return unsaid ? gang.past.whole() : DeclaredMinimum(group);
}

// Of a gang that has not begun, who has ended belongs to an earlier run where those who wait have
// other owners. True: something changed.
bool SetBygone(Gang& gang, const std::set<std::string>& waiting) {
  bool changed = false;
  for (auto& [uid, member] : gang.members) {
    const std::string& owner = member.pod->owner_uid;
    const bool ended = member.pod->terminal() && !owner.empty();
    const bool bygone = ended && !waiting.empty() && !waiting.contains(owner);
    changed = changed || bygone != member.bygone;
    member.bygone = bygone;
  }
  return changed;
}

}  // namespace

Past Inherited(const Gang& gang, const cluster::GangRecord& record) {
  // Who replaces one that Failed and is there still must not count twice.
  const Headcount gone = Higher(GoneInSight(gang), Replacing(gang, record));
  Past past;
  past.Adopt(record, CountMembers(gang, true, Stays), gone);
  return past;
}

void Remember(EngineState& state, Gang& gang, Time now) {
  if (!gang.past.adopted() && AdoptRecord(state, gang, now)) Count(state, gang);
  if (gang.tally.bound == 0) {
    if (gang.tally.succeeded == 0) gang.past.Stop();
    std::set<std::string> owners;
    for (const auto& [uid, member] : gang.members) {
      if (member.pod->terminal() || member.pod->deleting) continue;
      owners.insert(member.pod->owner_uid);
      gang.past.MadeAnew(member.key.name);
    }
    if (gang.past.AnotherRun(owners, Declared(state, gang))) gang.past.Forget();
    if (!gang.past.begun() && SetBygone(gang, owners)) {
      gang.past.ForgetOwners();
      Count(state, gang);
    }
  }
  gang.minimum = gang.past.Wanted(Declared(state, gang));
}

}  // namespace muster::engine
