// Scheduler::Core: the state behind the Scheduler's lock (internal to engine/). Every method is
// called with that lock held; none of them blocks or calls out. Which file holds what: README.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/cluster_state.hpp"
#include "engine/ever_fits.hpp"
#include "engine/gang.hpp"
#include "engine/job_table.hpp"
#include "engine/node_health.hpp"
#include "engine/pending_queue.hpp"
#include "engine/planner.hpp"
#include "engine/scheduler.hpp"
#include "engine/spec_table.hpp"
#include "engine/unfenced.hpp"
#include "engine/work_queue.hpp"
#include "engine/write_tracker.hpp"

namespace muster::engine {

class Scheduler::Core {
 public:
  explicit Core(Options options);

  // facts.cpp
  void Apply(const Fact& fact, cluster::Time now);
  // The pods that may be Muster's now, or another scheduler's: to be joined, then abandoned.
  std::vector<cluster::PodUid> SetOptions(Options options);
  void Rehome(const cluster::PodUid& uid, bool joins);

  // Both do a bounded part of their work, so that the lock can be given away in between.
  bool Settle(cluster::Time now);   // settle.cpp: true when nothing is left to judge
  Turn NextJob(cluster::Time now);  // cycle.cpp: whom a plan may help
  void BeginPass() { queue_.End(); }
  void Commit(const PlanJob& job, PlanResult result, cluster::Time now);
  bool PassNeeded() const;
  bool HasWork() const;
  cluster::Time NextWake() const;

  // handover.cpp
  void Report(const Outcome& outcome, cluster::Time now);
  Progress TakeProgress();

  // extender.cpp
  FilterAnswer Filter(const NodesQuestion& question, cluster::Time now);
  PrioritizeAnswer Prioritize(const NodesQuestion& question) const;
  BindReceipt Bind(const BindCall& call, uint64_t ticket, cluster::Time now);

  // view.cpp, audit.cpp: some gangs more, after `last`; true when these were the last
  bool Gangs(std::optional<GangId>& last, std::vector<GangView>& views) const;
  bool Count(std::optional<GangId>& last, Counts& counts) const;
  std::optional<GangView> FindGang(const cluster::ObjectKey& key) const;
  std::shared_ptr<const cluster::Snapshot> TakeSnapshot() { return state_.TakeSnapshot(); }
  void ShowHolders(cluster::NodeIndex index, NodeView& view) const;
  const Options& options() const { return options_; }
  std::vector<std::string> Audit(cluster::Time now) const;
  std::string Dump() const;

 private:
  static constexpr int64_t kSlice = 256;  // CostOf what is looked at under one lock

  struct PlacedMember {
    Gang* gang = nullptr;
    Member* member = nullptr;
  };

  // facts.cpp
  void ApplyNamespace(const cluster::Namespace& ns);
  void BudgetsChanged();
  void ApplyJob(const cluster::BatchJob& job);
  void ApplySilence(const Silence& silence);
  void ApplyUnfenced(const Unfenced& unfenced);
  void LetGo(const cluster::PodUid& uid);
  void ApplyNode(const cluster::Node& node);
  void ApplyNodeRemoved(const cluster::NodeUid& uid);
  void ApplyPod(cluster::Pod pod);
  void ApplyLast(const cluster::PodUid& uid);
  void ForgetPod(const cluster::PodUid& uid);
  void ApplyPodGroup(const cluster::PodGroup& group, cluster::Time now);
  void RemovePod(const cluster::PodUid& uid, bool unseen);
  void NoteEnd(const cluster::PodUid& uid, bool unseen);
  GangId ForgetPodGroup(const cluster::PodGroupUid& uid);
  void ForgetUnjudged(const GangId& id);
  bool Gone(const Gang& gang) const;
  void Restart(Gang& gang, cluster::Time now);
  bool Claimed(const cluster::Pod& pod) const;
  bool Managed(const cluster::Pod& pod) const;
  GangId GangOf(const cluster::Pod& pod) const;
  void Join(const cluster::Pod& pod);
  bool MayLeave(const Member& member);
  void Leave(const cluster::PodUid& uid);
  void RememberBindings(cluster::NodeIndex node);
  void RestoreBindings(const std::string& node);
  void Abandon(const cluster::Pod& pod);
  void AddOutsider(const cluster::Pod& pod);
  void RemoveOutsider(const cluster::ObjectKey& group, const cluster::PodUid& pod);
  void Touch(Gang& gang);
  void TouchReservations(cluster::NodeIndex node);
  void TouchUnsound(cluster::NodeIndex node);  // the same if more is held there than there is
  void NoteStart(const cluster::Pod& pod);     // left_out.cpp
  void SettleLeftOut(cluster::Time now);       // left_out.cpp

