// Past: what a gang's members of today cannot tell of it (internal to engine/).
//
// A gang that has run is taken back only for a member that was lost (failed, evicted, deleted
// before it ended) and not replaced. Success counts as long as the gang exists, whatever becomes of
// the pod's object, and a minimum that is raised takes nothing from what runs.
//
// 1. Begin: the gang has its minimum. As long as any of it is bound it wants no more than that,
//    however the PodGroup is edited; what it declares less counts for good. Where it starts with a
//    part of its minimum (PodGroup::starts_with) it wants the rest from then on.
// 2. Ended: a member that counted ended well, or went without our knowing how; its object is gone.
//    It is wanted no more.
//    Recreated: while nothing is bound, a pod of its name takes that back (Volcano restarts a job
//    so).
// 3. Forget: another run begins: nothing is bound, and none of the members that wait belongs to an
//    owner of those that ran (where all that were wanted have ended well, pods without an owner are
//    another run, too). Its minimum is the declared one again.
// 4. MarkEvicted: as a whole, by the rules of a queue that starts such gangs no more. That holds
//    until the gang runs again, or for another PodGroup; without such an object until another run.
// 5. Record says what of that must outlive the process; Adopt takes it up. What happened in between
//    nobody saw, so members that are missing then, are not recorded as lost, are not there as
//    Failed or leaving, and have no pod that waits to take their place, have ended. Where nothing
//    of it stays, all that had not ended start again.
//
// Owned by its Gang, set by remember, settle_members, evictions and intake. A plain value.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cluster/base/units.hpp"
#include "cluster/records/gang_record.hpp"
#include "engine/contract/gang_view.hpp"

namespace muster::engine {

class Past {
 public:
  static constexpr size_t kMostOwners = 16;
  static constexpr size_t kMostNames = 1024;

  bool has_run() const { return has_run_; }
  // Members that are wanted no more.
  const cluster::Headcount& ended() const { return ended_; }
  // See RunOneByOne.
  bool one_by_one() const { return one_by_one_; }
  // Since when it has had its minimum without a break; nothing while nothing of it is bound and
  // something has to be.
  const std::optional<cluster::Time>& running_since() const { return running_since_; }

  // The minimum that it runs with, as long as it does. Where the PodGroup is malformed it stands
  // for what the PodGroup declares: a slip of the pen takes nothing from what the gang may lack.
  const cluster::Headcount& whole() const { return whole_; }

  // What is wanted of a gang that declares this: its live and its succeeded members must be so
  // many. `grows`: not only what it began with.
  cluster::Headcount Wanted(const cluster::Headcount& declared, bool grows = false) const;

  // `whole`: what it has now is the declared minimum.
  void Begin(const cluster::Headcount& declared, bool whole, cluster::Time now);
  // One of its members was bound by itself: it runs, and wants no more than one of them until none
  // is bound.
  void RunOneByOne(cluster::Time now);
  // A member of that owner (may be empty) is bound, or was until it succeeded.
  void Joined(const std::string& owner);
  void Ended(const std::string& name, const std::string& role);
  void Recreated(const std::string& name);
  // Nothing of it is bound any more: it starts again as it declares, less those that have ended.
  void MarkUnbound() {
    running_since_.reset();
    one_by_one_ = false;
  }
  // All that it declares have ended: nothing has to start again, and more pods of that run may
  // come.
  void Resume(const std::optional<cluster::Time>& since) { running_since_ = since; }
  // Members with these owners belong to another run than those that ran before.
  bool AnotherRun(const std::set<std::string>& owners, const cluster::Headcount& declared) const;
  void Forget();
  bool evicted() const { return evicted_; }
  void MarkEvicted(bool evicted) { evicted_ = evicted; }
  // Owners that Joined before did so for another run.
  void ForgetOwners() { owners_.clear(); }

  // `wanted`: what Wanted gives now; `lacks`: what is missing of it, since `since`.
  cluster::GangRecord Record(const cluster::Headcount& wanted, const cluster::Headcount& lacks,
                             cluster::Time since) const;
  // Once in a process's life. `have`: members that are bound or have succeeded; `gone`: that were
  // bound and have Failed or are leaving, and nobody took their place, or somebody waits to.
  void Adopt(const cluster::GangRecord& record, const cluster::Headcount& have,
             const cluster::Headcount& gone);
  bool adopted() const { return adopted_; }
  void SetAdoptedAt(cluster::Time at) { adopted_at_ = at; }
  cluster::Time adopted_at() const { return adopted_at_; }
  // Members that were thought to have ended then. They had not, where more come to light that count
  // and did before: `have`, now.
  const cluster::Headcount& inferred() const { return inferred_; }
  void Reconsider(const cluster::Headcount& have);

 private:
  bool Knows(const std::string& owner) const;

  bool evicted_ = false;
  bool has_run_ = false;
  bool adopted_ = false;
  std::optional<cluster::Time> running_since_;
  cluster::Headcount whole_;  // the minimum that it has run with
  bool one_by_one_ = false;
  cluster::Headcount ended_;     // members that are wanted no more
  cluster::Headcount inferred_;  // of these, by Adopt
  cluster::Headcount adopted_have_;
  cluster::Time adopted_at_;
  // Tags of the owners of members that were bound, or kAnyOwner; empty: not known.
  std::set<std::string> owners_;
  // Of those that ended, the first kMostNames: their roles by name. Of this process's life only.
  std::map<std::string, std::string> names_;
};

}  // namespace muster::engine
