#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

// In the order in which candidates are to be lost: who leaves anyway, then by priority; of one
// priority whoever started last, the surplus of a gang before the gang.
struct Loss {
  bool stays = false;
  int64_t priority = 0;
  int64_t negated_start = 0;
  GangId gang;
  int64_t step = 0;  // within the gang
  std::vector<const Member*> members;
  auto Key() const { return std::tie(stays, priority, negated_start, gang, step); }
};

bool Pending(const Pod& pod) { return !pod.bound() && !pod.terminal() && !pod.deleting; }

// Takes from `bound` the members that the gang can lose and still have its minimum, every role's
// included: youngest first, then by name.
std::vector<const Member*> SurplusOf(const Gang& gang, const cluster::PodGroup* group,
                                     std::vector<const Member*>& bound) {
  std::sort(bound.begin(), bound.end(), [](const Member* a, const Member* b) {
    return std::tie(b->pod->created, a->key, a->uid) < std::tie(a->pod->created, b->key, b->uid);
  });
  int64_t spare = gang.tally.bound + gang.tally.succeeded - gang.min_member;
  std::map<std::string, int64_t> spare_of;
  for (const auto& role : group == nullptr ? std::vector<cluster::RoleMinimum>() : group->roles)
    spare_of[role.name] = -role.min_member;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    const auto role = spare_of.find(pod.role);
    const bool counts = pod.phase == cluster::PodPhase::kSucceeded ||
                        (pod.bound() && !pod.terminal() && !pod.deleting && !member.evicting);
    if (role != spare_of.end() && counts) ++role->second;
  }
  std::vector<const Member*> surplus;
  std::vector<const Member*> others;
  for (const Member* member : bound) {
    const auto role = spare_of.find(member->pod->role);
    if (spare <= 0 || (role != spare_of.end() && role->second <= 0)) {
      others.push_back(member);
      continue;
    }
    --spare;
    if (role != spare_of.end()) --role->second;
    surplus.push_back(member);
  }
  bound = std::move(others);
  return surplus;
}

}  // namespace

// Only Muster's own pods are evicted, and none for a gang that has a member with preemptionPolicy
// Never.
bool Scheduler::Core::MayPreempt(const Gang& gang) const {
  if (options_.preemption == Preemption::kNever || holding_.empty()) return false;
  if (holding_.begin()->first >= -gang.pending->negated_priority) return false;
  return std::all_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    return entry.second.pod->spec->preempts || !Pending(*entry.second.pod);
  });
}

std::shared_ptr<const std::vector<policy::Candidate>> Scheduler::Core::CandidatesFor(
    const Gang& gang) {
  const int64_t priority = -gang.pending->negated_priority;
  const bool same = candidates_.list != nullptr && candidates_.priority == priority &&
                    candidates_.version == next_version_ &&
                    candidates_.generation == state_.generation();
  if (!same) {
    candidates_ = {
        priority, next_version_, state_.generation(),
        std::make_shared<const std::vector<policy::Candidate>>(CandidatesBelow(priority))};
  }
  return candidates_.list;
}

