#include <algorithm>
#include <set>
#include <utility>

#include "engine/core.hpp"
#include "engine/minimum.hpp"
#include "engine/partial.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Pod;
using cluster::PodGroup;
using cluster::Time;

namespace {

// Pauses that are over by `now`.
void EndPauses(Gang& gang, Time now) {
  for (auto& [uid, member] : gang.members) {
    if (member.pauses_until && *member.pauses_until <= now) member.pauses_until.reset();
  }
}

// One of the members may not be evicted: the gang is not taken back for now, and may become whole.
bool RepairRefused(const Gang& gang) {
  return gang.repairing && !gang.obstacle.empty() &&
         std::none_of(gang.members.begin(), gang.members.end(),
                      [](const auto& entry) { return entry.second.doing == Doing::kEvict; });
}

// Malformed members of which nothing was said yet; empty: there is none.
std::string TakeMalformed(Gang& gang) {
  std::string text;
  for (auto& [uid, member] : gang.members) {
    if (!member.malformed() || member.told_defect == member.pod->defect) continue;
    member.told_defect = member.pod->defect;
    if (text.empty()) text = "pod " + member.key.name + " is left out: " + member.pod->defect;
  }
  return text;
}

}  // namespace

void Scheduler::Core::FollowUp(Gang& gang, Time now) {
  if (gang.state != gang.seen_state || gang.reason.code != gang.seen_reason) {
    gang.seen_state = gang.state;
    gang.seen_reason = gang.reason.code;
    gang.changed_at = now;
  }
  if (gang.tally.malformed > 0 && gang.state != GangState::kInvalid) {
    const std::string left_out = TakeMalformed(gang);
    if (!left_out.empty()) Tell(gang, true, "GangMemberLeftOut", left_out);
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
    member.ours = Claimed(pod);
    tally.mine += member.ours ? 1 : 0;
    tally.making_way += member.makes_way_for ? 1 : 0;
    if (pod.bound() || pod.terminal() || pod.deleting || member.malformed())
      SettleMember(member, pod);
    if (member.bygone) continue;
    if (pod.phase == cluster::PodPhase::kSucceeded) {
      ++tally.succeeded;
      gang.past.Joined(pod.owner_uid);
    } else if (pod.terminal()) {
      ++tally.failed;
    } else if (pod.deleting || member.evicting) {
      if (!pod.bound()) continue;
      tally.leaving += member.ours ? 1 : 0;
      const cluster::Node* node = state_.FindNode(pod.node_name);
      if (node != nullptr && node->ready) tally.leave_by = std::max(tally.leave_by, pod.leaves_by);
    } else if (pod.bound()) {
      ++tally.bound;
      tally.ours += member.ours ? 1 : 0;
      tally.staying += member.ours && !member.makes_way_for ? 1 : 0;
      gang.past.Joined(pod.owner_uid);
    } else if (member.malformed()) {
      ++tally.malformed;
    } else if (pod.gated_by_others()) {
      ++tally.gated_by_others;
    } else if (!member.ours) {
      ++tally.others_pending;
    } else if (member.pauses_until) {
      ++tally.pausing;
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
    writes_.Answer(member, as_asked ? "" : "muster: the pod was bound to node " + pod.node_name);
  } else if (!member.held.empty()) {
    writes_.Answer(member, member.malformed() ? "muster: the pod is malformed: " + pod.defect
                                          : "muster: the pod is being deleted");
  }
  if (member.plan) state_.Release(member.uid);
  member.plan.reset();
  member.planned_node.clear();
  member.excluded.clear();
  member.unsure = false;
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
    std::set<std::string> names;
    for (const cluster::RoleMinimum& role : group->roles) {
      if (role.min_member < 0) return invalid("role " + role.name + " has a negative minimum");
      if (!names.insert(role.name).second) return invalid("two roles are named " + role.name);
      of_roles = cluster::SaturatingAdd(of_roles, role.min_member);
    }
    if (of_roles > group->min_member) {
      return invalid("the roles' minima add up to " + std::to_string(of_roles) +
                     ", more than spec.minMember " + std::to_string(group->min_member));
    }
  }
  // Who runs does not suffer for who came later.
  const bool runs = gang.past.begun() && gang.tally.bound > 0;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (!pod.defect.empty() && !pod.terminal() && !(runs && member.malformed())) {
      return Because(ReasonCode::kInvalidMember, 0, 0, "pod " + pod.key.name + ": " + pod.defect);
    }
  }
  return {};
}

// Why no gang of the namespace may start; kNone: one may.
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

Reason Scheduler::Core::HeldBack(const Gang& gang) const {
  if (unfenced_.none()) return {};
  for (const auto& [uid, member] : gang.members) {
    const std::string* why = unfenced_.Why(uid);
    if (why == nullptr) continue;
    return Because(ReasonCode::kPodNotFenced, 0, 0, "pod " + member.key.name + ": " + *why);
  }
  return {};
}

