// PlaceGang: finds nodes and GPUs for a whole gang at once, or says why it cannot be done.
//
// Pure functions of their arguments: no clock, no randomness, the same answer for the same input.
// Any thread.
//
// 1. All demands are placed in `tx` or, when the answer is not placed, `tx` is as it was before.
// 2. Every placed pod satisfies its constraints (labels, taints, schedulable node), its resources
// and its devices.
// 3. A pod with a `preferred` node gets that node if it fits there; excluded nodes are never used.
// 4. Ties are broken by node name order as given by NodeOrder, then by GPU index: the outcome does
// not depend on
//    addresses or on the order in which nodes were learnt.
// 5. When it does not fit, `shortage` names the first demand that failed and counts, over all
// nodes, why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/ids.hpp"
#include "cluster/pod.hpp"
#include "cluster/snapshot.hpp"
#include "cluster/transaction.hpp"

namespace muster::policy {

// How pods are laid out over nodes (and shares over devices).
//   kBinpack  fill the fullest node first, so that whole nodes stay free for gangs that need them
//   kSpread   use the emptiest node first, so that members disturb each other least
enum class Strategy { kBinpack, kSpread };

struct Options {
  Strategy strategy = Strategy::kBinpack;
};

// One pod to place. Demands with the same `spec` pointer (or equal specs) are interchangeable.
struct Demand {
  cluster::PodUid pod;
  std::shared_ptr<const cluster::PodSpec> spec;
  cluster::NodeIndex preferred;              // invalid: none
  std::vector<cluster::NodeIndex> excluded;  // ordered; usually empty
};

// Why nodes were turned down for one demand; the counts add up to the number of nodes.
struct Shortage {
  cluster::PodUid pod;        // the first pod that found no node
  int64_t placed_before = 0;  // demands that had found one in the same attempt
  int64_t nodes = 0;          // nodes looked at
  int64_t unschedulable = 0;  // cordoned or not ready
  int64_t constraints = 0;    // selector or affinity does not match
  int64_t taints = 0;
  int64_t excluded = 0;  // kube-scheduler turned the node down for this pod
  int64_t cpu = 0;       // too little free CPU
  int64_t memory = 0;
  int64_t pod_slots = 0;
  int64_t gpus = 0;            // too few free GPUs on the node, in total
  int64_t gpu_devices = 0;     // enough in total, but not as devices: fragmented
  int64_t free_gpu_milli = 0;  // Σ over nodes that pass all but GPUs, before any demand is placed
  int64_t need_gpu_milli = 0;  // Σ over all demands of the gang
};

struct PlaceAnswer {
  bool placed = false;
  std::vector<cluster::Placement> placements;  // in the order of the demands; empty unless placed
  Shortage shortage;                           // filled unless placed
};

// Whether cordoned and not-ready nodes count: a gang that would fit once they are back is not
// unsatisfiable.
enum class NodeFilter { kSchedulable, kAll };

class Placer {
 public:
  explicit Placer(Options options);
  ~Placer();
  Placer(Placer&&) noexcept;
  Placer& operator=(Placer&&) noexcept;

  // Remembers, between calls, which nodes satisfy which constraints (for as long as
  // Snapshot::layout() stays), so one Placer is used from one thread at a time. The answer never
  // depends on what is remembered.
  PlaceAnswer PlaceGang(cluster::Transaction& tx, const std::vector<Demand>& demands,
                        NodeFilter filter);

  const Options& options() const { return options_; }

 private:
  struct Memory;
  Options options_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace muster::policy
