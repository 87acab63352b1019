// What a gang has been: taken up from API objects, and followed while it is judged.
#include "engine/judging/remember.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/gangs/defect.hpp"
#include "engine/gangs/inherited.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/settle_members.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Headcount;
using cluster::Pod;
using cluster::PodGroup;
using cluster::PodPhase;
using cluster::Time;

namespace {

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

// What is written is by Muster's clock, what it is compared with by the API server's.
constexpr cluster::Duration kClocksApart = cluster::Seconds(60);

// The record as far as API objects do not contradict it: a gang runs since no time before its
// PodGroup was made, and none after the last of its members was bound.
cluster::GangRecord Believed(cluster::GangRecord record, const Gang& gang, const PodGroup& group,
                             Time now) {
  Time last;
  for (const auto& [uid, member] : gang.members) last = std::max(last, member.pod->bound_at);
  if (last == Time()) last = now;
  if (!record.started) return record;
  const bool too_late = *record.started > last + kClocksApart;
  const bool too_early = !group.declared && *record.started + kClocksApart < group.created;
  if (too_late || too_early) record.started = std::min(last, now);
  return record;
}

// What the API objects tell of its past, once. False: there is nothing that tells.
bool AdoptRecord(StandingState& state, Gang& gang, Time now) {
  const PodGroup* group = state.members.GroupOf(gang);
  if (group == nullptr) return false;
  const cluster::GangRecord told = group->declared ? CarriedRecord(gang) : group->record;
  const cluster::GangRecord record = Believed(told, gang, *group, now);
  for (auto& [uid, member] : gang.members) {
    member.from_earlier_run = member.pod->terminal() && OfAnotherOwner(*member.pod, record);
  }
  gang.past = Inherited(gang, record);
  gang.past.SetAdoptedAt(now);
  state.announcer.Adopted(gang, told);
  if (gang.past.has_run() && record.lost_since != Time()) {
    gang.course.partial_since = OnReturn(record.lost_since, state.options.partial_timeout, now);
  }
  return true;
}

// What the gang asks for, as far as anybody can say.
Headcount Declared(const StandingState& state, const Gang& gang) {
  const PodGroup* group = state.members.GroupOf(gang);
  const bool runs = gang.past.running_since().has_value();
  const bool unsaid =
      group != nullptr && runs && DefectOf(*group, state.options).code != ReasonCode::kNone;
  if (unsaid) return gang.past.whole();
  return runs ? DeclaredMinimum(group) : FirstMinimum(group);
}

// In a gang that has not run, members that have ended belong to an earlier run if the waiting ones
// have other owners. True: something changed.
bool SetFromEarlierRun(Gang& gang, const std::set<std::string>& waiting) {
  bool changed = false;
  for (auto& [uid, member] : gang.members) {
    const std::string& owner = member.pod->owner_uid;
    const bool ended = member.pod->terminal() && !owner.empty();
    const bool from_earlier_run = ended && !waiting.empty() && !waiting.contains(owner);
    changed = changed || from_earlier_run != member.from_earlier_run;
    member.from_earlier_run = from_earlier_run;
  }
  return changed;
}

// Its owner says that it is a gang, and one of its members was bound by itself.
bool RunsOneByOne(const StandingState& state, const Gang& gang) {
  const PodGroup* group = state.members.GroupOf(gang);
  if (group == nullptr || !group->by_owner) return false;
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const Member& member = entry.second;
    const Pod& pod = *member.pod;
    return member.ours && pod.bound() && !pod.ending() && pod.bound_in != gang.id.key.name;
  });
}

// Members that count now, and were bound before its past was adopted.
Headcount BoundBefore(const Gang& gang) {
  return CountMembers(gang, true, [&](const Member& member) {
    return CountsAsBound(member) && member.pod->bound_at > Time() &&
           member.pod->bound_at <= gang.past.adopted_at();
  });
}

}  // namespace

Headcount WantedNow(const Gang& gang, const PodGroup* group, const Headcount& declared) {
  const bool in_part = group != nullptr && group->starts_with > 0 && !gang.past.running_since();
  // Those that have ended are none of the first.
  Headcount wanted = in_part ? Lower(FirstMinimum(group), gang.past.Wanted(DeclaredMinimum(group)))
                             : gang.past.Wanted(declared, Grows(gang, group));
  if (group == nullptr || group->ended == 0) return wanted;
  // Its owner counts more that have ended well than are here or were seen.
  const int64_t seen = gang.tally.succeeded + gang.past.ended().members;
  return Minus(wanted, {std::max<int64_t>(0, group->ended - seen), {}});
}

void Remember(StandingState& state, Gang& gang, Time now) {
  if (!gang.past.adopted() && AdoptRecord(state, gang, now)) SettleMembers(state, gang);
  const Tally& tally = gang.tally;
  const std::optional<Time> since = gang.past.running_since();
  const bool unbound = tally.bound + tally.succeeded == 0;
  if (unbound) gang.past.MarkUnbound();
  const bool has_past = gang.past.has_run() || gang.past.ended().members > 0 ||
                        tally.succeeded + tally.failed + tally.of_earlier_run > 0;
  if (tally.bound == 0 && has_past) {
    std::unordered_set<std::string_view> known;
    for (const auto& [uid, member] : gang.members) {
      if (member.pod->ending()) continue;
      known.insert(member.pod->owner_uid);
      gang.past.Recreated(member.key.name);
    }
    const std::set<std::string> owners(known.begin(), known.end());
    if (gang.past.AnotherRun(owners, Declared(state, gang))) {
      gang.past.Forget();
      const PodGroup* group = state.members.GroupOf(gang);
      if (group == nullptr || group->declared) gang.past.MarkEvicted(false);
    }
    if (!gang.past.has_run() && SetFromEarlierRun(gang, owners)) {
      gang.past.ForgetOwners();
      SettleMembers(state, gang);
    }
  }
  if (gang.past.inferred().members > 0) gang.past.Reconsider(BoundBefore(gang));
  if (RunsOneByOne(state, gang)) gang.past.RunOneByOne(now);
  gang.minimum = WantedNow(gang, state.members.GroupOf(gang), Declared(state, gang));
  if (unbound && gang.past.has_run() && gang.minimum.members == 0) gang.past.Resume(since);
}

}  // namespace muster::engine