  // settle.cpp, judge.cpp
  int64_t SettleGang(const GangId& id, cluster::Time now);
  int64_t SweepOn();
  void Judge(Gang& gang, cluster::Time now);
  void Recount(Gang& gang);
  void Remember(Gang& gang, const cluster::PodGroup* group, cluster::Time now);
  void SettleMember(Member& member, const cluster::Pod& pod);
  Reason Defect(const Gang& gang) const;
  Reason NamespaceBar(const std::string& ns) const;
  Reason HeldBack(const Gang& gang) const;  // for a pod that is not fenced
  bool PlanHolds(const Gang& gang) const;
  void JudgeStarted(Gang& gang, cluster::Time now);
  void JudgeOrphan(Gang& gang, cluster::Time now);
  void JudgePartial(Gang& gang, cluster::Time now);
  void JudgeUnbound(Gang& gang, cluster::Time now);
  void JudgeReserved(Gang& gang, cluster::Time now);
  void Repair(Gang& gang, cluster::Time now);
  Reason ExpireMembers(Gang& gang, cluster::Time now);
  static void StopRepair(Gang& gang);
  void ExpireStays(Gang& gang, cluster::Time now);
  void ExpireHeld(Gang& gang, cluster::Time now);
  void GiveBack(Gang& gang, const std::string& why);
  void Drop(Gang& gang, const std::string& why, cluster::Time now);
  void DropMember(Gang& gang, Member& member, const std::string& why);
  cluster::Duration BackoffAfter(int64_t failures) const;
  void Fail(Gang& gang, Reason setback, cluster::Time now);
  void Expire(Gang& gang, int64_t arrived, cluster::Time now);
  void SetState(Gang& gang, GangState state, Reason reason);
  void FollowUp(Gang& gang, cluster::Time now);
  void SetPending(Gang& gang, bool pending);
  void SetTimer(Gang& gang, cluster::Time now);

  // preemption.cpp
  bool MayPreempt(const Gang& gang) const;
  static Reason PreemptedBy(const Gang& gang);
  bool Preempts(const Gang& gang) const;
  KnownCandidates CandidatesFor(const Gang& gang);
  std::vector<policy::Candidate> CandidatesBelow(int64_t priority, bool leaving_only) const;
  bool MinimumKnown(const Gang& gang) const;
  bool MayGo(const std::set<cluster::PodUid>& victims, const GangId& preemptor,
             int64_t priority) const;
  bool StillWanted(const Gang& gang) const;
  enum class Earmarked { kDone, kStale, kRefused };
  Earmarked Earmark(Gang& gang, const PlanJob& job, const PlanResult& result, cluster::Time now);
  void JudgePreempting(Gang& gang, cluster::Time now);
  void AskEvictions(Gang& gang, cluster::Time now);
  void SpareVictims(Gang& gang);
  void RefuseEviction(Member& victim, const Outcome& outcome, cluster::Time now);
  void NoteHolding(Gang& gang);
  void LoseVictim(Member& victim);
  void NoteEvicted(const GangId& preemptor);
  void TouchPreemptor(const Member& victim);

