#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Pod;
using cluster::PodGroup;
using cluster::Time;

void Scheduler::Core::Settle(Time now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const GangId id = timers_.begin()->second;
    timers_.erase(timers_.begin());
    Gang& gang = gangs_.at(id);
    gang.timer.reset();
    dirty_.insert(id);
  }
  // A gang that is judged may touch those that make way for it, and they it.
  for (int round = 0; round < kRounds && !dirty_.empty(); ++round) {
    std::set<GangId> touched;
    touched.swap(dirty_);
    for (const GangId& id : touched) SettleGang(id, now);
  }
  std::set<GangId> vain;
  vain.swap(tried_in_vain_);
  for (const GangId& id : vain) {
    const auto found = gangs_.find(id);
    if (found != gangs_.end()) FollowUp(found->second, now);
  }
}

void Scheduler::Core::SettleGang(const GangId& id, Time now) {
  const auto found = gangs_.find(id);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  gang.judged = true;
  Judge(gang, now);
  NoteHolding(gang);
  if (!Gone(gang)) return FollowUp(gang, now);
  SetPending(gang, false);
  if (gang.timer) timers_.erase({*gang.timer, id});
  gangs_.erase(found);
}

void Scheduler::Core::FollowUp(Gang& gang, Time now) {
  if (gang.state != gang.seen_state || gang.reason.code != gang.seen_reason) {
    gang.seen_state = gang.state;
    gang.seen_reason = gang.reason.code;
    gang.changed_at = now;
  }
  HandOver(gang, now);
  Publish(gang, now);
  SetTimer(gang, now);
}

// Tallies the members and forgets plans that came true or whose pod can no longer use them.
void Scheduler::Core::Recount(Gang& gang) {
  Tally tally;
  for (auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    tally.making_way += member.makes_way_for ? 1 : 0;
    if (pod.bound() || pod.terminal() || pod.deleting) SettleMember(member, pod);
    if (pod.phase == cluster::PodPhase::kSucceeded) {
      ++tally.succeeded;
    } else if (pod.terminal()) {
      ++tally.failed;
    } else if (pod.deleting || member.evicting) {
      tally.leaving += pod.bound() ? 1 : 0;
    } else if (pod.bound()) {
      ++tally.bound;
      tally.staying += member.makes_way_for ? 0 : 1;
    } else if (pod.gated_by_others()) {
      ++tally.gated_by_others;
    } else {
      ++tally.pending;
      tally.planned += member.plan ? 1 : 0;
    }
  }
  gang.tally = tally;
  const bool all = std::all_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    return !entry.second.plan || entry.second.nominated;
  });
  gang.all_nominated = tally.planned > 0 && (gang.all_nominated || all);
}

void Scheduler::Core::SettleMember(Member& member, const Pod& pod) {
  if (!pod.bound() && !pod.terminal() && member.may_be_bound()) return;
  if (pod.bound() && !member.held.empty()) {
    const bool as_asked = member.planned_node.empty() || member.planned_node == pod.node_name;
    AnswerHeld(member, as_asked ? "" : "muster: the pod was bound to node " + pod.node_name);
  } else if (!member.held.empty()) {
    AnswerHeld(member, "muster: the pod is being deleted");
  }
  if (member.plan) state_.Release(member.uid);
  member.plan.reset();
  member.planned_node.clear();
  member.excluded.clear();
  member.unsure = false;
}

// How many pods the gang still lacks, role by role and in total.
int64_t Scheduler::Core::Need(const Gang& gang, Counting counting) const {
  const Tally& tally = gang.tally;
  int64_t have = tally.bound + tally.succeeded;
  if (counting == Counting::kPlanned) have += tally.planned;
  if (counting >= Counting::kReady) have += tally.pending;
  if (counting == Counting::kPresent) have += tally.gated_by_others;
  int64_t need = std::max<int64_t>(0, gang.min_member - have);
  const PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  if (group == nullptr || group->roles.empty()) return need;
  int64_t of_roles = 0;
  for (const cluster::RoleMinimum& role : group->roles) {
    int64_t have_role = 0;
    for (const auto& [uid, member] : gang.members) {
      const Pod& pod = *member.pod;
      if (pod.role != role.name) continue;
      const bool stays = !pod.terminal() && !pod.deleting && !member.evicting;
      const bool counts = pod.bound() || counting == Counting::kPresent ||
                          (counting == Counting::kReady && !pod.gated_by_others()) ||
                          (counting == Counting::kPlanned && member.plan);
      have_role += pod.phase == cluster::PodPhase::kSucceeded || (stays && counts) ? 1 : 0;
    }
    of_roles += std::max<int64_t>(0, role.min_member - have_role);
  }
  return std::max(need, of_roles);
}

