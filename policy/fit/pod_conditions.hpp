// PodConditions: what pods demand of the pods around them, as kube-scheduler's NodePorts,
// InterPodAffinity and PodTopologySpread judge it, and their volumes (volume_conditions.hpp), among
// the pods of a transaction (internal to policy/).
//
// 1. The members of a gang are seen together: each placed one counts for the next, in the order of
//    placing. A member that finds nobody yet may be the first of its affinity.
// 2. What holds when a member is placed may not hold any more when the last one is: kube-scheduler
//    does not ask either. The order of placing shows whether all can be started one by one.
// 3. Numbers follow the transaction: nothing has to be told when it is rolled back.
//
// The best nodes that a search remembers by shape and chunk do not know of it: what it bars is
// excluded for one member, beside what its demand excludes. Gangs without rules pay nothing.
//
// One thread, one PlaceGang call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cluster/holdings/pod_field.hpp"
#include "cluster/holdings/transaction.hpp"
#include "policy/fit/volume_conditions.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::policy {

class PodConditions {
 public:
  // In kube-scheduler's order of checks.
  enum class Bar {
    kNone,
    kPorts,
    kAttachLimit,
    kNoVolumeLeft,
    kNoSpreadLabel,
    kSpread,
    kOthersAntiAffinity,
    kAntiAffinity,
    kAffinity
  };

  // Null: no rule is about any of these pods. Tells the transaction who they are.
  static std::unique_ptr<PodConditions> Of(cluster::Transaction& tx,
                                           const std::vector<Demand>& demands);

  // What keeps the pod off the node as things stand in the transaction.
  Bar On(const Demand& demand, cluster::NodeIndex node);
  // `excluded` and the nodes that On bars; ordered.
  std::vector<cluster::NodeIndex> ClosedTo(const Demand& demand);
  // Rules see no difference between them: each may have the other's node.
  bool Alike(const Demand& a, const Demand& b);
  // The affinity of the one means the other.
  bool LooksFor(const Demand& demand, const Demand& other) const {
    return MeantByAll(demand.spec->rules.affinity, *other.face);
  }
  // Each of these pods, which the transaction has placed, could still come to its node if it were
  // the last one.
  bool Hold(const std::vector<Demand>& demands, const std::vector<cluster::Placement>& placements);

 private:
  using Counts = std::vector<int64_t>;  // by number of the key's value
  // The values of one label on nodes.
  struct Domains {
    std::vector<int32_t> of;  // by node; -1: it has no such label
    int32_t size = 0;
  };
  // Pods that a selector means, counted by domain.
  struct TermCount {
    const cluster::PodTerm* term;
    const Domains* domains;
    Counts counts;
    int64_t all = 0;
  };
  struct SpreadCount {
    const cluster::SpreadRule* rule;
    const Domains* domains;
    std::vector<bool> counted;  // by node: its pods and its domain count
    Counts counts;
    std::vector<int64_t> nodes;  // by domain: nodes that count
    int64_t least = -1;          // pods of the domain with the fewest; -1: to be counted again
  };
  // Of all pods with one spec and namespace.
  struct Kind {
    const cluster::PodSpec* spec;
    std::string ns;
    std::vector<TermCount> affinity;
    int64_t affine = 0;  // Σ pods that all terms mean, in domains of each
    std::vector<TermCount> anti_affinity;
    std::vector<SpreadCount> spread;
  };
  // Anti-affinity of pods that have their nodes; by domain, how many pods have it there.
  struct Guard {
    const Domains* domains;
    Counts counts;
  };
  struct Applied {
    uint64_t serial;
    const cluster::PodFace* face;
    cluster::NodeIndex node;
    int64_t sign;
  };
  using Faces = std::vector<const cluster::PodFace*>;

  explicit PodConditions(cluster::Transaction& tx);

  const Domains& DomainsOf(const std::string& key);
  bool Meant(const cluster::PodTerm& term, const cluster::PodFace& face) const;
  bool MeantByAll(const std::vector<cluster::PodTerm>& terms, const cluster::PodFace& face) const;
  Kind& KindOf(const cluster::PodFace& face);
  SpreadCount SpreadOf(const cluster::PodSpec& spec, const cluster::SpreadRule& rule);
  std::vector<TermCount> CountsOf(const std::vector<cluster::PodTerm>& terms);
  bool FindGuards(const std::vector<Demand>& demands);
  // Brings everything up to date with the transaction's deltas.
  void Follow();
  void Apply(const cluster::PodFace& face, cluster::NodeIndex node, int64_t sign);
  void CountIn(Kind& kind, const cluster::PodFace& face, cluster::NodeIndex node,
               int64_t sign) const;
  void CountGuards(const cluster::PodFace& face, cluster::NodeIndex node, int64_t sign);
  const cluster::PodFace* FaceOf(const cluster::PodUid& pod, cluster::NodeIndex node) const;
  Faces PodsOn(cluster::NodeIndex node) const;
  template <typename Visit>
  void EachPod(const Visit& visit) const;

  bool PortsFree(const cluster::PodFace& face, cluster::NodeIndex node) const;
  static void SettleSpread(Kind& kind);
  static Bar SpreadBar(const Kind& kind, const cluster::PodFace& face, cluster::NodeIndex node);
  bool GuardedOff(const cluster::PodFace& face, cluster::NodeIndex node);
  static bool Crowded(const Kind& kind, cluster::NodeIndex node);
  bool Together(const Kind& kind, const cluster::PodFace& face, cluster::NodeIndex node) const;
  Bar BarOn(const Kind& kind, const cluster::PodFace& face, cluster::NodeIndex node);

  cluster::Transaction& tx_;
  std::shared_ptr<const cluster::PodField> field_;  // null: nobody
  std::unordered_set<cluster::PodUid> asking_;      // the demands'; where they were is no matter
  VolumeConditions volumes_;
  std::map<std::string, Domains> domains_;  // by label
  std::map<std::pair<const cluster::PodSpec*, std::string>, Kind> kinds_;
  std::map<cluster::PodTerm, Guard> guards_;  // those that mean a demand
  std::unordered_map<cluster::PodUid, std::vector<const Guard*>> meant_by_;
  std::vector<Applied> applied_;               // deltas of the transaction that are counted
  std::map<cluster::NodeIndex, Faces> there_;  // of nodes that these are about
};

}  // namespace muster::policy
