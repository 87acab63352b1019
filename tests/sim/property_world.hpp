// A cluster in which anything may happen, one random operation after another, with every invariant
// checked after each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "property_owners.hpp"
#include "sim/api_server/random.hpp"
#include "sim/world/autoscaler.hpp"
#include "sim/world/cluster.hpp"
#include "tests/support/builders.hpp"

namespace muster::sim::testing {

// Pods of this scheduler are Muster's to plan, and no kube-scheduler ever asks about them.
inline constexpr const char* kNobody = "nobody";
inline constexpr const char* kOther = "other";  // Muster has no part in these

inline constexpr const char* kGangLabel = "gang";  // by which budgets select

inline engine::PodRef RefOf(const PodPtr& pod) { return {pod->pod.key, pod->pod.uid}; }

enum class Happening {
  kGang,        // a PodGroup and its pods appear, in some order, some late
  kSolo,        // a pod of its own
  kForeignPod,  // another scheduler's pod, bound to a node by it
  kJob,         // a Job whose pods are a gang
  kDeletePod,
  kRecreatePod,    // deleted and created under its name at once
  kDeleteGang,     // PodGroup, Job and pods
  kDeleteGroup,    // the PodGroup alone
  kRecreateGroup,  // deleted and created under its name at once, with another minMember
  kChangeMinimum,
  kAddNode,
  kDeleteNode,
  kRecreateNode,  // with another number of GPUs
  kNodeReady,     // not ready, or ready again
  kCordon,        // or uncordon
  kChangeGpus,    // fewer or more, or one unhealthy
  kWait,          // time passes
  kFilterAgain,   // the same questions several times over
  kBindAgain,     // a Bind call that kube-scheduler did not mean
  kOldNews,       // the engine hears an outdated record again
  kRestartMuster,
  kRestartScheduler,
  kFaults,       // writes start or stop failing
  kTurnDown,     // a node's kubelet admits nobody, or everybody again
  kCollect,      // a pod that runs succeeds, and its object goes
  kMixedGang,    // one of its pods is another scheduler's, which places it sooner or later
  kForeignGang,  // all of them are
  kDoomedGang,   // kube-scheduler never asks about one of them, and its patience is endless
  kOrder,        // an operator's
  kDieEarly,     // all pods of a gang for which others were evicted fail, and it comes back
  kMeanwhile,    // something happens while the next plan is made
  kResize,       // a pod that runs gets other CPU and memory in place
  kOwnedJob,     // a Job without a PodGroup: its pods are in the gang that it says, if any
  kOwnerReads,   // reads of such Jobs fail, are refused, or are served again
  kLie,          // somebody writes a record of a past that a gang did not have
  kBudget,       // a PodDisruptionBudget of a gang, of which Muster may hear late
};
inline constexpr int kHappenings = 36;

struct Operation {
  Happening what = Happening::kWait;
  // Chosen at random, understood as far as they fit what exists: a list of operations stays one
  // when some are left out.
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
};

std::vector<Operation> RandomOperations(uint64_t seed, size_t count);

class World {
 public:
  // The seed decides latencies, faults, sizes and strategies.
  // `tell` hears what is done, in words, just before it is done.
  World(uint64_t seed, std::function<void(const std::string&)> tell);

  // Carries out one operation, lets everything due happen, and checks. Empty when all is well.
  std::string Do(const Operation& operation);
  // Mends everything and lets it settle, then takes everything away: what can run must have run,
  // nothing must be left.
  std::string Finish();
  // The engine's state as text.
  std::string Dump() const { return cluster_->muster()->scheduler().Dump(); }

