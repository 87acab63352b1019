// Reservations: the plans of gangs, and the room that ClusterState keeps for them (internal to
// engine/). Guarded by Scheduler.
//
// 1. A member has a plan exactly as long as ClusterState has a reservation for its pod, or, while
//    others are to make way for it, an earmark.
// 2. A member that may be bound without our knowing keeps both. Only its node may go: then the plan
//    stays, as what the binding is asked for, and the next node of that name reserves it again.
// 3. A Bind call is held for the plan that the member has. Who gives a plan back, or sets another
//    one, refuses those that are held for it.
// 4. A gang gives its plan back whole; a member alone only beside bound ones.
//
// A restart forgets plans. What was nominated is preferred by the next one (Planning).
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/gangs/membership.hpp"
#include "engine/standing/write_tracker.hpp"

namespace muster::engine {

class Reservations {
 public:
  // All must outlive it.
  Reservations(cluster::ClusterState& cluster, Membership& members, WriteTracker& writes)
      : cluster_(cluster), members_(members), writes_(writes) {}

  // ClusterState has that reservation or earmark. `nominated`: the node is, or will be by the pod's
  // affinity.
  void Set(Member& member, cluster::Placement placement, bool required, bool nominated);
  // All of the gang's new plan was Set.
  void Adopt(Gang& gang, const std::vector<Member*>& planned, cluster::Time now,
             cluster::Time deadline);
  // Reservations of its earmarks, all or none; they begin now.
  bool Redeem(Gang& gang, cluster::Time now, cluster::Time deadline);

  // What no binding is under way for.
  void GiveBack(Gang& gang, const std::string& why);
  void GiveBackMember(Member& member, const std::string& why);
  // The pod is bound, ends, or can use no plan any more.
  void Settle(Member& member);
  // The pod leaves its gang.
  void Forget(Member& member);

  void Nominated(Member& member, bool yes) { member.plan.value_.nominated = yes; }
  void SetRank(Member& member, uint32_t rank) { member.plan.value_.rank = rank; }
  void Foresee(Member& member, std::optional<policy::KubeletPick> pick) {
    member.plan.value_.kubelet_pick = std::move(pick);
  }
  void SeenAtBind(Member& member) { member.plan.value_.bind_seen = true; }
  // kube-scheduler finds no node for it; or, nothing, it has thought better of it.
  void SetRefused(Member& member, std::optional<cluster::Time> at) {
    member.plan.value_.refused_at = at;
  }
  // kube-scheduler rejected the planned node, by an answer or by not asking.
  void Exclude(Member& member, const std::string& node, cluster::Time until);
  // They have passed its checks.
  void Allow(Member& member, const std::vector<std::string>& nodes);
  // Its reservation ran out beside bound members, or it was refused there: it pauses until then.
  // `timeout`: how long the first one lasts.
  void Pause(Member& member, cluster::Duration timeout, cluster::Time now);
  void PauseUntil(Member& member, cluster::Time until) { member.plan.value_.pauses_until = until; }
  void EndPauses(Gang& gang, cluster::Time now);

  // Plans that were made for it before it was known by this record.
  void CountEarlier(Gang& gang, int64_t plans) {
    gang.plan.value_.made = std::max(gang.plan->made, plans);
  }
  void CountNominated(Gang& gang, int64_t planned);
  void OpenBarrier(Gang& gang, bool open) { gang.plan.value_.barrier_open = open; }
  void SetDeadline(Gang& gang, std::optional<cluster::Time> deadline) {
    gang.plan.value_.deadline = deadline;
  }
  // A node of the plan changed; or it was looked at, and only bindings under way are left to doubt.
  void MarkForRecheck(Gang& gang, bool yes) { gang.plan.value_.needs_recheck = yes; }
  // Every planned node still takes the pod that is planned there, and has room for it.
  bool Holds(const Gang& gang, bool by_earmarks) const;

  // A node goes, or is replaced: bindings may still come true on the next one of that name.
  void OnNodeRemoved(cluster::NodeIndex node);
  void OnNodeRestored(const std::string& node);

  // `settled`: no gang is to be looked at. `earmarked`: gangs whose plan is one of earmarks.
  void Audit(const Gang& gang, bool settled, bool by_earmarks,
             std::vector<std::string>& broken) const;

 private:
  cluster::ClusterState& cluster_;
  Membership& members_;
  WriteTracker& writes_;
  std::set<cluster::PodUid> bindings_on_lost_nodes_;  // being bound to nodes that are gone
};

}  // namespace muster::engine