  // cycle.cpp
  std::optional<KindKey> KindOf(const Gang& gang, const PlanJob& job) const;
  void Wait(Gang& gang, const std::optional<KindKey>& kind, GangState state, Reason reason);
  std::optional<PlanJob> MakeJob(Gang& gang, cluster::Time now);
  void ChooseDemands(const Gang& gang, cluster::Time now, PlanJob& job) const;
  policy::Demand DemandOf(const Member& member, cluster::Time now) const;
  void Refuse(Gang& gang, const PlanJob& job, const PlanResult& result);
  void Adopt(Gang& gang, const PlanResult& result, cluster::Time now);
  cluster::Duration ReservationTimeout(const Gang& gang) const;

  // handover.cpp
  void HandOver(Gang& gang, cluster::Time now);
  void HandOverMember(Gang& gang, Member& member, const cluster::Pod& pod);
  void HandOverRecord(const Gang& gang, Member& member, const cluster::Pod& pod);
  bool Pins(const cluster::Pod& pod) const;
  void AskNomination(Member& member, const std::string& node, bool hands_over);
  void Done(Member& member, Doing doing);
  void Failed(Gang& gang, Member& member, Doing doing, const Outcome& outcome, cluster::Time now);
  void WarnOfEvictions(const Gang& gang);
  PodRef RefOf(const Member& member) const { return {member.key, member.uid}; }
  bool Speaks(const Gang& gang) const;
  std::optional<cluster::Time> PublishAt(const Gang& gang) const;
  void Publish(Gang& gang, cluster::Time now);
  void Tell(const Gang& gang, bool warning, std::string reason, std::string message);

  // extender.cpp
  void LearnFromFilter(const cluster::Pod& pod, cluster::Time now);
  bool Replan(Gang& gang, Member& member, const std::vector<std::string>& nodes, cluster::Time now);
  bool TryMove(Gang& gang, const std::vector<Member*>& moving, const Member& restricted,
               const std::vector<std::string>& nodes, cluster::Time now);
  void SetPlan(Member& member, cluster::Placement placement, bool required);

  // view.cpp, audit.cpp
  GangView View(const Gang& gang) const;
  void AuditNodes(std::vector<std::string>& broken) const;
  void AuditMember(const Gang& gang, const Member& member, std::vector<std::string>& broken) const;
  void AuditVictims(const Gang& gang, std::vector<std::string>& broken) const;
  void AuditGang(const Gang& gang, cluster::Time now, std::vector<std::string>& broken) const;

  PlacedMember Find(const cluster::PodUid& uid);

  Options options_;
  cluster::ClusterState state_;
  SpecTable specs_;
  JobTable jobs_;
  policy::Placer replanner_;  // for Filter calls that need a new plan at once

  std::map<GangId, Gang> gangs_;
  std::unordered_map<cluster::PodUid, Gang*> gang_of_;  // of every member
  std::unordered_map<cluster::PodGroupUid, cluster::ObjectKey> group_keys_;
  std::set<cluster::PodUid> seen_in_filter_;  // live ones of other schedulerNames
  std::set<cluster::PodUid> rehome_;          // join or leave a gang once their binding is known
  std::map<cluster::PodUid, cluster::Time> unconfirmed_;  // only a Filter call has shown them
  std::map<cluster::ObjectKey, std::set<cluster::PodUid>> outsiders_;  // no members, by PodGroup
  std::set<cluster::PodUid> rootless_;           // being bound to nodes that are gone
  WorkQueue work_;                               // to be looked at
  PendingQueue queue_;                           // to be planned
  std::map<int32_t, std::set<GangId>> holding_;  // gangs with bound members, by Gang::held_priority
  bool any_staying_ = false;                     // a member may have stays_until
  KnownCandidates candidates_;                   // what CandidatesFor gave last
  NodeHealth health_;
  EverFits ever_fits_;  // what does not fit the cluster however empty it becomes

  WriteTracker writes_;
  uint64_t next_version_ = 1;
  UnfencedPods unfenced_;
  std::string silent_;           // not empty: nothing new is planned, see Silence
  cluster::Time last_call_{-1};  // kube-scheduler's last Filter or held Bind
  Progress progress_;
};

}  // namespace muster::engine
