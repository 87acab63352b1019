#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cluster/transaction.hpp"
#include "engine/core.hpp"
#include "engine/minimum.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Pod;
using cluster::PodUid;
using cluster::Seconds;
using cluster::Time;

namespace {

// Who could not be evicted, or did not leave in time, is asked again after this at the earliest.
constexpr Duration kStaysFor = Seconds(3'600);
// A gang for which others were evicted, and that did not start, may have others evicted again after
// victim_timeout × 2^(times - 1), but at most this.
constexpr Duration kMostPatience = Seconds(86'400);

// In the order in which candidates are to be lost: who leaves anyway, then by priority; of one
// priority gangs that an eviction costs time only before those that it may end (see JobTable), then
// whoever started last, the surplus of a gang before the gang.
struct Loss {
  bool stays = false;
  int64_t priority = 0;
  bool may_end = false;  // of the gang: it goes surplus first, whoever makes which pod
  int64_t negated_start = 0;
  GangId gang;
  int64_t step = 0;  // within the gang
  std::vector<const Member*> members;
  auto Key() const { return std::tie(stays, priority, may_end, negated_start, gang, step); }
};

bool Leaves(const Member& member) { return member.pod->deleting || member.evicting; }

bool Holds(const Member& member) { return member.pod->bound() && !member.pod->terminal(); }

// Bound or not, it may not be taken apart now.
bool Busy(const Gang& gang) {
  if (gang.repairing) return true;
  return std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const Member& member = entry.second;
    return member.may_be_bound() || (Holds(member) && (member.pod->daemon || member.stays_until));
  });
}

}  // namespace

// The minimum means something: there is a PodGroup, and it makes sense.
bool Scheduler::Core::MinimumKnown(const Gang& gang) const {
  const bool has = !gang.id.solo && state_.FindPodGroup(gang.id.key) != nullptr;
  return has && Defect(gang).code == ReasonCode::kNone;
}

// Nobody is evicted for a gang that has a member with preemptionPolicy Never.
bool Scheduler::Core::Preempts(const Gang& gang) const {
  if (options_.preemption == Preemption::kNever) return false;
  return std::all_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const Pod& pod = *entry.second.pod;
    return pod.spec->preempts || pod.bound() || pod.terminal() || pod.deleting;
  });
}

bool Scheduler::Core::MayPreempt(const Gang& gang) const {
  if (holding_.empty() || holding_.begin()->first >= -gang.pending->negated_priority) return false;
  return Preempts(gang);
}

KnownCandidates Scheduler::Core::CandidatesFor(const Gang& gang) {
  const int64_t priority = -gang.pending->negated_priority;
  // Others were evicted for it in vain: for now it only has what is left anyway.
  const bool leaving_only = gang.may_preempt_from.has_value();
  const bool same = candidates_.list != nullptr && candidates_.priority == priority &&
                    candidates_.leaving_only == leaving_only &&
                    candidates_.version == next_version_ &&
                    candidates_.generation == state_.generation();
  if (same) return candidates_;
  auto list = std::make_shared<const std::vector<policy::Candidate>>(
      CandidatesBelow(priority, leaving_only));
  const std::shared_ptr<const cluster::Snapshot> snapshot = state_.TakeSnapshot();
  cluster::FreeTable free = snapshot->free();
  for (const policy::Candidate& candidate : *list) {
    for (const cluster::Placement& held : candidate.held)
      free.Give(*snapshot->node(held.node), held);
  }
  auto without = std::make_shared<const cluster::Snapshot>(
      snapshot->nodes(), std::move(free), snapshot->generation(), snapshot->layout());
  candidates_ = {priority,        leaving_only,      next_version_, state_.generation(),
                 std::move(list), std::move(without)};
  return candidates_;
}

