// NodeGains: which pods leave a node so that pods of a gang find room there (internal to policy/).
//
// 1. Pods leave in steps; a step makes room for at least one pod more.
// 2. Where it matters which devices become free (devices named, shares, dead devices, sets that the
//    kubelet turns away) nobody of a step could stay, and it is looked for in several orders: as
//    the choices come; those first that share a device with the fewest others; of each NUMA node
//    those on it first. The step is taken in which the fewest GPUs leave for each pod that finds
//    room. That is no smallest set, which would be one of exponentially many.
// 3. The answer is the steps up to where the fewest GPUs leave for each pod.
//
// Pure: the same answer for the same input. Costs one look at the node for each choice; by rule 2
// two for each choice, order and step.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cluster/holdings/transaction.hpp"
#include "policy/placing/placement.hpp"

namespace muster::policy {

// Pods that are alike: Candidate::alike.
using AlikePool = std::vector<cluster::Placement>;

// A pod that may go in place of a candidate.
struct Choice {
  const AlikePool* pool = nullptr;
  const cluster::Placement* held = nullptr;
  size_t own = SIZE_MAX;  // the candidate that it is; SIZE_MAX: it goes in place of one
};

// What leaves a node, and for how many pods that makes room.
struct NodeGain {
  cluster::NodeIndex node;
  bool first = false;
  std::vector<Choice> leave = {};
  int64_t gpu_milli = 0;
  int64_t pods = 0;
  int64_t exchanged = 0;
  size_t cheapest = SIZE_MAX;

  // All but `pods`.
  void Add(const Choice& choice);
  // Negative: fewer GPUs leave for each pod than of the other one; 0: as many.
  int64_t DearerBy(const NodeGain& other) const;
  bool operator<(const NodeGain& other) const;
};

// Of one search, on one thread.
class NodeGains {
 public:
  using Counts = std::map<const AlikePool*, size_t>;

  // Room for at most so many of such pods, beside those that are in `tx`.
  NodeGains(Placer& placer, cluster::Transaction& tx, const Demand& demand, int64_t most,
            const GangTerms& terms)
      : placer_(placer), tx_(tx), demand_(demand), most_(most), terms_(terms) {}

  // `choices`: on that node, the cheapest first. `may_go`: how many of each pool.
  NodeGain On(cluster::NodeIndex node, std::vector<Choice> choices, Counts may_go);

 private:
  using Order = std::vector<Choice>;

  int64_t Room(cluster::NodeIndex node) const {
    return placer_.PodsOn(tx_, demand_, node, most_, NodeFilter::kSchedulable, terms_);
  }
  bool ServeAlike(cluster::NodeIndex node, const Order& choices) const;
  std::vector<Order> OrdersOf(cluster::NodeIndex node, const Order& choices) const;
  NodeGain Step(cluster::NodeIndex node, const Order& order, const Counts* may_go, int64_t room);
  NodeGain BestStep(cluster::NodeIndex node, const std::vector<Order>& orders, const Counts& may_go,
                    int64_t room);
  NodeGain Spare(const NodeGain& step, int64_t wanted);

  Placer& placer_;
  cluster::Transaction& tx_;  // as it was after each call
  const Demand& demand_;
  const int64_t most_;
  const GangTerms& terms_;
};

}  // namespace muster::policy
