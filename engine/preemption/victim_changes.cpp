#include "engine/preemption/victim_changes.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "engine/preemption/certificate.hpp"
#include "engine/preemption/reclaim.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::PodUid;

namespace {

bool FailsWhenEvicted(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  return book.tree().at(book.IndexOf(QueueOf(gang))).preemption.on_evicted ==
         queues::OnEvicted::kFail;
}

}  // namespace

void InvalidateVictim(StandingState& state, const Member& victim) {
  if (state.preemptions.PreemptorOf(victim.uid) == nullptr) return;
  TouchPreemptor(state, victim);
  state.cluster.KeepHolding(victim.uid);
  state.preemptions.Lose(victim.uid);
}

// The first one tells of all: until then they might all have been spared.
void NoteEvicted(StandingState& state, const GangId& preemptor) {
  if (!state.preemptions.Evicted(preemptor)) return;
  if (state.orders.Find(preemptor) == nullptr) state.preemptions.Pay(preemptor);
  const Victims& victims = *state.preemptions.VictimsOf(preemptor);
  const Certificate* certificate = state.preemptions.CertificateOf(preemptor);
  std::map<GangId, int64_t> lost;
  for (const PodUid& uid : victims.pods) {
    const PlacedMember at = state.members.Find(uid);
    if (at.member != nullptr && state.preemptions.MustGo(uid)) ++lost[at.gang->id];
  }
  for (const auto& [id, pods] : lost) {
    Gang& gang = *state.members.Find(id);
    gang.course.evicted_for = Describe(WhyEvicted(state, preemptor));
    const bool whole = std::none_of(gang.members.begin(), gang.members.end(), [&](const auto& one) {
      return one.second.holds() && !one.second.leaving() && !victims.pods.contains(one.first);
    });
    if (whole) {
      state.preemptions.CountEviction(AcrossAttempts(gang), victims.asked_at);
      gang.past.MarkEvicted(FailsWhenEvicted(state, gang));
    }
    const std::string who = std::to_string(pods) + (pods == 1 ? " pod is" : " pods are");
    if (state.orders.Find(preemptor) != nullptr) {
      state.announcer.Tell(gang, true, "GangReclaimed",
                           who + " evicted: " + WhyEvicted(state, preemptor).detail);
      continue;
    }
    state.announcer.Tell(
        gang, true, "GangPreempted",
        who + " evicted for gang " + preemptor.key.ToString() + " " + RightOver(certificate, id));
  }
}

void TouchPreemptor(StandingState& state, const Member& victim) {
  const GangId* preemptor = state.preemptions.PreemptorOf(victim.uid);
  Gang* gang = preemptor == nullptr ? nullptr : state.members.Find(*preemptor);
  if (gang != nullptr) state.work.Touch(*gang);
}

void TouchGangOf(StandingState& state, const PodUid& pod) {
  if (Gang* gang = state.members.Find(pod).gang) state.work.Touch(*gang);
}

}  // namespace muster::engine
