#include "engine/standing/reservations.hpp"

#include <algorithm>
#include <utility>

#include "engine/gangs/comes_in_turn.hpp"
#include "engine/gangs/course.hpp"
#include "engine/gangs/defect.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

void Reservations::Set(Member& member, cluster::Placement placement, bool required,
                       bool nominated) {
  MemberPlan& plan = member.plan.value_;
  plan.node = cluster_.node(placement.node)->name;
  plan.placement = std::move(placement);
  plan.required = required;
  plan.nominated = nominated;
  plan.bind_seen = false;
  plan.refused_at.reset();
  plan.kubelet_pick.reset();
}

void Reservations::Adopt(Gang& gang, const std::vector<Member*>& planned, Time now, Time deadline) {
  for (Member* member : planned) member->plan.value_.made_at = now;
  GangPlan& plan = gang.plan.value_;
  ++plan.made;
  plan.made_at = now;
  plan.deadline = deadline;
  plan.all_nominated = false;
  if (gang.tally.bound_of_muster == 0) plan.barrier_open = false;
}

bool Reservations::Redeem(Gang& gang, Time now, Time deadline) {
  std::vector<PodUid> planned;
  for (auto& [uid, member] : gang.members) {
    if (!member.planned()) continue;
    planned.push_back(uid);
    member.plan.value_.made_at = now;
  }
  if (!cluster_.Redeem(planned).ok()) return false;
  gang.plan.value_.made_at = now;
  gang.plan.value_.deadline = deadline;
  return true;
}

void Reservations::GiveBack(Gang& gang, const std::string& why) {
  for (auto& [uid, member] : gang.members) GiveBackMember(member, why);
  GangPlan& plan = gang.plan.value_;
  if (gang.tally.bound_of_muster == 0) plan.barrier_open = false;
  plan.all_nominated = false;
  plan.deadline.reset();
}

void Reservations::GiveBackMember(Member& member, const std::string& why) {
  if (member.may_be_bound()) return;  // its outcome decides
  writes_.Answer(member, why);
  if (!member.planned()) return;
  cluster_.Release(member.uid);
  MemberPlan& plan = member.plan.value_;
  plan.placement.reset();
  plan.node.clear();
  plan.required = false;
  plan.nominated = false;
  plan.bind_seen = false;
  plan.refused_at.reset();
  plan.kubelet_pick.reset();
}

void Reservations::Settle(Member& member) {
  const Pod& pod = *member.pod;
  if (!pod.bound() && !pod.terminal() && member.may_be_bound()) return;
  MemberPlan& plan = member.plan.value_;
  if (!member.writes->held.empty()) {
    std::string why = "muster: the pod is being deleted";
    if (member.malformed()) {
      why = (pod.defect.empty() ? "muster: " : "muster: the pod is malformed: ") + DefectOf(pod);
    }
    if (member.awaits_volumes()) why = "muster: " + pod.volumes->bar;
    if (pod.bound()) {
      const bool as_asked = plan.node.empty() || plan.node == pod.node_name;
      why = as_asked ? "" : "muster: the pod was bound to node " + pod.node_name;
    }
    writes_.Answer(member, why);
  }
  if (member.planned()) {
    cluster_.Release(member.uid);
    if (pod.node_name != plan.node) plan.kubelet_pick.reset();
  }
  plan.placement.reset();
  plan.node.clear();
  plan.excluded.clear();
  plan.refused_at.reset();
  writes_.ConfirmOutcome(member);
}

void Reservations::Forget(Member& member) {
  if (member.planned()) cluster_.Release(member.uid);
  member.plan.value_ = {};
}

void Reservations::Exclude(Member& member, const std::string& node, Time until) {
  member.plan.value_.excluded[node] = until;
}

void Reservations::Allow(Member& member, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) member.plan.value_.excluded.erase(node);
}

void Reservations::Pause(Member& member, cluster::Duration timeout, Time now) {
  MemberPlan& plan = member.plan.value_;
  plan.pauses_until = now + PauseAfter(std::min(now - plan.made_at, timeout), ++plan.expiries);
}

void Reservations::EndPauses(Gang& gang, Time now) {
  for (auto& [uid, member] : gang.members) {
    std::optional<Time>& until = member.plan.value_.pauses_until;
    if (until && *until <= now) until.reset();
  }
}

