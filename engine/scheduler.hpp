// Scheduler: the one owner of all mutable state. Takes facts, outcomes, extender calls and the
// time; gives actions.
//
// The time is in milliseconds since 1970 and never goes back: what outlives the process (since when
// a gang runs, or lacks a member) is compared with the times that API objects tell.
//
// It does no I/O, never sleeps and reads no clock. The same calls in the same order give the same
// answers, byte for byte. Threads: every method may be called from any thread; Advance by one
// thread at a time. Advance plans outside the lock, on a Snapshot, so that calls are not held up by
// it; Filter plans again under it, because it has to answer.
//
//   Scheduler scheduler(options);
//   scheduler.Apply(fact, now);
//   Progress progress = scheduler.Advance(now);   // carry out progress.actions, Report outcomes
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/base/fair_mutex.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/actions.hpp"
#include "engine/contract/counts.hpp"
#include "engine/contract/extender_api.hpp"
#include "engine/contract/fabric_view.hpp"
#include "engine/contract/facts.hpp"
#include "engine/contract/gang_fabric.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/contract/node_view.hpp"
#include "engine/contract/options.hpp"
#include "engine/contract/orders.hpp"
#include "engine/contract/rules.hpp"
#include "engine/explain/least_changes.hpp"
#include "engine/explain/queue_view.hpp"

namespace muster::engine {

struct EngineState;
struct PlanJob;

class Scheduler {
 public:
  explicit Scheduler(const Options& options, Rules rules = {});
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void Apply(const Fact& fact, cluster::Time now);
  // No decision is made between them.
  void Apply(std::span<const Fact> facts, cluster::Time now);
  void Report(const Outcome& outcome, cluster::Time now);
  // What operators order. Consider changes nothing, and says what Carry would do.
  cluster::Result<OrderEffect> Consider(const Order& order, cluster::Time now) const;
  cluster::Result<OrderEffect> Carry(const Order& order, cluster::Time now);
  StandingOrders Orders() const;
  // What queues have used, to be told to who comes after; nothing: no queue has a half-life.
  std::optional<queues::UsageRecord> UsedSoFar() const;
  // New options hold from the next cycle on; reservations and running gangs stay.
  void SetOptions(Options options);

  // 1. Brings every touched gang's state up to date, and lets deadlines pass.  2. Plans pending
  // gangs in order, and commits what fits.  3. Returns all actions that follow. Calling it again at
  // once returns nothing. `meanwhile`, if there is one, is called between each plan and its commit,
  // outside the lock: what other threads may do then is done by tests so.
  Progress Advance(cluster::Time now, const std::function<void()>& meanwhile = {});
  // When Advance has work without further facts; Time::Never() when only a fact can bring some.
  cluster::Time NextWake() const;

  // The extender's verbs. Filter and Prioritize read the plan; asked again they answer the same.
  // Filter changes only this: a pod that was not known yet becomes a fact; the time of the call;
  // that a refused pod needs a wake-up; and a full list without the planned node has the gang
  // planned again, at once, without that node for that pod.
  FilterAnswer Filter(const NodesQuestion& question, cluster::Time now);
  PrioritizeAnswer Prioritize(const NodesQuestion& question) const;
  using BindReceipt = engine::BindReceipt;
  BindReceipt Bind(const BindCall& call, uint64_t ticket, cluster::Time now);

  // Each gang, node or count as it was at some moment of the call, not all at the same one: the
  // lock is given away in between.
  // Ordered by id. `ns`: those of that namespace; null: all.
  std::vector<GangView> Gangs(const std::string* ns = nullptr) const;
  std::vector<std::string> GangNamespaces() const;  // that have any, in order
  std::optional<GangView> FindGang(const cluster::ObjectKey& key) const;
  // The gang without a PodGroup whose owner has that name, if there is exactly one.
  std::optional<GangView> FindGangOfOwner(const cluster::ObjectKey& owner) const;
  // For a gang that does not exist: what else its name could have meant, "; did you mean …?";
  // empty: nothing. `elsewhere`: gangs of that name in other namespaces may be named.
  std::string HelpFor(const cluster::ObjectKey& unknown, bool elsewhere) const;
  // Nothing where the gang is unknown or has no pods.
  std::optional<GangFabric> FabricOf(const cluster::ObjectKey& key, cluster::Time now) const;
  std::vector<QueueView> Queues() const;                                // the root is among them
  std::optional<TurnView> TurnOf(const cluster::ObjectKey& key) const;  // where it waits in a queue
  // Why nobody makes way for a gang that waits for room, sentences for people; empty: it does not.
  std::vector<std::string> NobodyMakesWay(const cluster::ObjectKey& key, cluster::Time now) const;
  // Empty: it does not wait, or none was found.
  std::vector<LeastChange> ChangesFor(const cluster::ObjectKey& key, cluster::Time now) const;
  // Nothing: it holds nothing, or nobody knows.
  std::optional<KnownEnd> EndOf(const GangId& gang, cluster::Time now) const;
  std::vector<NodeView> Nodes() const;  // ordered by name
  // policy::LinksOf; null: there is no such node.
  std::shared_ptr<const topology::NodeTopology> LinksOf(const std::string& node) const;
  // `gpus`: see ViewFabric.
  FabricView Fabric(int64_t gpus) const;
  Counts Count() const;
  // What another engine has to be told to go on from here (engine/explain/decided_facts.hpp).
  std::vector<Fact> DecidedFacts() const;
  Options options() const;
  // Every broken invariant, one sentence each. For tests and the simulator.
  std::vector<std::string> Audit(cluster::Time now) const;
  // The whole state as text, in a fixed order; equal texts mean equal states.
  std::string Dump() const;

 private:
  // Both give the lock away every now and then, so that no call waits for all of their work.
  void SettleAll(cluster::Time now) MUSTER_EXCLUDES(mu_);
  std::optional<PlanJob> NextPlan(cluster::Time now) MUSTER_EXCLUDES(mu_);
  // What is kept for gangs; what was asked for is found outside the lock.
  void FollowRooms(cluster::Time now) MUSTER_EXCLUDES(mu_);
  bool BeginPass(cluster::Time now) MUSTER_EXCLUDES(mu_);
  // Events that say why gangs wait get what would be enough for them.
  void TellWhy(cluster::Time now) MUSTER_EXCLUDES(mu_);

  mutable cluster::FairMutex mu_;
  std::unique_ptr<EngineState> state_ MUSTER_GUARDED_BY(mu_);
  // For Filter calls that need a new plan at once.
  std::unique_ptr<policy::Placer> replanner_ MUSTER_GUARDED_BY(mu_);
  // Used by Advance only, outside the lock: planning may take long.
  std::unique_ptr<policy::Placer> placer_;
};

}  // namespace muster::engine
