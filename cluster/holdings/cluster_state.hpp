// ClusterState: all objects that are known, and who holds which resources.
//
// Fed by facts. A fact is idempotent and keyed by UID:
//   1. The same fact twice changes nothing the second time.
//   2. A record with a lower resource_version than the known one of that UID is old news and
//      ignored (0: not known, always applied).
//   3. A record whose name is taken by another UID replaces that object (delete and recreate seen
//      as one), unless both versions are known and it is the older one.
//   4. A UID that was removed stays removed: late duplicates do not bring it back.
//   5. Removing a UID that is not known does nothing, except that 4 holds for it from then on.
//
// What a pod holds: a live bound pod holds its requests and devices on its node; a reserved pod
// holds them too. Devices of a bound pod come from its annotation as far as that is possible (they
// exist and nobody else has them), else from its reservation; for the rest those are assumed that
// the DeviceAssigner names, so that the outcome depends on the set of pods and not on the order of
// facts.
// More bound than there is makes the node over-committed: of what there is too little of, nothing
// is free there, and nobody is harmed.
//
// A reservation ends when it is released, when its pod has ended, is removed or is bound elsewhere,
// and when its node is removed. When its pod is bound to its node it becomes what the pod holds.
// An earmark ends like a reservation, but holds nothing: it keeps others from what will be free
// when the pods that make way for it are gone. Pods bound to a node that is not known hold nothing
// until it appears.
//
// Owned by engine::Scheduler (and by the simulator's own scheduler). Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/applied.hpp"
#include "cluster/holdings/device_assigner.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/disruption_budget.hpp"
#include "cluster/records/namespace.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "cluster/records/priority_class.hpp"

namespace muster::cluster {

class ClusterState {
 public:
  ClusterState();  // with LowestNumbered
  explicit ClusterState(std::shared_ptr<const DeviceAssigner> assigner);
  ~ClusterState();
  ClusterState(ClusterState&&) noexcept;
  ClusterState& operator=(ClusterState&&) noexcept;
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  // Devices that are out of order are put in order; of several with one index the first is kept.
  Applied Upsert(Node node);
  // `pod.spec` must be set (MUSTER_CHECK).
  Applied Upsert(Pod pod);
  Applied Upsert(PodGroup group);
  Applied Upsert(Namespace ns);
  Applied Upsert(PriorityClass priority);
  Applied Upsert(DisruptionBudget budget);
  bool Remove(const NodeUid& uid);
  bool Remove(const PodUid& uid);
  bool Remove(const PodGroupUid& uid);
  // Removes it, but unlike Remove lets a later Upsert of the same UID add it again.
  bool Forget(const PodUid& uid);
  bool Forget(const PodGroupUid& uid);
  bool Remove(const NamespaceUid& uid);
  bool Remove(const PriorityClassUid& uid);
  bool Remove(const DisruptionBudgetUid& uid);

  // Reserves every placement or none. Fails (kConflict, naming pod and node) when a pod is unknown,
  // bound or already holds a reservation, or when a placement does not fit what is free.
  Status Reserve(const std::vector<Placement>& placements);
  // Reserves every placement or none, for pods that hold a sound reservation each (see Sound),
  // which they give back at the same moment. Fails (kConflict, naming pod and node) and changes
  // nothing when one does not, or when a placement does not fit what is free then.
  Status Move(const std::vector<Placement>& placements);
  // Earmarks every placement or none, on room that the pods `victims` hold now and are to leave.
  // Fails (kConflict, naming pod and node) like Reserve, as if those had left already; and where
  // the devices that others will have then leave too little (the node is the error's place).
  Status Earmark(const std::vector<Placement>& placements, const std::vector<PodUid>& victims);
  // Every one of these pods has an earmark, which can be redeemed when those who make way for it
  // are gone, as far as one can tell now.
  bool EarmarksHold(const std::vector<PodUid>& pods) const;
  // Makes reservations of the pods' earmarks, of all or of none. Fails (kConflict) and changes
  // nothing as long as one does not fit what is free.
  Status Redeem(const std::vector<PodUid>& pods);
  // The pod keeps what it holds.
  void KeepHolding(const PodUid& pod);
  // Gives a reservation or earmark back; a pod that has none (bound meanwhile, say) is left as it
  // is. True when there was one.
  bool Release(const PodUid& pod);

  const Node* FindNode(const std::string& name) const;
  NodeIndex IndexOf(const std::string& name) const;  // invalid when there is no such node
  NodeIndex IndexOf(const NodeUid& uid) const;       // the same
  const Node* node(NodeIndex index) const;
  // A pod's record stays where it is, and shows what the last fact said, as long as it is known.
  const Pod* FindPod(const PodUid& uid) const;
  const Pod* FindPod(const ObjectKey& key) const;
  const PodGroup* FindPodGroup(const ObjectKey& key) const;
  const Namespace* FindNamespace(const std::string& name) const;
  // Some pod has rules among pods (pod_rules.hpp) or a VolumeDemand.
  bool has_pod_rules() const;
  // The pod has some, or anti-affinity of a pod that is known of may keep it off nodes.
  bool RulesConcern(const Pod& pod) const;
  const PriorityClass* FindPriorityClass(const std::string& name) const;
  // What the pod holds on a known node; null when it holds nothing.
  const Allocation* AllocationOf(const PodUid& pod) const;
  // Where that is kept: it stays there and shows what the pod holds now, as long as the pod is
  // known. Null: it is not.
  const std::optional<Allocation>* FindHolding(const PodUid& pod) const;
  // Pods that hold something on the node, ordered by UID.
  const std::set<PodUid>& HoldersOn(NodeIndex node) const;
  // Pods with an earmark on the node, ordered by UID.
  std::vector<PodUid> EarmarksOn(NodeIndex node) const;
  bool Earmarked(const PodUid& pod) const;
  // More is held than the node has of something.
  bool Overcommitted(NodeIndex node) const;
  // The pod's reservation can be kept: it has the devices it was made with, and its node is not
  // over-committed in anything that the pod asks for. False without a reservation.
  bool Sound(const PodUid& pod) const;

  std::shared_ptr<const Snapshot> TakeSnapshot();
  // What the pods of each queue (Pod::queue) hold on known nodes, reserved or bound, and what is
  // earmarked for them.
  const UsageTable& usage() const;
  // What the pod holds is charged to that queue from now on, and to its guarantee.
  void ChargeTo(const PodUid& pod, const std::string& queue, bool non_preemptible = false);
  // Changes with everything that a Snapshot shows and with what anybody holds; not when a pod
  // waits.
  uint64_t generation() const;
  // Changes only when something that did not fit before might fit now.
  uint64_t growth() const;

  size_t node_count() const;
  size_t pod_count() const;
  size_t reservation_count() const;
  // Nodes in order of name, pods in order of UID, the others in order of key.
  std::vector<const Node*> Nodes() const;
  std::vector<const Pod*> Pods() const;
  void EachPod(const std::function<void(const Pod&)>& visit) const;  // in no order
  std::vector<const PodGroup*> PodGroups() const;
  std::vector<const Namespace*> Namespaces() const;
  std::vector<const PriorityClass*> PriorityClasses() const;
  std::vector<const DisruptionBudget*> DisruptionBudgets() const;
  // Every number and record, one line each, in a fixed order: equal texts mean equal states.
  // Generations, NodeIndexes and the UIDs of what was removed are left out.
  std::string Dump() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::cluster