Reason Scheduler::Core::Defect(const Gang& gang) const {
  if (const PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key)) {
    const auto invalid = [&](std::string what) {
      return Because(ReasonCode::kInvalidPodGroup, 0, 0, std::move(what));
    };
    if (!group->defect.empty()) return invalid(group->defect);
    if (group->min_member < 1 || group->min_member > options_.max_members) {
      return invalid("spec.minMember is " + std::to_string(group->min_member) + ", expected 1 to " +
                     std::to_string(options_.max_members));
    }
    int64_t of_roles = 0;
    for (const cluster::RoleMinimum& role : group->roles) {
      if (role.min_member < 0) return invalid("role " + role.name + " has a negative minimum");
      of_roles = cluster::SaturatingAdd(of_roles, role.min_member);
    }
    if (of_roles > group->min_member) {
      return invalid("the roles' minima add up to " + std::to_string(of_roles) +
                     ", more than spec.minMember " + std::to_string(group->min_member));
    }
  }
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (!pod.defect.empty() && !pod.terminal()) {
      return Because(ReasonCode::kInvalidMember, 0, 0, "pod " + pod.key.name + ": " + pod.defect);
    }
  }
  return {};
}

Reason Scheduler::Core::NamespaceBar(const std::string& ns) const {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), ns) != names.end();
  };
  const bool listed = options_.namespaces.allow.empty() || has(options_.namespaces.allow);
  if (has(options_.namespaces.deny) || !listed) {
    return Because(ReasonCode::kNamespaceForbidden, 0, 0, ns);
  }
  const cluster::Namespace* known = state_.FindNamespace(ns);
  if (known != nullptr && known->deleting) return Because(ReasonCode::kNamespaceEnding, 0, 0, ns);
  return {};
}

// The state follows from the members, the plan and the clock; what was before matters only for
// deadlines.
void Scheduler::Core::Judge(Gang& gang, Time now) {
  const PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  gang.min_member = group != nullptr ? group->min_member : 1;
  Recount(gang);
  ExpireHeld(gang, now);
  if (gang.tally.bound + gang.tally.leaving == 0) StopRepair(gang);
  if (gang.backoff_until && *gang.backoff_until <= now) gang.backoff_until.reset();
  if (gang.may_preempt_from && *gang.may_preempt_from <= now) gang.may_preempt_from.reset();
  ExpireStays(gang, now);
  // All that are bound go: who was to join them does not.
  if (gang.tally.bound > 0 && gang.tally.staying == 0 && gang.tally.planned > 0) {
    Drop(gang, "muster: the gang is evicted for another one");
    Recount(gang);
  }
  SetPending(gang, false);
  const bool waits =
      gang.tally.bound == 0 && gang.tally.planned > 0 && Need(gang, Counting::kBound) > 0;
  if (gang.victims && !waits) {
    Drop(gang, "muster: nobody is evicted any more for this gang");
    Recount(gang);
  }

  if (const Reason defect = Defect(gang); defect.code != ReasonCode::kNone) {
    Drop(gang, "muster: " + Describe(defect));
    Recount(gang);
    gang.partial_since.reset();  // of what, nobody can say
    StopRepair(gang);
    return SetState(gang, GangState::kInvalid, defect);
  }
  const bool ended = gang.tally.present() + gang.tally.leaving == 0;
  if (ended && gang.tally.succeeded + gang.tally.failed > 0) {
    gang.partial_since.reset();
    return SetState(gang, GangState::kFinished, {});
  }
  if (!gang.id.solo && group == nullptr) {
    // Pods that run keep running; nothing new is started without a PodGroup.
    Drop(gang, "muster: the PodGroup is gone");
    Recount(gang);
    gang.partial_since.reset();
    StopRepair(gang);
    const bool runs = gang.tally.bound > 0;
    return SetState(
        gang, runs ? GangState::kRunning : GangState::kForming,
        runs ? Reason{} : Because(ReasonCode::kPodGroupMissing, 0, 0, gang.id.key.ToString()));
  }
  if (gang.check_plan) {
    // Members that are being bound are looked at again when their outcome is known.
    gang.check_plan = std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
      return entry.second.plan && entry.second.may_be_bound();
    });
    if (!PlanHolds(gang)) {
      Drop(gang, "muster: a planned node changed, the gang is planned anew");
      gang.setback = Because(ReasonCode::kPlanBroken);
      Recount(gang);
    }
  }
  if (Need(gang, Counting::kBound) == 0) return JudgeStarted(gang, now);
  if (gang.tally.bound > 0) return JudgePartial(gang, now);
  gang.partial_since.reset();
  JudgeUnbound(gang, now);
}

