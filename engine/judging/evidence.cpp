#include "engine/judging/evidence.hpp"

#include <algorithm>
#include <utility>

#include "engine/judging/judge.hpp"
#include "engine/judging/settle_members.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

void TouchStirred(StandingState& state) {
  for (const GangId& id : state.refusals.TakeStirred()) {
    if (Gang* gang = state.members.Find(id)) state.work.Touch(*gang);
  }
}

// Its pods are gone, and some of those in their place are as they were, or there are none yet.
bool StaysSilent(const Refusal& refusal, const Gang& gang) {
  if (!refusal.words.empty()) return false;
  bool others = false;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (refusal.members.contains(uid) && pod.bound()) return false;
    if (pod.bound() || pod.ending()) continue;
    if (refusal.silent.contains(pod.spec)) return true;
    others = true;
  }
  return !others;
}

Reason ReasonOf(const Refusal& refusal) {
  return Because(ReasonCode::kRefused, 0, 0, refusal.words);
}

}  // namespace

SaidBefore SaidBy(const StandingState& state, const Pod& pod) {
  const Pod* known = state.cluster.FindPod(pod.uid);
  if (known == nullptr) return {};
  const bool spoke = WordsOn(*known) != nullptr;
  return {true, known->nominated_node, spoke ? known->unschedulable : nullptr};
}

void HearWords(StandingState& state, const SaidBefore& before, const Pod& pod, Time now) {
  const std::string* words = WordsOn(pod);
  const PlacedMember at = state.members.Find(pod.uid);
  if (at.member == nullptr || !pod.gates.empty() || pod.bound() || pod.ending()) return;
  Member& member = *at.member;
  if (words == nullptr) return state.reservations.SetRefused(member, std::nullopt);
  const bool other = before.words == nullptr || *before.words != *words;
  if (!before.known) {
    if (!pod.handed_over || !NamesUnplanned(*words)) return;
    state.refusals.Refuse(at.gang->id, {&member}, WhyRefused(member).detail, now);
  } else if (!member.planned()) {
    if (before.words != nullptr && other && Relents(*before.words, *words))
      state.refusals.Relented(at.gang->id, pod.uid);
  } else if (member.plan->nominated && !member.plan->bind_seen &&
             member.plan->refused_at.value_or(Time::Never()) > now &&
             state.preemptions.VictimsOf(at.gang->id) == nullptr) {
    const bool turned = before.nominated == member.plan->node && pod.nominated_node.empty();
    if (!other && !turned) return;
    state.reservations.SetRefused(member, now);
    // It may have had an older picture, and no event that makes it look again: it is asked once
    // more.
    state.writes.MarkNeedsWake(member);
  }
}

void ExpectAnswer(StandingState& state, const Gang& gang, Member& member, Time now) {
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal == nullptr || !refusal->members.contains(member.uid) || !member.planned() ||
      member.plan->bind_seen || member.plan->refused_at || WordsOn(*member.pod) == nullptr)
    return;
  state.reservations.SetRefused(member, now + Refusals::kAnswers);
}

void NoteChange(StandingState& state) {
  state.refusals.Changed();
  TouchStirred(state);
}

void NoteNode(StandingState& state, const std::string& node) {
  state.refusals.NodeChanged(node);
  TouchStirred(state);
}

void FollowRefusal(StandingState& state, Gang& gang, Time now) {
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal == nullptr) return;
  const auto& members = refusal->members;
  const bool any = std::any_of(members.begin(), members.end(), [&](const PodUid& uid) {
    const auto found = gang.members.find(uid);
    return found != gang.members.end() && !found->second.pod->bound() &&
           !found->second.pod->ending();
  });
  const bool over = !any && (!refusal->waits || !(members.empty() || StaysSilent(*refusal, gang)));
  if (refusal->waits && (over || state.refusals.RetryFrom(*refusal) <= now)) {
    gang.course.backoff_until.reset();
    state.reservations.EndPauses(gang, Time::Never());
    state.refusals.Retry(gang.id);
    SettleMembers(state, gang);
  }
  if (over) return state.refusals.Forget(gang.id);
  if (!refusal->waits || gang.tally.bound_of_muster > 0 || gang.tally.planned > 0) return;
  gang.course.backoff_until = state.refusals.RetryFrom(*refusal);
  if (gang.course.setback.code == ReasonCode::kNone) gang.course.setback = ReasonOf(*refusal);
}

bool WaitForEvidence(StandingState& state, Gang& gang, Time now) {
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal == nullptr) return false;
  if (refusal->may_evict) {
    if (!state.refusals.Lift(gang.id)) return false;
    state.queue.Retry(gang);
    return true;
  }
  if (refusal->words.empty()) return false;  // silence: the pause has ended, it waits for room
  gang.course.setback = ReasonOf(*refusal);
  state.refusals.FoundNoRoom(gang.id, now);
  PendingQueue::Tried(gang);
  state.work.Touch(gang);
  return true;
}

}  // namespace muster::engine