 private:
  PodRecord NewPod(const std::string& name, uint32_t kind);
  static void PutInGroup(PodRecord& pod, const std::string& group);
  void ChangeBudget(const Operation& operation);
  void TellBudgets();
  void LiftBudgets();
  static void AddConditions(muster::testing::PodBuilder& pod, uint32_t kind);
  void AddClaim(PodRecord& record, uint32_t kind) const;
  std::vector<engine::Fact> StorageFacts() const;
  void Store(OtherRecord record);
  void TellStorage();
  void CreateStorage();
  void CompleteStorage();
  void DeleteStorage();
  void DeleteConditional();
  void Meddle();
  cluster::TopologyTerms TermsOf(const Operation& operation, int64_t minimum) const;
  // News and writes take time, and writes may fail: what Muster knows may be old.
  bool Delayed() const { return options_.muster.watch.jitter.value() > 0; }
  void Tell(const std::string& text) {
    ++told_;
    tell_(text);
  }
  PodPtr PickPod(uint32_t pick) const;
  NodePtr PickNode(uint32_t pick) const;
  PodGroupPtr PickGroup(uint32_t pick) const;
  void Run(cluster::Duration duration);
  std::string Broken();

  void CreateGang(const Operation& operation);
  void CreateJob(const Operation& operation);
  void CreateOwnedJob(const Operation& operation);
  void ChangeOwnerReads(const Operation& operation);
  void Lie(const Operation& operation);
  // From here on the gang of that name, or of that Job, is not judged.
  void Doubt(const std::string& name) {
    doubted_.insert(name);
    changed_.insert(name);
  }
  bool Doubted(const std::string& gang) const {
    return doubted_.contains(gang.substr(0, gang.find('~')));
  }
  void CreateForeignPod(const Operation& operation);
  void CreateOddGang(const Operation& operation);
  void Collect(const Operation& operation);
  void Resize(const Operation& operation);
  PodRecord LongPod(const std::string& name, int32_t gpus, int32_t priority);
  void CreateClaim();
  void DieEarly(const Operation& operation);
  void FailGang(const engine::GangView& gang, const Operation& operation);
  std::string CheckRoom();
  std::string CheckUnread();
  void RestartMuster();
  std::string CheckPlans();
  std::string CheckDomains();
  std::string CheckSubgroups(const PodGroupPtr& group);
  // What runs there need not be beside its gang any more.
  void LoseNode(const std::string& name);
  void Remove(const Operation& operation);
  void ChangeGroup(const Operation& operation);
  void ChangeNodes(const Operation& operation);
  void TurnPodDown(const Operation& operation, const std::string& node);
  void ChangeGpus(const Operation& operation);
  std::string FilterAgain(const Operation& operation);
  void BindAgain(const Operation& operation);
  void Order(const Operation& operation);
  void RestartOrFail(const Operation& operation);
  void OldNews(const Operation& operation);
  std::string CheckRebuild();
  std::string CheckDecidedFacts();
  std::string CheckProgress();

  std::shared_ptr<OwnerReader> owners_;  // of the present process of Muster
  cluster::Time restarted_;              // it was, last
  Options options_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Autoscaler> autoscaler_;  // null: nothing answers ProvisioningRequests
  std::vector<PodPtr> old_pods_;            // outdated records
  int64_t made_ = 0;                        // objects made so far, for names
  struct Plans {
    int64_t seen = 0;   // GangView::plans, last
    int64_t spare = 0;  // that may be made by now
    cluster::Time at;
  };
  std::map<cluster::ObjectKey, Plans> plans_;
  std::set<std::string> torn_;         // gangs that lost a node
  cluster::Time reclaimed_;            // victims of an operator's order may be there until then
  std::set<std::string> changed_;      // gangs that lost a pod, or have another minimum
  std::set<std::string> doubted_;      // gangs, "job:NAME": somebody else wrote their past
  std::set<std::string> turned_down_;  // pods, by kube-scheduler
  std::set<cluster::PodUid> started_owned_;
  std::map<std::string, cluster::DisruptionBudget> budgets_;  // that Muster knows, by gang
  bool storage_ = false;                                      // there are claims and volumes
  std::vector<OtherRecord> stored_;                           // those
  std::optional<Operation> meddling_;                         // while the next plan is made
  int64_t told_ = 0;
  std::function<void(const std::string&)> tell_;
};

}  // namespace muster::sim::testing