// The state follows from the members, the plan and the clock; what was before matters only for
// deadlines.
void Scheduler::Core::Judge(Gang& gang, Time now) {
  const PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  gang.min_member = group != nullptr ? group->min_member : 1;
  EndPauses(gang, now);
  Recount(gang);
  Remember(gang, group, now);
  ExpireHeld(gang, now);
  if (gang.tally.ours + gang.tally.leaving == 0) StopRepair(gang);
  if (gang.backoff_until && *gang.backoff_until <= now) gang.backoff_until.reset();
  if (gang.may_preempt_from && *gang.may_preempt_from <= now) gang.may_preempt_from.reset();
  ExpireStays(gang, now);
  // All that are bound go: who was to join them does not.
  if (gang.tally.ours > 0 && gang.tally.staying == 0 && gang.tally.planned > 0) {
    Drop(gang, "muster: the gang is evicted for another one", now);
    Recount(gang);
  }
  SetPending(gang, false);
  const bool waits =
      gang.tally.ours == 0 && gang.tally.planned > 0 && Need(gang, Counting::kBound) > 0;
  if (gang.victims && !waits) {
    Drop(gang, "muster: nobody is evicted any more for this gang", now);
    Recount(gang);
  }

  if (const Reason defect = Defect(gang); defect.code != ReasonCode::kNone) {
    Drop(gang, "muster: " + Describe(defect), now);
    Recount(gang);
    gang.partial_since.reset();  // of what, nobody can say
    StopRepair(gang);
    return SetState(gang, GangState::kInvalid, defect);
  }
  const Tally& tally = gang.tally;
  const bool over = gang.past.begun() && gang.minimum.members == 0;
  if (tally.present() + tally.leaving == 0 && (tally.succeeded + tally.failed > 0 || over)) {
    gang.partial_since.reset();
    return SetState(gang, GangState::kFinished, {});
  }
  if (!gang.id.solo && group == nullptr) return JudgeOrphan(gang, now);
  if (gang.check_plan) {
    // Members that are being bound are looked at again when their outcome is known.
    gang.check_plan = std::any_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
      return entry.second.plan && entry.second.may_be_bound();
    });
    if (!PlanHolds(gang)) {
      gang.setback = Because(ReasonCode::kPlanBroken);
      Drop(gang, "muster: a planned node changed, the gang is planned anew", now);
      Recount(gang);
    }
  }
  if (gang.tally.planned > 0 && !unfenced_.none()) {
    if (const Reason held = HeldBack(gang); held.code != ReasonCode::kNone) {
      GiveBack(gang, "muster: " + Describe(held));
      Recount(gang);
    }
  }
  if (Need(gang, Counting::kBound) == 0) return JudgeStarted(gang, now);
  if (gang.tally.ours > 0) return JudgePartial(gang, now);
  gang.partial_since.reset();
  JudgeUnbound(gang, now);
}

// Pods that run keep running; nothing new is started without a PodGroup.
void Scheduler::Core::JudgeOrphan(Gang& gang, Time now) {
  Drop(gang, "muster: the PodGroup is gone", now);
  Recount(gang);
  gang.partial_since.reset();
  StopRepair(gang);
  const bool runs = gang.tally.bound > 0;
  SetState(gang, runs ? GangState::kRunning : GangState::kForming,
           runs ? Reason{} : Because(ReasonCode::kPodGroupMissing, 0, 0, gang.id.key.ToString()));
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
  const PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  const cluster::Headcount declared = DeclaredMinimum(group);
  if (!gang.past.runs_since()) {
    progress_.started.push_back({gang.id, gang.queued_at ? now - *gang.queued_at : Duration(0)});
  }
  const cluster::Headcount have = CountMembers(gang, !declared.roles.empty(), Stays);
  gang.past.Begin(declared, Lack(declared, have) == 0, now);
  gang.minimum = gang.past.Wanted(declared);
  gang.partial_since.reset();
  StopRepair(gang);
  gang.attempts = 0;
  gang.expired = false;
  gang.vain_preemptions = 0;
  gang.may_preempt_from.reset();
  gang.setback = {};
  gang.obstacle.clear();
  if (const Reason late = ExpireMembers(gang, now); late.code != ReasonCode::kNone) {
    Tell(gang, true, "GangReservationExpired", Describe(late));
  }
  const bool wants_more =
      gang.tally.pending > gang.tally.planned && gang.tally.staying == gang.tally.ours;
  SetPending(gang, wants_more && !gang.backoff_until &&
                       NamespaceBar(gang.id.key.ns).code == ReasonCode::kNone);
  SetState(gang, GangState::kRunning, {});
}

