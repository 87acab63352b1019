// PlaceGang: finds nodes and GPUs for a whole gang at once, or says why it cannot be done.
//
// Pure functions of their arguments: no clock, no randomness, the same answer for the same input.
//
// 1. All demands are placed in `tx` or, when the answer is not placed, `tx` is as it was before.
// 2. Every placed pod satisfies its constraints (labels, taints, schedulable node), its resources
//    and its devices.
// 3. Excluded nodes are never used. A pod with a `preferred` node gets it if it fits there; where
//    not all of the gang's preferences can be kept, hardest roles come first, and where the gang
//    then does not fit, it is placed as if there were none.
// 4. Ties are broken by node name, then by GPU index: the outcome does not depend on addresses or
//    on the order in which nodes were learnt.
// 5. A gang of equal pods without exclusions is placed whenever it fits. A mixed one may be refused
//    although it would fit in some way; more than one way is tried.
// 6. Where the gang wishes for domains, all demands are placed within one of them, the first in
//    which they fit; below it they are divided over as few domains as can be (layout.hpp).
// 7. With strategy binpack, and where the policy names a fabric, a gang that wishes for nothing is
//    kept together too, in the innermost level of the first tree that holds it. A pod with GPUs by
//    itself takes a node that is in use already, of equal ones one in the domain in use most; else
//    a node of such a domain (used_first.hpp).
// 8. Where it has a place in the fabric, members of a role get their nodes in the order of rank.
// 9. When it does not fit, `shortage` names the first demand that failed, in the order in which
//    demands are placed (hardest first), and counts, over all nodes, why; of several domains over
//    the nodes of the one in which most demands found a place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "cluster/holdings/transaction.hpp"
#include "cluster/records/pod.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/terms/node_filter.hpp"
#include "policy/terms/options.hpp"
#include "policy/terms/place_answer.hpp"
#include "topology/links/node_topology.hpp"

namespace muster::policy {

struct NodeChoice;

// How the node's GPUs are connected as far as placement knows, from the best source that fits the
// node; TopologySource::kFlat where there is none. Builds its tables anew: for people who ask.
std::shared_ptr<const topology::NodeTopology> LinksOf(const cluster::Node& node,
                                                      const Options& options);

class Placer {
 public:
  explicit Placer(Options options);
  ~Placer();
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;
  Placer(Placer&&) noexcept;
  Placer& operator=(Placer&&) noexcept;

  // Remembers, between calls, which nodes satisfy which constraints and which are best, as long as
  // they do not change; so one Placer is used from one thread at a time. The answer never depends
  // on what is remembered.
  PlaceAnswer PlaceGang(cluster::Transaction& tx, const std::vector<Demand>& demands,
                        NodeFilter filter, const GangTerms& terms = {});

  // What each domain of the fabric has for it, by topology::DomainId.
  std::vector<DomainRoom> RoomsFor(cluster::Transaction& tx, const std::vector<Demand>& demands,
                                   NodeFilter filter, const GangTerms& terms);
  // How many pods like this one fit on the node, at most `limit`, whatever is excluded.
  int64_t PodsOn(cluster::Transaction& tx, const Demand& demand, cluster::NodeIndex node,
                 int64_t limit, NodeFilter filter, const GangTerms& terms);
  // The devices of each NUMA node between which the kubelet of that node tells, by place in
  // Node::gpus; empty: it admits any set of them.
  std::vector<std::vector<size_t>> NumaNodesOf(const cluster::NodeTable& nodes,
                                               cluster::NodeIndex node);
  // What is kept of these nodes for lost members; null: nothing.
  std::shared_ptr<const cluster::NodeSet> KeptOf(const cluster::Snapshot& nodes, NodeFilter filter);
  // Their domains.
  const std::shared_ptr<const topology::Fabric>& FabricOf(const cluster::NodeTable& nodes);

  const Options& options() const { return options_; }

 private:
  struct Memory;
  struct Call;
  struct Alone;
  void Follow(const cluster::NodeTable& nodes, NodeFilter filter, const GangTerms& terms);
  WishedDomains DomainsFor(const Call& call, const Wish& wish);
  PlaceAnswer PlaceWithin(const Call& call, const Domain& domain);
  PlaceAnswer PlaceSubgroups(const Call& call, const Domain& domain, int64_t& budget);
  PlaceAnswer PlaceInDomains(const Call& call, const WishedDomains& wished);
  bool PlacedAlone(const Call& call, PlaceAnswer& answer);
  static cluster::NodeIndex LikeIn(const Alone& alone, const NodeChoice& best);
  bool PlacedInUse(const Alone& alone, const NodeChoice& best, PlaceAnswer& answer);

  Options options_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace muster::policy