void Reservations::CountNominated(Gang& gang, int64_t planned) {
  bool all = true;
  for (auto& [uid, member] : gang.members) {
    if (!member.planned()) continue;
    // The answer may be lost. What is being written now is not what the pod shows.
    const bool shown = member.pod->nominated_node == member.plan->node &&
                       member.writes->doing != WriteKind::kNominate;
    if (shown) Nominated(member, true);
    // One that is nominated in its turn is in nobody's way before.
    const bool waits = IsNominatedInTurn(member) && member.pod->nominated_node.empty();
    all = all && (member.plan->nominated || waits);
  }
  GangPlan& plan = gang.plan.value_;
  plan.all_nominated = planned > 0 && (plan.all_nominated || all);
}

bool Reservations::Holds(const Gang& gang, bool by_earmarks) const {
  for (const auto& [uid, member] : gang.members) {
    if (!member.planned() || member.may_be_bound()) continue;
    // A node that was replaced, or a device that is gone, took the reservation with it.
    if (by_earmarks ? !cluster_.Earmarked(uid) : !cluster_.Sound(uid)) return false;
    const std::string& name = member.plan->node;
    const cluster::Node* node = cluster_.FindNode(name);
    if (node == nullptr || cluster_.IndexOf(name) != member.plan->placement->node) return false;
    const cluster::PodSpec& spec = *member.pod->spec;
    const cluster::Placement& placement = *member.plan->placement;
    if (placement.requests != spec.requests ||
        std::ssize(placement.gpus) != int64_t{spec.gpus.count})
      return false;
    const cluster::NodeConstraints& wants = spec.constraints;
    if (!node->schedulable()) return false;
    if (!cluster::MatchesNode(wants, node->name, node->labels)) return false;
    if (!cluster::ToleratesAll(wants.tolerations, node->taints)) return false;
  }
  return true;
}

void Reservations::OnNodeRemoved(cluster::NodeIndex node) {
  if (!node.valid()) return;
  for (const PodUid& holder : cluster_.HoldersOn(node)) {
    const Member* member = members_.FindMember(holder);
    if (member != nullptr && member->may_be_bound()) bindings_on_lost_nodes_.insert(holder);
  }
}

void Reservations::OnNodeRestored(const std::string& node) {
  for (auto next = bindings_on_lost_nodes_.begin(); next != bindings_on_lost_nodes_.end();) {
    const PodUid uid = *next;
    Member* member = members_.Find(uid).member;
    const bool lost = member != nullptr && member->planned() && member->may_be_bound() &&
                      cluster_.AllocationOf(uid) == nullptr;
    if (lost && member->plan->node != node) {
      ++next;
      continue;
    }
    next = bindings_on_lost_nodes_.erase(next);
    if (!lost) continue;
    cluster::Placement placement = *member->plan->placement;
    placement.node = cluster_.IndexOf(node);
    if (cluster_.Reserve({placement}).ok()) member->plan.value_.placement = std::move(placement);
  }
}

void Reservations::Audit(const Gang& gang, bool settled, bool by_earmarks,
                         std::vector<std::string>& broken) const {
  for (const auto& [uid, member] : gang.members) {
    const std::string who = "pod " + member.key.ToString();
    const Pod& pod = *member.pod;
    if (!member.writes->held.empty() && !member.planned() && !pod.bound())
      broken.push_back(who + " has a held Bind call and no plan");
    if (!member.writes->held.empty() && member.planned() && !member.plan->bind_seen)
      broken.push_back(who + " has a held Bind call for an earlier plan");
    if (!settled) continue;
    const cluster::Allocation* held = cluster_.AllocationOf(uid);
    const bool reserved = held != nullptr && held->holding == cluster::Holding::kReserved;
    // Its node may go while a binding is under way.
    const bool lost_node = member.planned() && !reserved && member.may_be_bound();
    const bool kept = by_earmarks ? cluster_.Earmarked(uid) : reserved;
    if (kept != member.planned() && !lost_node) {
      broken.push_back(who + (kept ? " has a reservation or earmark without a plan"
                                   : " has a plan without a reservation or earmark"));
    }
    if (cluster_.Earmarked(uid) && !by_earmarks)
      broken.push_back(who + " has an earmark and no victims");
    const bool same = !reserved || !member.planned() || held->placement == *member.plan->placement;
    if (!same && !member.may_be_bound()) broken.push_back(who + " reserves other than planned");
    if (member.planned() && (pod.bound() || pod.terminal()))
      broken.push_back(who + " has ended or is bound and planned");
  }
}

}  // namespace muster::engine
