// QueueBook: the policy's queues, what each uses, and which is next (internal to engine/).
// Guarded by Scheduler.
//
// 1. There is a queue always: without any in the policy, queues::OneQueue.
// 2. What it says of usage and capacity is of the last Follow.
// 3. A pod is charged to the queue of its gang (Pod::queue, set while the gang is settled), or to
//    queues::kOrphan; one that is of no gang of Muster's to none.
// 4. Another policy begins a new book. Of the old one is kept what its queues have used, by name.
// 5. A queue of a namespace is there as long as a gang has entered it or pods are charged to it;
//    the next Follow sees that it is not.
//
// After a restart usage follows from the pods. What was used before comes as a fact (UsageRecord);
// without one, a queue begins as if it had always used what it uses then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/records/gang_id.hpp"
#include "queues/ledger.hpp"
#include "queues/tournament.hpp"
#include "queues/usage_memory.hpp"

namespace muster::engine {

class QueueBook {
 public:
  // `queues`: without fault, not empty.
  explicit QueueBook(const std::vector<queues::QueueSpec>& queues) { Reload(queues); }

  void Reload(const std::vector<queues::QueueSpec>& queues);

  const queues::Tree& tree() const { return book_->ledger.tree(); }
  const queues::Ledger& ledger() const { return book_->ledger; }
  // The ledger as if nobody used anything.
  const queues::Ledger& idle() const { return book_->idle; }
  queues::Tournament& tournament() { return book_->tournament; }
  queues::QueueIndex IndexOf(const std::string& queue) const {
    const std::optional<queues::QueueIndex> index = tree().Find(queue);
    return index && tree().at(*index).leaf() ? *index : tree().orphan();
  }
  // The queue of the policy that it is, or is below.
  queues::QueueIndex WrittenOf(const std::string& queue) const {
    return tree().WrittenOf(IndexOf(queue));
  }
  // The gang is in a queue that gangs can name, and in no other; the result is the leaf: that
  // queue, or where that is fair by namespace the one of the gang's namespace.
  const std::string& Enter(const cluster::GangId& gang, const std::string& queue);
  void Leave(const cluster::GangId& gang);
  // Changes with every Reload.
  uint64_t edition() const { return edition_; }

  // Brings usage and capacity up to date: costs O(queues + nodes / 64) after a change, and what the
  // nodes have that changed.
  void Follow(cluster::ClusterState& cluster);
  // What the queues use counts from now on for their half-lives, and what has decayed since the
  // last time counts for less, once a minute. True: now gangs may have others evicted that they
  // could not before. Costs O(depth) per leaf that changed, and O(queues) once a minute.
  bool Remember(cluster::ClusterState& cluster, cluster::Time now);
  // When Remember can say so next.
  cluster::Time due() const;
  // What the queues have used; nothing: no queue has a half-life.
  std::optional<queues::UsageRecord> UsedSoFar() const;
  // What they had used before this process began. Without half-lives, or if it is at fault
  // (CheckUsage), nothing changes.
  void AdoptUsage(const queues::UsageRecord& record, cluster::Time now);
  // Nodes that have a device of that model (a position in Tree::resources()).
  const cluster::NodeSet& NodesOf(size_t model) const { return book_->nodes_of[model]; }

  // Where it is as the cluster is: what does not follow from what pods hold; empty: all does.
  std::vector<std::string> Audit(const cluster::ClusterState& cluster) const;

 private:
  struct Book {
    explicit Book(std::shared_ptr<const queues::Tree> tree)
        : ledger(tree), idle(std::move(tree)), tournament(ledger) {}
    queues::Ledger ledger;
    queues::Ledger idle;
    queues::Tournament tournament;
    uint64_t generation = 0;   // of the cluster, then
    cluster::NodeTable nodes;  // of which `capacity` is
    queues::Vector capacity;   // by resource
    // As ClusterState::usage() had it; of that, what is not preemptible.
    std::map<std::string, cluster::Usage> seen;
    std::map<std::string, cluster::Usage> seen_non_preemptible;
    std::map<queues::QueueIndex, queues::Vector> charged;
    queues::Vector foreign;
    std::vector<cluster::NodeSet> nodes_of;  // by resource; of models
    // Of the queues of namespaces: who has entered them, how many, and which may be empty.
    std::map<cluster::GangId, queues::QueueIndex> entered;
    std::map<queues::QueueIndex, int64_t> gangs;
    std::set<queues::QueueIndex> left;
    // For the memory: which leaves use something else than it knows (nothing: all), and in which
    // minute what counts of it was taken.
    std::optional<std::set<queues::QueueIndex>> changed;
    std::optional<int64_t> minute;
    bool shares_may_change = false;  // a queue with a half-life reclaims by fair share
  };
  void Adopt(std::shared_ptr<const queues::Tree> tree);
  void DropEmpty();
  void NoteUse(cluster::Time now);
  void Charge(const std::string& queue, const cluster::Usage& before, const cluster::Usage& now);
  void Charge(queues::QueueIndex leaf, const cluster::Usage& before, const cluster::Usage& now);
  void ChargeGuarantee(queues::QueueIndex leaf, const cluster::Usage& before,
                       const cluster::Usage& now);
  void CountCapacity(const cluster::NodeTable& nodes);
  void CountNode(cluster::NodeIndex index, const cluster::Node& node, int sign);

  std::unique_ptr<Book> book_;  // never null
  queues::UsageMemory memory_;
  uint64_t edition_ = 0;
};

}  // namespace muster::engine
