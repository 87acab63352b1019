// ShapeBook: the nodes that are kept for queues which are guaranteed whole nodes (internal to
// engine/; R14). Guarded by Scheduler.
//
// 1. A queue can have a node if every GPU there is free, or held by gangs of the queue or of queues
//    below it, or by gangs that R5 lets it evict: CoveredGangs says which gangs have borrowed.
// 2. It is promised as many of those nodes as it is guaranteed, or all of them if there are fewer.
//    What queues below it are guaranteed of the same model is part of that. A node is promised to
//    one claim, as long as the queue can have it; then the claim gets another node.
// 3. Its answers are those of the last Follow, which looks at what has changed: nodes and holders
//    of the cluster, and the gangs that Note named.
// 4. Another policy begins anew.
//
// A restart forgets all of it: other nodes may be promised afterwards. Which gangs of a queue have
// borrowed follows from when they began to run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/records/gang_id.hpp"
#include "engine/standing/covered_gangs.hpp"
#include "engine/standing/node_promises.hpp"
#include "engine/standing/queue_book.hpp"

namespace muster::engine {

class Membership;

class ShapeBook {
 public:
  struct Claim {
    queues::QueueIndex queue;
    queues::Shape shape;          // what the queue says
    std::optional<size_t> model;  // in Tree::resources(); nothing: any
    int64_t nodes = 0;            // beyond those of queues below it
  };
  // All three must outlive it.
  ShapeBook(cluster::ClusterState& cluster, const Membership& members, const QueueBook& queues)
      : cluster_(cluster), members_(members), queues_(queues) {}

  // The policy has shapes.
  bool any() const { return queues_.tree().shaped(); }
  // The gang may have changed in a way that the cluster does not show: in its queue, its members or
  // its earmarks, or in whether it is preemptible.
  void Note(const cluster::GangId& gang) { noted_.insert(gang); }
  // Needs a QueueBook that has followed the cluster. Costs O(nodes / 64) and what changed; O(nodes)
  // where a promise is made.
  void Follow();

  const std::vector<Claim>& claims() const { return claims_; }
  const std::set<cluster::NodeIndex>& promised(size_t claim) const { return promises_.of(claim); }
  // 0: only the claim's queue uses the node. 1: nobody does. 2: others do, and it may preempt them.
  int KindOf(size_t claim, cluster::NodeIndex node) const {
    return SuitsOf(claim, node).value_or(NodeSuits{2, 0, {}}).kind;
  }
  // The claims of other queues that could not evict the gang once it holds `more`; `stays`: no
  // queue can, whatever its own queue uses.
  std::vector<size_t> Against(const cluster::GangId& gang, queues::QueueIndex leaf,
                              int64_t priority, bool stays, const queues::Vector& more,
                              bool any_model) const;
  // The claims of the queues of the leaf's path; and those of all others.
  std::vector<size_t> OwnOf(queues::QueueIndex leaf) const { return ClaimsBeside(leaf, true); }
  std::vector<size_t> OthersOf(queues::QueueIndex leaf) const { return ClaimsBeside(leaf, false); }
  cluster::NodeSet NodesOf(const std::vector<size_t>& claims) const;
  // Without these nodes those claims, and all others, would have as many as they have now.
  bool HoldWithout(const std::vector<size_t>& claims, const cluster::NodeSet& taken) const;

  // Queues whose gangs were kept off promised nodes. That may end although nothing became free.
  void TurnedAway(const std::string& queue) { turned_away_.insert(queue); }
  std::set<std::string> TakeTurnedAway() { return std::exchange(turned_away_, {}); }
  // Until something changes, no other nodes can be promised in place of those that the gang would
  // take.
  void NoExchange(const cluster::GangId& gang);
  bool MayExchange(const cluster::GangId& gang) const {
    return no_exchange_at_ != cluster_.generation() || !no_exchange_.contains(gang);
  }

  // If it has followed the cluster: what does not follow from the cluster. Empty: all does.
  std::vector<std::string> Audit() const;

 private:
  // By gang what it holds of one node, or of all.
  using Held = std::map<cluster::GangId, queues::Vector>;
  struct NodeUse {
    bool whole = false;           // all of it can be used
    std::optional<size_t> model;  // of all of its GPUs
    Held held;
    int64_t others_milli = 0;  // held by pods that are of no gang
    bool operator==(const NodeUse&) const = default;
  };
  struct GangUse {
    queues::Vector held;
    std::set<cluster::NodeIndex> nodes;
  };
  std::vector<std::string> AuditOfNow() const;
  void Begin();
  NodeUse Look(cluster::NodeIndex index) const;
  void Read(cluster::NodeIndex index);
  void ReadChanges();
  void Classify();
  bool DropLost();
  bool PreferOwn();
  bool FillUp();
  bool Lacks(size_t claim) const { return std::ssize(promises_.of(claim)) < claims_[claim].nodes; }
  void Moved(cluster::NodeIndex node);
  bool MayHaveEvicted(const Claim& claim, queues::QueueIndex leaf, int64_t depth) const;
  std::vector<size_t> ClaimsBeside(queues::QueueIndex leaf, bool own) const;
  bool IsOwn(const Claim& claim, queues::QueueIndex leaf) const;
  std::optional<NodeSuits> SuitsOf(size_t claim, cluster::NodeIndex node) const;

  cluster::ClusterState& cluster_;
  const Membership& members_;
  const QueueBook& queues_;
  uint64_t edition_ = 0;  // of the QueueBook
  std::vector<Claim> claims_;
  NodePromises promises_;
  CoveredGangs covered_;
  uint64_t generation_ = 0;  // of the cluster
  cluster::NodeTable nodes_;
  std::vector<cluster::FreeTable::Token> tokens_;  // by chunk
  std::vector<NodeUse> uses_;                      // by NodeIndex
  std::map<cluster::GangId, GangUse> gangs_;       // that hold GPUs
  std::set<cluster::GangId> noted_;
  std::set<cluster::GangId> to_classify_;
  std::set<cluster::NodeIndex> changed_;  // who could have them may have changed
  bool look_everywhere_ = false;          // another node than those may be promised now
  std::set<std::string> turned_away_;
  std::set<cluster::GangId> no_exchange_;
  uint64_t no_exchange_at_ = 0;
};

}  // namespace muster::engine