// Only Muster's own pods. A gang goes whole, or its surplus goes, one by one, youngest first; one
// that is being bound, or part of which cannot go, is left alone.
std::vector<policy::Candidate> Scheduler::Core::CandidatesBelow(int64_t priority,
                                                                bool leaving_only) const {
  std::vector<Loss> losses;
  for (auto next = holding_.begin(); next != holding_.end() && next->first < priority; ++next) {
    for (const GangId& id : next->second) {
      const Gang& other = gangs_.at(id);
      const int64_t start = -other.past.runs_since().value_or(Time(0)).milliseconds();
      bool whole = !Busy(other);
      std::vector<const Member*> bound;
      for (const auto& [uid, member] : other.members) {
        if (!Holds(member)) continue;
        const bool free = !member.makes_way_for && state_.AllocationOf(uid) != nullptr;
        if (!Leaves(member)) {
          bound.push_back(&member);
          whole = whole && free && member.pod->bound_by_muster;
        } else if (free && !member.stays_until) {
          losses.push_back({false, next->first, false, start, id, 0, {&member}});
        }
      }
      if (!whole || leaving_only || bound.empty()) continue;
      std::vector<const Member*> surplus;
      if (MinimumKnown(other)) surplus = TakeSurplus(other, bound);
      const bool may_end = std::any_of(bound.begin(), bound.end(), [&](const Member* member) {
        return jobs_.LosesByEviction(*member->pod);
      });
      int64_t step = 0;
      for (const Member* member : surplus)
        losses.push_back({true, next->first, may_end, start, id, step++, {member}});
      if (!bound.empty()) losses.push_back({true, next->first, may_end, start, id, step, bound});
    }
  }
  std::sort(losses.begin(), losses.end(),
            [](const Loss& a, const Loss& b) { return a.Key() < b.Key(); });
  std::vector<policy::Candidate> candidates;
  candidates.reserve(losses.size());
  std::map<GangId, uint64_t> owners;
  uint64_t next_owner = 0;
  for (const Loss& loss : losses) {
    policy::Candidate candidate;
    // Those who leave anyway bind nobody else.
    candidate.owner =
        loss.stays ? owners.try_emplace(loss.gang, next_owner++).first->second : next_owner++;
    for (const Member* member : loss.members)
      candidate.held.push_back(state_.AllocationOf(member->uid)->placement);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// These may be evicted for a gang of that priority: each is of a lesser gang, which goes whole or
// keeps its minimum. Who leaves anyway may always.
bool Scheduler::Core::MayGo(const std::set<PodUid>& victims, const GangId& preemptor,
                            int64_t priority) const {
  std::set<GangId> gangs;
  for (const PodUid& uid : victims) {
    const auto found = gang_of_.find(uid);
    if (found == gang_of_.end()) {
      if (state_.AllocationOf(uid) != nullptr) return false;
      continue;  // it is gone
    }
    const Member& member = found->second->members.at(uid);
    if (member.makes_way_for && *member.makes_way_for != preemptor) return false;
    if (Holds(member) && member.pod->spec->priority >= priority) return false;
    if (Holds(member) && !Leaves(member)) gangs.insert(found->second->id);
  }
  return std::all_of(gangs.begin(), gangs.end(), [&](const GangId& id) {
    const Gang& gang = gangs_.at(id);
    if (Busy(gang)) return false;
    const auto stays = [&](const Member& one) { return Stays(one) && !victims.contains(one.uid); };
    const bool none_left =
        std::none_of(gang.members.begin(), gang.members.end(),
                     [&](const auto& entry) { return Holds(entry.second) && stays(entry.second); });
    const bool lesser = std::all_of(gang.members.begin(), gang.members.end(), [&](auto& entry) {
      return !Holds(entry.second) || entry.second.pod->spec->priority < priority;
    });
    return lesser && (none_left || (MinimumKnown(gang) &&
                                    Lack(gang.minimum, CountMembers(gang, true, stays)) == 0));
  });
}

// kStale: who holds what has changed since the plan was made, or a node will not have what the plan
// assumes, and its victims are left alone from now on; another plan may do. kRefused: none will, as
// things are.
Scheduler::Core::Earmarked Scheduler::Core::Earmark(Gang& gang, const PlanJob& job,
                                                    const PlanResult& result, Time now) {
  if (state_.TakeSnapshot()->layout() != job.snapshot->layout()) return Earmarked::kStale;
  const bool current = state_.generation() == job.snapshot->generation();
  const Earmarked failed = current ? Earmarked::kRefused : Earmarked::kStale;
  Victims victims;
  victims.pods.insert(result.victims.begin(), result.victims.end());
  if (!MayGo(victims.pods, gang.id, -job.order.negated_priority)) return failed;
  const cluster::Status earmarked = state_.Earmark(result.required, result.victims);
  if (!earmarked.ok()) {
    const cluster::NodeIndex unsound = state_.IndexOf(earmarked.error().place);
    bool barred = false;
    for (const PodUid& uid : result.victims) {
      const cluster::Allocation* held = state_.AllocationOf(uid);
      if (!unsound.valid() || held == nullptr || held->placement.node != unsound) continue;
      const PlacedMember at = Find(uid);
      at.member->stays_until = now + kStaysFor;
      any_staying_ = barred = true;
      Touch(*at.gang);
    }
    return barred ? Earmarked::kStale : failed;
  }
  ++progress_.gangs_planned;
  std::set<GangId> gangs;
  for (const PodUid& uid : result.victims) {
    const PlacedMember at = Find(uid);
    at.member->makes_way_for = gang.id;
    gangs.insert(at.gang->id);
    Touch(*at.gang);
  }
  for (const GangId& id : gangs)
    victims.gangs += (victims.gangs.empty() ? "" : ", ") + id.key.ToString();
  gang.victims = std::move(victims);
  Adopt(gang, result, now);
  for (auto& [uid, member] : gang.members) {
    // Also where the hand-over is by pinning: until the victims are gone only a nomination keeps
    // their room.
    if (member.plan) member.nominated = member.pod->nominated_node == member.planned_node;
  }
  return Earmarked::kDone;
}

// What was planned when the victims were chosen still holds.
bool Scheduler::Core::StillWanted(const Gang& gang) const {
  int64_t priority = INT32_MAX;
  std::vector<PodUid> planned;
  for (const auto& [uid, member] : gang.members) {
    if (!member.pod->terminal()) priority = std::min<int64_t>(priority, member.pod->spec->priority);
    if (member.plan) planned.push_back(uid);
  }
  return !gang.victims->lost && Preempts(gang) &&
         NamespaceBar(gang.id.key.ns).code == ReasonCode::kNone &&
         MayGo(gang.victims->pods, gang.id, priority) && state_.EarmarksHold(planned);
}

// First all members are nominated, so that kube-scheduler too keeps what becomes free for them;
// then the victims are evicted; when they are gone the gang is Reserved.
void Scheduler::Core::JudgePreempting(Gang& gang, Time now) {
  Victims& victims = *gang.victims;
  const auto need = static_cast<int64_t>(victims.pods.size());
  const auto holds = [&](const PodUid& uid) { return state_.AllocationOf(uid) != nullptr; };
  const int64_t gone = need - std::count_if(victims.pods.begin(), victims.pods.end(), holds);
  if (gone == need) {
    std::vector<PodUid> planned;
    for (auto& [uid, member] : gang.members) {
      if (!member.plan) continue;
      planned.push_back(uid);
      member.planned_at = now;
    }
    // Else another scheduler's pod has it, say.
    if (!state_.Redeem(planned).ok()) return Fail(gang, Because(ReasonCode::kPlanBroken), now);
    SpareVictims(gang);
    gang.planned_at = now;
    gang.deadline = now + ReservationTimeout(gang);
    return JudgeReserved(gang, now);
  }
  const bool under_way =
      std::any_of(victims.pods.begin(), victims.pods.end(), [&](const PodUid& uid) {
        const auto found = gang_of_.find(uid);
        return found != gang_of_.end() && found->second->members.at(uid).doing == Doing::kEvict;
      });
  const bool refused = !victims.obstacle.empty() && !victims.begun && !under_way;
  const bool late = silent_.empty() && *gang.deadline <= now;
  if (refused || late) {
    for (const PodUid& uid : victims.pods) {
      const PlacedMember at = Find(uid);
      if (at.member == nullptr || !holds(uid) || !late || !victims.asked) continue;
      at.member->stays_until = now + kStaysFor;
      any_staying_ = true;
      Touch(*at.gang);
    }
    std::string why = victims.obstacle;
    if (why.empty() && !victims.asked) why = "not all of its members could be nominated";
    return Fail(gang, Because(ReasonCode::kVictimsStay, gone, need, std::move(why)), now);
  }
  const bool wanted = victims.asked ? !victims.lost : StillWanted(gang);
  if (!wanted) {
    Drop(gang, "muster: who was to make way for the gang does not, it is planned anew", now);
    Recount(gang);
    return JudgeUnbound(gang, now);
  }
  // Who is still asked about from an earlier try is waited for, so that all are asked about
  // together.
  const bool ready = gang.all_nominated && !victims.asked && silent_.empty();
  if (ready && !under_way) AskEvictions(gang, now);
  SetState(gang, GangState::kPreempting,
           Because(ReasonCode::kVictimsLeaving, gone, need, victims.gangs));
}

void Scheduler::Core::AskEvictions(Gang& gang, Time now) {
  gang.victims->asked = true;
  gang.deadline = now + options_.victim_timeout;
  bool any = false;
  for (const PodUid& uid : gang.victims->pods) {
    const PlacedMember at = Find(uid);
    if (at.member == nullptr || Leaves(*at.member)) continue;
    at.member->must_go = any = true;
    at.member->not_before = now;
    Touch(*at.gang);
  }
  if (!any) return;         // they leave anyway
  ++gang.vain_preemptions;  // until it runs
  Duration patience = options_.victim_timeout;
  for (int64_t i = 1; i < gang.vain_preemptions && patience < kMostPatience; ++i)
    patience = patience * 2;
  gang.may_preempt_from = now + std::min(patience, kMostPatience);
}

// Whoever is not on its way out yet stays.
void Scheduler::Core::SpareVictims(Gang& gang) {
  if (!gang.victims) return;
  if (gang.victims->asked && !gang.victims->begun && !gang.victims->obstacle.empty()) {
    --gang.vain_preemptions;  // nobody was evicted
    gang.may_preempt_from.reset();
  }
  for (const PodUid& uid : gang.victims->pods) {
    state_.Spare(uid);
    const PlacedMember at = Find(uid);
    if (at.member == nullptr || at.member->makes_way_for != gang.id) continue;
    at.member->makes_way_for.reset();
    at.member->must_go = false;
    Touch(*at.gang);
  }
  gang.victims.reset();
  queue_.AnythingMayFit();  // what was left of their gangs may be somebody else's
}

// It lives on and is not what it was when it was chosen.
void Scheduler::Core::LoseVictim(Member& victim) {
  if (!victim.makes_way_for) return;
  const auto found = gangs_.find(*victim.makes_way_for);
  if (found != gangs_.end() && found->second.victims) {
    found->second.victims->lost = true;
    Touch(found->second);
  }
  state_.Spare(victim.uid);
  victim.makes_way_for.reset();
  victim.must_go = false;
}

// The first one tells of all: until then they might all have been spared.
void Scheduler::Core::NoteEvicted(const GangId& preemptor) {
  const auto found = gangs_.find(preemptor);
  if (found == gangs_.end() || !found->second.victims || found->second.victims->begun) return;
  found->second.victims->begun = true;
  std::map<GangId, int64_t> lost;
  for (const PodUid& uid : found->second.victims->pods) {
    const PlacedMember at = Find(uid);
    if (at.member != nullptr && at.member->must_go) ++lost[at.gang->id];
  }
  for (const auto& [id, pods] : lost) {
    Tell(gangs_.at(id), true, "GangPreempted",
         std::to_string(pods) + (pods == 1 ? " pod is" : " pods are") + " evicted for gang " +
             preemptor.key.ToString() + " of higher priority");
  }
}

// As long as nobody was evicted there is a way back: the gang lets them be, and others are looked
// for. Later the eviction is asked for again until the deadline.
void Scheduler::Core::RefuseEviction(Member& victim, const Outcome& outcome, Time now) {
  const bool barred =
      outcome.kind == OutcomeKind::kConflict || outcome.kind == OutcomeKind::kRefused;
  const auto found = gangs_.find(*victim.makes_way_for);
  if (found == gangs_.end() || !found->second.victims || found->second.victims->begun) return;
  if (barred) {
    victim.stays_until = now + kStaysFor;
    any_staying_ = true;
  }
  Victims& victims = *found->second.victims;
  if (victims.obstacle.empty() || barred) victims.obstacle = outcome.message;
  Touch(found->second);
}

void Scheduler::Core::ExpireStays(Gang& gang, Time now) {
  for (auto& [uid, member] : gang.members) {
    if (!member.stays_until || *member.stays_until > now) continue;
    member.stays_until.reset();
    queue_.AnythingMayFit();
  }
}

void Scheduler::Core::TouchPreemptor(const Member& victim) {
  if (!victim.makes_way_for) return;
  const auto found = gangs_.find(*victim.makes_way_for);
  if (found != gangs_.end()) Touch(found->second);
}

Reason Scheduler::Core::PreemptedBy(const Gang& gang) {
  for (const auto& [uid, member] : gang.members) {
    if (member.makes_way_for)
      return Because(ReasonCode::kPreempted, 0, 0, member.makes_way_for->key.ToString());
  }
  return Because(ReasonCode::kPreempted);
}

// What a gang holds could not be had while it was only reserved: who is mightier is tried again.
void Scheduler::Core::NoteHolding(Gang& gang) {
  std::optional<int32_t> priority;
  int64_t holders = 0;
  for (const auto& [uid, member] : gang.members) {
    if (!Holds(member)) continue;
    ++holders;
    priority = std::max(priority.value_or(INT32_MIN), member.pod->spec->priority);
  }
  const bool more = holders > gang.held_by && options_.preemption != Preemption::kNever;
  if (more && !Busy(gang)) queue_.RetryAbove(*priority);
  if (!more || !Busy(gang)) gang.held_by = holders;
  if (gang.held_priority == priority) return;
  if (gang.held_priority) {
    const auto at = holding_.find(*gang.held_priority);
    at->second.erase(gang.id);
    if (at->second.empty()) holding_.erase(at);
  }
  gang.held_priority = priority;
  if (priority) holding_[*priority].insert(gang.id);
}

}  // namespace muster::engine
