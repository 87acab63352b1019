#include "engine/preemption/evictions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/judging/durations.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/preemption/certificate.hpp"
#include "engine/preemption/queue_rights.hpp"
#include "engine/preemption/reclaim.hpp"
#include "engine/preemption/restart_window.hpp"
#include "engine/preemption/victim_changes.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;

namespace {

// A pod that could not be evicted, or did not leave in time, is asked again after this at the
// earliest.
constexpr cluster::Duration kProtectedFor = cluster::Seconds(3'600);
// Before an eviction that failed is tried again, after each failure in a row longer by so much: an
// API server that is restarted answers again meanwhile.
constexpr cluster::Duration kBetweenFailures = cluster::Seconds(4);

// Somebody else has deleted it, and gave it longer than Muster gives a victim.
bool LeavesLate(const StandingState& state, const Member& member, Time now) {
  const cluster::Pod& pod = *member.pod;
  return pod.deleting && !pod.terminal() && pod.leaves_by > now + state.options.victim_timeout;
}

// The gang could have it evicted, were it not on its way out.
bool MayEvictOne(const StandingState& state, const Gang& gang, const Gang& of, const PodUid& uid) {
  const Member& member = of.members.at(uid);
  if (!member.ours || of.non_preemptible || !Preempts(state, gang) || MayPreemptFrom(state, gang))
    return false;
  return MayEvictByQueues(state, gang, of, member);
}

void Ask(StandingState& state, Gang& gang, Time now) {
  std::vector<PodUid> to_go;
  std::set<PodUid> cut_short;
  for (const PodUid& uid : state.preemptions.VictimsOf(gang.id)->pods) {
    const PlacedMember at = state.members.Find(uid);
    if (at.member == nullptr) continue;
    if (!at.member->leaving()) {
      to_go.push_back(uid);
    } else if (LeavesLate(state, *at.member, now) && MayEvictOne(state, gang, *at.gang, uid)) {
      cut_short.insert(uid);
    } else {
      continue;
    }
    state.writes.Postpone(*at.member, now);
    state.work.Touch(*at.gang);
  }
  state.preemptions.Ask(gang.id, to_go, now,
                        OverBudgets(state, gang, state.preemptions.VictimsOf(gang.id)->pods, now),
                        std::move(cut_short));
  state.reservations.SetDeadline(gang, now + state.options.victim_timeout);
  if (!to_go.empty()) state.preemptions.CountTry(gang.id, state.options.victim_timeout, now);
}

}  // namespace

Earmarked Earmark(StandingState& state, const Gang& gang, const PlanJob& job,
                  const PlanResult& result, Time now) {
  cluster::ClusterState& cluster = state.cluster;
  if (cluster.TakeSnapshot()->layout() != job.snapshot->layout()) return Earmarked::kStale;
  const bool current = cluster.generation() == job.snapshot->generation();
  const Earmarked failed = current ? Earmarked::kRefused : Earmarked::kStale;
  Victims victims;
  victims.pods.insert(result.victims.begin(), result.victims.end());
  if (!MayEvictAll(state, victims.pods, gang)) return failed;
  Certificate certificate = Certify(state, gang, job, result, now);
  const cluster::Status earmarked = cluster.Earmark(result.required, result.victims);
  if (!earmarked.ok()) {
    // The node will not have what the plan assumes: its pods are left alone from now on.
    const cluster::NodeIndex unsound = cluster.IndexOf(earmarked.error().place);
    bool barred = false;
    for (const PodUid& uid : result.victims) {
      const cluster::Allocation* held = cluster.AllocationOf(uid);
      if (!unsound.valid() || held == nullptr || held->placement.node != unsound) continue;
      state.preemptions.Protect(uid, {now + kProtectedFor});
      barred = true;
      TouchGangOf(state, uid);
    }
    return barred ? Earmarked::kStale : failed;
  }
  for (const PodUid& uid : result.victims) {
    if (Gang* of = state.members.Find(uid).gang) state.work.Touch(*of);
  }
  for (const VictimGang& victim : certificate.victims)
    victims.gangs += (victims.gangs.empty() ? "" : ", ") + victim.gang.key.ToString();
  state.announcer.Tell(gang, false, "Preempting", Describe(certificate));
  state.preemptions.Begin(gang.id, std::move(victims));
  state.preemptions.Certify(gang.id, std::move(certificate));
  return Earmarked::kDone;
}

std::optional<VictimsLeft> LookAtVictims(const StandingState& state, const Gang& gang) {
  const Victims* victims = state.preemptions.VictimsOf(gang.id);
  if (victims == nullptr) return std::nullopt;
  VictimsLeft left;
  left.need = static_cast<int64_t>(victims->pods.size());
  left.gangs = victims->gangs;
  left.obstacle = victims->obstacle;
  left.asked = victims->asked;
  left.begun = victims->begun;
  left.not_before = victims->not_before;
  for (const PodUid& uid : victims->pods) {
    if (state.cluster.AllocationOf(uid) == nullptr) ++left.gone;
    const Member* member = state.members.FindMember(uid);
    const bool leaves = member != nullptr && member->leaving() && member->holds();
    if (leaves && member->pod->leaves_by > Time(0))
      left.until = std::max(left.until, member->pod->leaves_by + kLate);
    left.under_way =
        left.under_way || (member != nullptr && member->writes->doing == WriteKind::kEvict);
  }
  left.wanted = victims->asked ? !victims->lost : VictimsStillValid(state, gang);
  return left;
}

bool AskEvictions(StandingState& state, Time now) {
  std::vector<Gang*> asking;
  for (const GangId& id : state.preemptions.TakeAsking()) {
    Gang* gang = state.members.Find(id);
    const Victims* victims = gang == nullptr ? nullptr : state.preemptions.VictimsOf(id);
    if (victims != nullptr && !victims->asked) asking.push_back(gang);
  }
  if (asking.empty()) return false;
  state.queue_book.Follow(state.cluster);
  const bool lawful = std::all_of(asking.begin(), asking.end(), [&](const Gang* gang) {
    return VictimsStillValid(state, *gang);
  });
  for (Gang* gang : asking) {
    if (lawful) Ask(state, *gang, now);
    state.work.Touch(*gang);
  }
  return true;
}

void ProtectVictims(StandingState& state, const Gang& gang, Time now) {
  for (const PodUid& uid : state.preemptions.VictimsOf(gang.id)->pods) {
    if (!state.members.IsMember(uid) || state.cluster.AllocationOf(uid) == nullptr) continue;
    state.preemptions.Protect(uid, {now + kProtectedFor});
    TouchGangOf(state, uid);
  }
}

void SpareVictims(StandingState& state, const Gang& gang) {
  const Victims* victims = state.preemptions.VictimsOf(gang.id);
  if (victims == nullptr) return;
  if (victims->asked && !victims->begun && !victims->obstacle.empty())
    state.preemptions.UncountTry(gang.id);  // nobody was evicted
  for (const PodUid& uid : victims->pods) state.cluster.KeepHolding(uid);
  for (const PodUid& uid : state.preemptions.End(gang.id)) TouchGangOf(state, uid);
  state.queue.AnythingMayFit();  // what was left of their gangs may be somebody else's
}

// It may well do so again: nobody else is evicted for that, until the hour is over.
void NoteEnd(StandingState& state, const Gang& gang, Time since, Time now) {
  const bool others_paid = state.preemptions.TakeCost(gang.id);
  const QueueBook& book = state.queue_book;
  if (!others_paid || state.preemptions.EvictedSince(AcrossAttempts(gang), since)) return;
  const auto written = book.tree().Find(gang.written_queue);  // all of its members may have gone
  if (!written) return;
  const queues::Queue& queue = book.tree().at(*written);
  const int64_t least =
      std::max(queue.preemption.min_runtime_preempt, queue.preemption.min_runtime_reclaim);
  if (now - since >= cluster::Duration(least)) return;
  state.preemptions.EndedEarly(AcrossAttempts(gang), now);
  const std::string kept = OpenWindow(state, gang, since);
  state.announcer.Tell(
      gang, true, "GangEndedEarly",
      "it preempted others, and ended " + std::to_string((now - since).value() / 1000) +
          " s after it had started, before the minRuntime of queue " + queue.name +
          ": it preempts nobody for an hour" + (kept.empty() ? "" : ", and " + kept));
}

namespace {

// Somebody has left already, and there is no way back: what this one holds is looked for elsewhere.
void LookElsewhere(StandingState& state, const GangId& preemptor, const Member& victim, Time now) {
  state.preemptions.UncountTry(preemptor);
  InvalidateVictim(state, victim);
  state.preemptions.GiveUp(victim.uid, now);
}

}  // namespace

// As long as nobody was evicted there is a way back: the gang lets them be, and others are looked
// for. Later the eviction is asked for again until the deadline, or until it has failed too often.
bool RefuseEviction(StandingState& state, Member& victim, const Outcome& outcome, Time now) {
  const bool fails = outcome.kind == OutcomeKind::kRetry && !outcome.not_tried;
  const int64_t failures = fails ? state.preemptions.Fails(victim.uid, now) : 0;
  const bool given_up = failures >= Preemptions::kMostFailures;
  const bool barred =
      given_up || outcome.kind == OutcomeKind::kConflict || outcome.kind == OutcomeKind::kRefused;
  const Time not_before = fails && !given_up ? now + kBetweenFailures * failures : now;
  const GangId* preemptor = state.preemptions.PreemptorOf(victim.uid);
  const bool begun = preemptor != nullptr && state.preemptions.VictimsOf(*preemptor)->begun;
  if (begun && given_up) {
    LookElsewhere(state, GangId(*preemptor), victim, now);
  } else if (begun && fails) {
    state.writes.Postpone(victim, not_before);
  } else if (given_up) {
    state.preemptions.GiveUp(victim.uid, now);
  } else if (barred && preemptor != nullptr && !begun) {
    const bool by_budget = outcome.kind == OutcomeKind::kConflict;
    if (by_budget && state.preemptions.VictimsOf(*preemptor)->over_budgets.contains(victim.uid))
      state.budget_watch.ForbidDeletes(now + kProtectedFor);
    state.preemptions.Protect(victim.uid, {now + kProtectedFor, by_budget});
  }
  if (preemptor == nullptr || begun) return barred;
  state.preemptions.Refused(*preemptor, outcome.message, barred, not_before);
  TouchPreemptor(state, victim);
  return barred;
}

const GangId* FirstPreemptor(const StandingState& state, const Gang& gang) {
  if (state.preemptions.none()) return nullptr;
  for (const auto& [uid, member] : gang.members) {
    if (const GangId* preemptor = state.preemptions.PreemptorOf(uid)) return preemptor;
  }
  return nullptr;
}

void ExpireProtection(StandingState& state, const Gang& gang, Time now) {
  for (const auto& [uid, member] : gang.members) {
    const Protection* protection = state.preemptions.ProtectionOf(uid);
    if (protection == nullptr || protection->until > now) continue;
    state.preemptions.Release(uid);
    state.queue.AnythingMayFit();
  }
}

void FollowHolding(StandingState& state, const Gang& gang) {
  const std::optional<int32_t> priority = HighestHeld(gang);
  const int64_t holders = std::count_if(gang.members.begin(), gang.members.end(),
                                        [](const auto& entry) { return entry.second.holds(); });
  const int64_t available = holders > 0 && !CannotBeEvicted(state, gang) ? holders : 0;
  const std::string queue = priority ? QueueOf(gang) : std::string();
  if (state.holdings.Hold(gang, priority, available, queue)) state.queue.HoldsMore(queue);
}

}  // namespace muster::engine
