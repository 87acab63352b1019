// Tournament: which of all queues with waiting gangs is next by R2. Owned by one thread.
//
// From the root down, among the children's candidates: (1) within its guarantee, (2) the smallest
// b, (3) priority, (4) age, (5) id (OrderKey). In a queue of order fifo without (2). Each inner
// queue keeps its children's candidates in order, so that a change costs O(depth · log children):
// only the queues on one path are judged again.
//
// 1. A head must stay as it is until it is taken back (SetHead with null) or another one is set.
// 2. After Ledger::Set of a leaf, Judge that leaf; after a change of capacity, JudgeAll; after
//    Ledger::Follow, Follow. A queue that goes has no head.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "queues/ledger.hpp"
#include "queues/order_key.hpp"
#include "queues/standing.hpp"

namespace muster::queues {

// What a queue's candidate is, as its siblings are compared with it.
struct Candidate {
  QueueIndex child;  // of the queue in which it is compared
  QueueIndex leaf;
  Standing standing;
  const OrderKey* gang = nullptr;
};

class Tournament {
 public:
  // `ledger` must outlive it.
  explicit Tournament(const Ledger& ledger);

  // The first gang of a leaf, and what it asks for. Null: nobody waits there.
  void SetHead(QueueIndex leaf, const OrderKey* gang, Vector asks);
  void Judge(QueueIndex leaf);
  void JudgeAll();
  void Follow();
  bool has_head(QueueIndex leaf) const { return heads_[leaf.value].gang != nullptr; }

  // The leaf whose head is first; nothing: nobody waits.
  std::optional<QueueIndex> Winner() const { return winners_[kRootIndex.value]; }
  // The candidates of the children of `queue`, in order.
  std::vector<Candidate> Candidates(QueueIndex queue) const;

 private:
  struct First {
    bool operator()(const Candidate& a, const Candidate& b) const;
  };
  using Entrants = std::set<Candidate, First>;
  struct Head {
    const OrderKey* gang = nullptr;
    Vector asks;
  };
  // Of one child, in its parent.
  void JudgeOne(QueueIndex child);

  const Ledger& ledger_;
  // By QueueIndex.
  std::vector<Head> heads_;  // of leaves
  std::vector<std::optional<QueueIndex>> winners_;
  std::vector<Entrants> candidates_;                        // of inner queues
  std::vector<std::optional<Entrants::iterator>> entries_;  // of a queue in its parent's
};

}  // namespace muster::queues