// Gangs that are being bound are left alone until they are.
std::vector<policy::Candidate> Scheduler::Core::CandidatesBelow(int64_t priority) const {
  std::vector<Loss> losses;
  for (auto next = holding_.begin(); next != holding_.end() && next->first < priority; ++next) {
    for (const GangId& id : next->second) {
      const Gang& other = gangs_.at(id);
      const int64_t start = -other.started_at.value_or(Time(0)).milliseconds();
      std::vector<const Member*> bound;
      if (staying_.contains(id)) continue;
      bool barred = other.repairing;
      for (const auto& [uid, member] : other.members) {
        const Pod& pod = *member.pod;
        barred = barred || member.may_be_bound();
        if (!pod.bound() || pod.terminal()) continue;
        if (member.makes_way_for || pod.daemon) {
          barred = true;
        } else if (state_.AllocationOf(uid) == nullptr) {
          continue;
        } else if (pod.deleting || member.evicting) {
          losses.push_back({false, next->first, start, id, 0, {&member}});
        } else {
          bound.push_back(&member);
        }
      }
      if (barred || bound.empty()) continue;
      const cluster::PodGroup* group = id.solo ? nullptr : state_.FindPodGroup(id.key);
      int64_t step = 0;
      for (const Member* member : SurplusOf(other, group, bound))
        losses.push_back({true, next->first, start, id, step++, {member}});
      if (!bound.empty()) losses.push_back({true, next->first, start, id, step, bound});
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

// Each victim is still there to be evicted, and of each gang all go or no more than it can spare.
bool Scheduler::Core::VictimsHold(const PlanResult& result) {
  std::map<GangId, int64_t> lost;
  for (const PodUid& uid : result.victims) {
    const PlacedMember at = Find(uid);
    if (at.member == nullptr || at.member->makes_way_for) return false;
    const bool leaves = at.member->pod->deleting || at.member->evicting;
    lost[at.gang->id] += leaves ? 0 : 1;
  }
  return std::all_of(lost.begin(), lost.end(), [&](const auto& entry) {
    Gang& gang = gangs_.at(entry.first);
    Recount(gang);
    const int64_t left = gang.tally.bound - entry.second;
    return left == 0 || entry.second == 0 || left + gang.tally.succeeded >= gang.min_member;
  });
}

// False when it has changed since the plan was made who holds what.
bool Scheduler::Core::Earmark(Gang& gang, const PlanJob& job, const PlanResult& result, Time now) {
  const bool same_layout = state_.TakeSnapshot()->layout() == job.snapshot->layout();
  if (!same_layout || !VictimsHold(result)) return false;
  if (!state_.Earmark(result.required, result.victims).ok()) return false;
  ++progress_.gangs_planned;
  Victims victims;
  std::set<GangId> gangs;
  for (const PodUid& uid : result.victims) {
    const PlacedMember at = Find(uid);
    at.member->makes_way_for = gang.id;
    victims.pods.insert(uid);
    gangs.insert(at.gang->id);
    Touch(*at.gang);
  }
  for (const GangId& id : gangs)
    victims.gangs += (victims.gangs.empty() ? "" : ", ") + id.key.ToString();
  gang.victims = std::move(victims);
  Adopt(gang, result, now);
  gang.deadline = now + options_.victim_timeout;
  return true;
}

// First all members are nominated, so that kube-scheduler too keeps what becomes free for them;
// then the victims are evicted; when they are gone the gang is Reserved.
void Scheduler::Core::JudgePreempting(Gang& gang, Time now) {
  const auto need = static_cast<int64_t>(gang.victims->pods.size());
  const int64_t gone =
      std::count_if(gang.victims->pods.begin(), gang.victims->pods.end(),
                    [&](const PodUid& uid) { return state_.AllocationOf(uid) == nullptr; });
  if (gone == need) {
    std::vector<PodUid> planned;
    for (const auto& [uid, member] : gang.members) {
      if (member.plan) planned.push_back(uid);
    }
    if (state_.Redeem(planned).ok()) {
      SpareVictims(gang);
      gang.planned_at = now;
      gang.deadline = now + ReservationTimeout(gang);
      return JudgeReserved(gang, now);
    }
    // Another scheduler's pod has it, say.
    Drop(gang, "muster: the room was taken, the gang is planned anew");
    gang.setback = Because(ReasonCode::kPlanBroken);
    Recount(gang);
    return JudgeUnbound(gang, now);
  }
  if (!gang.victims->obstacle.empty() || *gang.deadline <= now) {
    // Who does not leave is not asked again; others may be.
    for (const PodUid& uid : gang.victims->pods) {
      const PlacedMember at = Find(uid);
      if (at.member != nullptr && *gang.deadline <= now) staying_.insert(at.gang->id);
    }
    std::string obstacle = gang.victims->obstacle;
    return Fail(gang, Because(ReasonCode::kVictimsStay, gone, need, std::move(obstacle)), now);
  }
  if (gang.all_nominated && !gang.victims->asked && silent_.empty()) AskEvictions(gang);
  SetState(gang, GangState::kPreempting,
           Because(ReasonCode::kVictimsLeaving, gone, need, gang.victims->gangs));
}

void Scheduler::Core::AskEvictions(Gang& gang) {
  gang.victims->asked = true;
  std::map<GangId, int64_t> lost;
  for (const PodUid& uid : gang.victims->pods) {
    const PlacedMember at = Find(uid);
    if (at.member == nullptr || at.member->pod->deleting || at.member->evicting) continue;
    at.member->must_go = true;
    ++lost[at.gang->id];
    Touch(*at.gang);
  }
  for (const auto& [id, pods] : lost) {
    Tell(gangs_.at(id), true, "GangPreempted",
         std::to_string(pods) + (pods == 1 ? " pod is" : " pods are") + " evicted for gang " +
             gang.id.key.ToString() + " of higher priority");
  }
}

// Whoever is not on its way out yet stays.
void Scheduler::Core::SpareVictims(Gang& gang) {
  if (!gang.victims) return;
  for (const PodUid& uid : gang.victims->pods) {
    state_.Spare(uid);
    const PlacedMember at = Find(uid);
    if (at.member == nullptr || at.member->makes_way_for != gang.id) continue;
    at.member->makes_way_for.reset();
    at.member->must_go = false;
    retry_all_ = true;  // somebody else may have its room
    Touch(*at.gang);
  }
  gang.victims.reset();
}

// As long as nobody was evicted there is a way back: the gang lets them be, and others are looked
// for. Later the eviction is asked for again until the deadline.
void Scheduler::Core::RefuseEviction(const Gang& gang, const Member& victim,
                                     const Outcome& outcome) {
  const auto found = gangs_.find(*victim.makes_way_for);
  if (found == gangs_.end() || !found->second.victims) return;
  Victims& victims = *found->second.victims;
  if (outcome.kind == OutcomeKind::kConflict) staying_.insert(gang.id);
  const bool begun = std::any_of(victims.pods.begin(), victims.pods.end(), [&](const PodUid& uid) {
    const PlacedMember at = Find(uid);
    return at.member == nullptr || at.member->evicting;
  });
  if (begun) return;
  if (victims.obstacle.empty() || outcome.kind == OutcomeKind::kConflict)
    victims.obstacle = outcome.message;
  Touch(found->second);
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

void Scheduler::Core::NoteHolding(Gang& gang) {
  std::optional<int32_t> priority;
  int64_t holders = 0;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (!pod.bound() || pod.terminal()) continue;
    ++holders;
    priority = std::max(priority.value_or(INT32_MIN), pod.spec->priority);
  }
  if (!priority) staying_.erase(gang.id);
  if (holders > gang.held_by) WakeMightier(*priority);
  gang.held_by = holders;
  if (gang.held_priority == priority) return;
  if (gang.held_priority) {
    const auto at = holding_.find(*gang.held_priority);
    at->second.erase(gang.id);
    if (at->second.empty()) holding_.erase(at);
  }
  gang.held_priority = priority;
  if (priority) holding_[*priority].insert(gang.id);
}

// What a gang of this priority holds now could not be had while it was only reserved.
void Scheduler::Core::WakeMightier(int64_t priority) {
  if (options_.preemption == Preemption::kNever) return;
  const auto end = pending_.lower_bound(OrderKey{-priority, INT64_MIN, {}});
  if (end == pending_.begin()) return;
  failed_shapes_.clear();
  for (auto next = pending_.begin(); next != end; ++next) untried_.insert(next->first);
}

}  // namespace muster::engine