// Some members are bound, but fewer than the gang wants.
void Scheduler::Core::JudgePartial(Gang& gang, Time now) {
  const int64_t have = gang.tally.bound + gang.tally.succeeded;
  FollowPartial(gang, options_.partial_timeout, now);
  if (options_.partial_gang == PartialGang::kHold) StopRepair(gang);
  Reason held = HeldBack(gang);
  const bool barred = held.code != ReasonCode::kNone || !silent_.empty();
  // While it may not be completed no time passes, and none has when that ends.
  if (!gang.repairing && (barred || gang.barred)) gang.partial_since = now;
  gang.barred = barred;
  if (held.code != ReasonCode::kNone && !gang.repairing) {
    return SetState(gang, GangState::kDegraded, std::move(held));
  }
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
  if (Reason late = ExpireMembers(gang, now); late.code != ReasonCode::kNone) {
    gang.setback = std::move(late);
    gang.tried = false;
  }
  // The rest is bound as its calls come: to wait for all of them keeps nothing whole any more.
  gang.barrier_open = true;
  if (Need(gang, Counting::kPlanned) == 0)
    return SetState(gang, GangState::kBinding,
                    Because(ReasonCode::kBinding, have, gang.minimum.members));
  if (gang.tally.staying < gang.tally.ours) {  // victims who leave already hold nobody up
    return SetState(gang, GangState::kDegraded, PreemptedBy(gang));
  }
  // Only the pause after a plan that broke, not one after a start that failed before this.
  const bool pauses = gang.backoff_until && *gang.backoff_until <= now + options_.retry_interval;
  SetPending(gang, Need(gang, Counting::kReady) == 0 && !pauses &&
                       NamespaceBar(gang.id.key.ns).code == ReasonCode::kNone);
  // A reason found by planning says more than that members are missing.
  if (gang.pending && gang.state == GangState::kDegraded && gang.tried) return;
  const bool late = gang.tally.pausing > 0 && gang.setback.code == ReasonCode::kReservationExpired;
  SetState(gang, GangState::kDegraded,
           late ? gang.setback
                : Because(ReasonCode::kMembersLost, have, gang.minimum.members, gang.obstacle));
}

// Nothing is bound: the gang starts as a whole or not at all, and pauses as a whole.
void Scheduler::Core::JudgeUnbound(Gang& gang, Time now) {
  if (gang.tally.pausing > 0) {
    EndPauses(gang, Time::Never());
    Recount(gang);
  }
  if (gang.tally.planned > 0 && Need(gang, Counting::kPlanned) > 0) {
    Drop(gang, "muster: members of the gang are gone", now);
    Recount(gang);
  }
  if (gang.victims) return JudgePreempting(gang, now);
  if (gang.tally.planned > 0) return JudgeReserved(gang, now);
  gang.barrier_open = false;
  if (const int64_t lacks = Need(gang, Counting::kReady); lacks > 0) {
    gang.queued_at.reset();
    gang.tried = false;
    const int64_t here = gang.tally.pending + gang.tally.succeeded + gang.tally.bound;
    ReasonCode code = ReasonCode::kWaitingForMembers;
    if (Need(gang, Counting::kPresent) == 0) {
      code =
          gang.tally.gated_by_others > 0 ? ReasonCode::kGatedByOthers : ReasonCode::kPlacedByOthers;
    }
    if (gang.repairing) return SetState(gang, GangState::kBackoff, gang.setback);
    if (gang.tally.making_way > 0) return SetState(gang, GangState::kForming, PreemptedBy(gang));
    return SetState(gang, GangState::kForming, Because(code, here, here + lacks));
  }
  StopRepair(gang);  // the old ones may still be leaving: a dead node keeps them for ever
  if (Reason bar = NamespaceBar(gang.id.key.ns); bar.code != ReasonCode::kNone) {
    return SetState(gang, GangState::kForbidden, std::move(bar));
  }
  if (!gang.queued_at) gang.queued_at = now;
  if (gang.backoff_until) return SetState(gang, GangState::kBackoff, gang.setback);
  if (Reason held = HeldBack(gang); held.code != ReasonCode::kNone) {
    return SetState(gang, GangState::kQueued, std::move(held));
  }
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
  int64_t arrived = 0;
  const int64_t there = gang.tally.succeeded + gang.tally.bound;
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
    return Expire(gang, arrived + there, now);
  }
  const int64_t need = gang.minimum.members;
  if (gang.barrier_open) {
    return SetState(gang, GangState::kBinding, Because(ReasonCode::kBinding, there, need));
  }
  Reason reason = Because(ReasonCode::kWaitingForBind, arrived + there, need);
  if (!gang.all_nominated) {
    reason = Because(ReasonCode::kNominating, nominated, gang.tally.planned);
  } else if (released < gang.tally.planned) {
    reason = Because(ReasonCode::kReleasing, released, gang.tally.planned);
  }
  SetState(gang, GangState::kReserved, reason);
}

void Scheduler::Core::SetState(Gang& gang, GangState state, Reason reason) {
  gang.state = state;
  gang.reason = std::move(reason);
}

}  // namespace muster::engine