// Every planned node still takes the pod that is planned there, and has room for it.
bool Scheduler::Core::PlanHolds(const Gang& gang) const {
  for (const auto& [uid, member] : gang.members) {
    if (!member.plan || member.may_be_bound()) continue;
    // A node that was replaced, or a device that is gone, took the reservation with it.
    if (gang.victims ? !state_.Earmarked(uid) : !state_.Sound(uid)) return false;
    const cluster::Node* node = state_.FindNode(member.planned_node);
    if (node == nullptr || state_.IndexOf(member.planned_node) != member.plan->node) return false;
    const cluster::NodeConstraints& wants = member.pod->spec->constraints;
    if (!node->schedulable()) return false;
    if (!cluster::MatchesNode(wants, node->name, node->labels)) return false;
    if (!cluster::ToleratesAll(wants.tolerations, node->taints)) return false;
  }
  return true;
}

// min_member are bound (or have succeeded); members beyond it are elastic.
void Scheduler::Core::JudgeStarted(Gang& gang, Time now) {
  if (!gang.started) {
    gang.started = true;
    gang.started_at = now;
    progress_.started.push_back({gang.id, gang.queued_at ? now - *gang.queued_at : Duration(0)});
  }
  gang.partial_since.reset();
  StopRepair(gang);
  gang.attempts = 0;
  gang.vain_preemptions = 0;
  gang.may_preempt_from.reset();
  gang.setback = {};
  gang.obstacle.clear();
  gang.unsatisfiable = false;
  if (gang.tally.planned == 0) gang.deadline.reset();
  if (gang.deadline && *gang.deadline <= now) {  // elastic members that never came to Bind
    Drop(gang, "muster: the reservation expired");
    gang.backoff_until = now + options_.backoff_max;
    Recount(gang);
  }
  const bool wants_more =
      gang.tally.pending > gang.tally.planned && gang.tally.staying == gang.tally.bound;
  SetPending(gang, wants_more && !gang.backoff_until &&
                       NamespaceBar(gang.id.key.ns).code == ReasonCode::kNone);
  SetState(gang, GangState::kRunning, {});
}

// Some members are bound, but fewer than min_member.
void Scheduler::Core::JudgePartial(Gang& gang, Time now) {
  const int64_t have = gang.tally.bound + gang.tally.succeeded;
  if (!gang.partial_since) gang.partial_since = now;
  if (options_.partial_gang == PartialGang::kHold) StopRepair(gang);
  if (RepairRefused(gang)) {
    StopRepair(gang);
    gang.backoff_until.reset();
    gang.partial_since = now + BackoffAfter(gang.attempts);
  }
  const bool overdue = *gang.partial_since + options_.partial_timeout <= now;
  if (gang.repairing || (overdue && options_.partial_gang == PartialGang::kEvict)) {
    Repair(gang, now);
    return SetState(gang, GangState::kBackoff, gang.setback);
  }
  if (gang.deadline && *gang.deadline <= now && gang.tally.planned > 0) {
    Drop(gang, "muster: the reservation expired");
    Recount(gang);
  }
  gang.barrier_open = gang.barrier_open || BarrierMet(gang);
  if (Need(gang, Counting::kPlanned) == 0)
    return SetState(gang, GangState::kBinding,
                    Because(ReasonCode::kBinding, have, gang.min_member));
  if (gang.tally.staying < gang.tally.bound) {  // victims who leave already hold nobody up
    return SetState(gang, GangState::kDegraded, PreemptedBy(gang));
  }
  SetPending(gang, Need(gang, Counting::kReady) == 0 &&
                       NamespaceBar(gang.id.key.ns).code == ReasonCode::kNone);
  // A reason found by planning says more than that members are missing.
  const bool keep = gang.pending && gang.state == GangState::kDegraded && gang.tried;
  SetState(
      gang, GangState::kDegraded,
      keep ? gang.reason : Because(ReasonCode::kMembersLost, have, gang.min_member, gang.obstacle));
}

