// Membership: which gangs there are, which pods belong to which, and whose the pods are (internal
// to engine/). Guarded by Scheduler.
//
// 1. A pod is a member of one gang at most: of the gang of the PodGroup that it names, else of a
//    gang of its own.
// 2. A pod is managed when Muster claims it (its schedulerName, a Filter call, or Muster bound it),
//    or when Muster claims a member of its gang: such a member counts, and is left to its
//    scheduler. A managed pod is a member.
// 3. A pod that names a PodGroup and is not managed is an unmanaged pod of that gang. The first
//    member that Muster claims makes members of them all.
// 4. A pod whose binding is under way joins or leaves no gang. It is deferred until the outcome is
//    known.
// 5. A gang exists while it has members or its PodGroup exists.
// 6. A gang is in one spread group of its namespace at most: the one that it was in when it was
//    settled last.
//
// A restart forgets which pods only a Filter call made Muster's, but for those that carry the mark
// of a hand-over, and those for which kube-scheduler finds no node under a schedulerName of which
// Muster has bound a pod or handed one over; all else follows from the objects.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct PlacedMember {
  Gang* gang = nullptr;  // null: it is no member
  Member* member = nullptr;
};

class Membership {
 public:
  // Both must outlive it.
  Membership(const cluster::ClusterState& cluster, const Options& options)
      : cluster_(cluster), options_(options) {}

  // Where the pod belongs.
  static GangId IdFor(const cluster::Pod& pod);
  bool Claimed(const cluster::Pod& pod) const;
  bool Managed(const cluster::Pod& pod) const;

  std::map<GangId, Gang>& gangs() { return gangs_; }
  const std::map<GangId, Gang>& gangs() const { return gangs_; }
  Gang* Find(const GangId& id);  // null: there is none
  const Gang* Find(const GangId& id) const;
  PlacedMember Find(const cluster::PodUid& uid);
  const Member* FindMember(const cluster::PodUid& uid) const;
  const Gang* GangOf(const cluster::PodUid& uid) const;  // null: it is no member
  bool IsMember(const cluster::PodUid& uid) const { return gang_of_.contains(uid); }
  size_t member_count() const { return gang_of_.size(); }
  // In order.
  std::vector<const Gang*> AttemptsOf(const GangId& across) const;
  // Null: a gang of one pod, or its PodGroup does not exist.
  const cluster::PodGroup* GroupOf(const Gang& gang) const;

  Gang& Make(const GangId& id);
  // A known pod joins its gang, of whose members it is none yet or this one already.
  PlacedMember Add(const cluster::Pod& pod);
  // The pod's record may be gone already.
  void Remove(const cluster::PodUid& uid);
  bool Ended(const Gang& gang) const;
  void Erase(const GangId& id);

  // The gangs of one namespace that are spread together, by their spread group's name.
  using SpreadGroup = std::map<GangId, const Gang*>;
  // Empty: it is in none.
  void SetSpreadGroup(Gang& gang, const std::string& name);
  const SpreadGroup& SpreadGroupOf(const Gang& gang) const;  // with itself

  // Of pods of PodGroups.
  void AddUnmanaged(const cluster::Pod& pod);
  // True when it was one.
  bool RemoveUnmanaged(const cluster::ObjectKey& group, const cluster::PodUid& pod);
  const std::set<cluster::PodUid>* UnmanagedOf(
      const cluster::ObjectKey& group) const;  // null: none
  std::set<cluster::PodUid> TakeUnmanaged(const cluster::ObjectKey& group);

  // A Filter call showed the pod, or had before a restart.
  void Claim(const cluster::PodUid& pod) { seen_in_filter_.insert(pod); }
  void Disclaim(const cluster::PodUid& pod) { seen_in_filter_.erase(pod); }
  // kube-scheduler asks Muster about pods of that schedulerName. True: that is news.
  bool Serve(const std::string& scheduler) { return served_.insert(scheduler).second; }
  // kube-scheduler finds no node for a pod that it would ask about if it did: there is no Filter
  // call while the cluster is full.
  bool WouldAsk(const cluster::Pod& pod) const;
  // Only a Filter call has shown it, so far.
  void AwaitConfirmation(const cluster::PodUid& pod, cluster::Time now) {
    unconfirmed_.emplace(pod, now);
  }
  void Confirm(const cluster::PodUid& pod) { unconfirmed_.erase(pod); }
  // That have waited for it for so long, in order.
  std::vector<cluster::PodUid> Unconfirmed(cluster::Duration wait, cluster::Time now) const;

  // Its membership is looked at again when the outcome of its binding is known.
  void Defer(const cluster::PodUid& pod) { deferred_.insert(pod); }
  bool TakeDeferred(const cluster::PodUid& pod) { return deferred_.erase(pod) > 0; }
  // What is kept of a pod that is no longer known.
  void Forget(const cluster::PodUid& pod);

  void AddGroup(const cluster::PodGroup& group) { group_keys_[group.uid] = group.key; }
  void ForgetGroup(const cluster::PodGroupUid& uid) { group_keys_.erase(uid); }
  // Whose PodGroup it is; nothing: nobody's.
  std::optional<GangId> GangOfGroup(const cluster::PodGroupUid& uid) const;

  std::vector<std::string> Audit() const;

 private:
  const cluster::ClusterState& cluster_;
  const Options& options_;
  std::map<GangId, Gang> gangs_;
  std::unordered_map<cluster::PodUid, Gang*> gang_of_;  // of every member
  // By namespace and name; none is empty.
  std::map<std::pair<std::string, std::string>, SpreadGroup> spread_groups_;
  const SpreadGroup no_spread_group_;
  std::unordered_map<cluster::PodGroupUid, cluster::ObjectKey> group_keys_;
  std::set<cluster::PodUid> seen_in_filter_;              // live ones of other schedulerNames
  std::set<std::string> served_;                          // schedulerNames
  std::map<cluster::PodUid, cluster::Time> unconfirmed_;  // since when
  std::set<cluster::PodUid> deferred_;
  std::map<cluster::ObjectKey, std::set<cluster::PodUid>> unmanaged_;  // by PodGroup; none is empty
};

}  // namespace muster::engine