// Nothing is bound: the gang starts as a whole or not at all.
void Scheduler::Core::JudgeUnbound(Gang& gang, Time now) {
  if (gang.tally.planned > 0 && Need(gang, Counting::kPlanned) > 0) {
    Drop(gang, "muster: members of the gang are gone");
    Recount(gang);
  }
  if (gang.victims) return JudgePreempting(gang, now);
  if (gang.tally.planned > 0) return JudgeReserved(gang, now);
  gang.barrier_open = false;
  if (gang.tally.succeeded == 0) {  // it starts once more
    gang.started = false;
    gang.started_at.reset();
  }
  if (const int64_t lacks = Need(gang, Counting::kReady); lacks > 0) {
    gang.queued_at.reset();
    gang.tried = false;
    const int64_t here = gang.tally.pending + gang.tally.succeeded;
    const bool gated = Need(gang, Counting::kPresent) == 0;
    if (gang.repairing) return SetState(gang, GangState::kBackoff, gang.setback);
    if (gang.tally.making_way > 0) return SetState(gang, GangState::kForming, PreemptedBy(gang));
    return SetState(gang, GangState::kForming,
                    Because(gated ? ReasonCode::kGatedByOthers : ReasonCode::kWaitingForMembers,
                            here, here + lacks));
  }
  StopRepair(gang);  // the old ones may still be leaving: a dead node keeps them for ever
  if (Reason bar = NamespaceBar(gang.id.key.ns); bar.code != ReasonCode::kNone) {
    return SetState(gang, GangState::kForbidden, std::move(bar));
  }
  if (!gang.queued_at) gang.queued_at = now;
  if (gang.backoff_until) return SetState(gang, GangState::kBackoff, gang.setback);
  SetPending(gang, true);
  const bool keep =
      gang.tried && (gang.state == GangState::kQueued || gang.state == GangState::kUnsatisfiable);
  if (keep) return;
  SetState(gang, GangState::kQueued,
           silent_.empty() ? Because(ReasonCode::kNotTried)
                           : Because(ReasonCode::kStalePicture, 0, 0, silent_));
}

// Nothing bound yet and a whole plan: on the way from nomination to the barrier.
void Scheduler::Core::JudgeReserved(Gang& gang, Time now) {
  int64_t arrived = gang.tally.succeeded;
  int64_t nominated = 0;
  int64_t released = 0;
  int64_t binding = 0;
  for (const auto& [uid, member] : gang.members) {
    if (!member.plan) continue;
    const Pod& pod = *member.pod;
    arrived += member.held.empty() && !member.may_be_bound() ? 0 : 1;
    binding += member.may_be_bound() ? 1 : 0;
    nominated += member.nominated ? 1 : 0;
    released += pod.gated_by_muster() ? 0 : 1;
  }
  if (!gang.barrier_open && BarrierMet(gang)) gang.barrier_open = true;
  if (gang.barrier_open && gang.setback.code == ReasonCode::kBindFailed && binding == 0 &&
      arrived == 0) {
    return Fail(gang, gang.setback, now);
  }
  if (gang.deadline && *gang.deadline <= now && binding == 0) {
    return Fail(gang, Because(ReasonCode::kReservationExpired, arrived, gang.min_member), now);
  }
  if (gang.barrier_open) {
    return SetState(gang, GangState::kBinding, Because(ReasonCode::kBinding, 0, gang.min_member));
  }
  Reason reason = Because(ReasonCode::kWaitingForBind, arrived, gang.min_member);
  if (!gang.all_nominated) {
    reason = Because(ReasonCode::kNominating, nominated, gang.tally.planned);
  } else if (released < gang.tally.planned) {
    reason = Because(ReasonCode::kReleasing, released, gang.tally.planned);
  }
  SetState(gang, GangState::kReserved, reason);
}

// The barrier opens when the members at Bind, bound or succeeded satisfy the gang's minimum, every
// role's included.
bool Scheduler::Core::BarrierMet(const Gang& gang) const {
  std::map<std::string, int64_t> here;
  int64_t total = 0;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    const bool gone = pod.deleting || member.evicting || pod.phase == cluster::PodPhase::kFailed;
    const bool arrived = !member.held.empty() || member.may_be_bound() || pod.bound() ||
                         pod.phase == cluster::PodPhase::kSucceeded;
    if (gone || !arrived) continue;
    ++total;
    if (!pod.role.empty()) ++here[pod.role];
  }
  if (total < gang.min_member) return false;
  const PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  if (group == nullptr) return true;
  return std::all_of(group->roles.begin(), group->roles.end(),
                     [&](const cluster::RoleMinimum& role) {
                       return role.min_member <= 0 || here[role.name] >= role.min_member;
                     });
}

void Scheduler::Core::SetState(Gang& gang, GangState state, Reason reason) {
  gang.state = state;
  gang.reason = std::move(reason);
}

}  // namespace muster::engine
