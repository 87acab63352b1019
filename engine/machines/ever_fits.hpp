// EverFits: which gangs can never start here, however long they wait (internal to engine/). A gang
// can when it fits a cluster that is whole (nodes ready and not cordoned, all GPUs healthy and in
// use) and on which only that runs which Muster may never move and which does not end by itself:
//
//   bound pods of a DaemonSet and mirror pods of static ones, by any scheduler
//   bound pods of another scheduler that tolerate every taint: they are the node's own, a drain
//   leaves them where they are
//
// Contract:
// 1. TouchRecord is called whenever the record of a node came, went or changed; TouchPods whenever
//    a PermanentlyBound pod came to, went from or changed on a node.
// 2. Follow works through what was touched, at most kSlice nodes a call; Behind while there is
//    more. It looks at touched nodes only, so a change costs what it changes.
// 3. Verdicts are forgotten when their basis has changed: at once for the record of a node, at
//    most once in kEvery for permanently bound pods. A DaemonSet that is rolled out over 5,000
//    nodes thus asks all gangs again some times, not 5,000 times. Follow then returns true, and
//    also where Room had to be refused before.
// 4. Room is null while Behind: then nobody can be asked.
// 5. Learn takes no verdict that was found on another basis than the present one.
// 6. A restart forgets it: every gang is asked again.
//
// Guarded by Scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/gangs/gang.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

class EverFits {
 public:
  static constexpr cluster::Duration kEvery = cluster::Seconds(10);
  static constexpr size_t kSlice = 512;
  // Interned specs' numbers are never given twice, so requests of jobs that ended never come again.
  static constexpr size_t kMostVerdicts = 4096;

  // `scheduler_names`: Muster's own, as Options has them.
  static bool PermanentlyBound(const cluster::Pod& pod,
                               const std::vector<std::string>& scheduler_names);

  // An invalid index (no such node) is passed over.
  void TouchRecord(cluster::NodeIndex node);
  void TouchPods(cluster::NodeIndex node);
  // All nodes: what is Muster's, or how it places pods, has changed.
  void TouchAll(const cluster::ClusterState& state);

  // True when gangs that wait are to be asked again.
  bool Follow(const cluster::ClusterState& state, const std::vector<std::string>& scheduler_names,
              cluster::Time now);
  bool Behind() const { return !touched_.empty(); }
  // When Follow will forget verdicts without further facts; Never when nothing changed.
  cluster::Time due() const;

  // The nodes of `now`, a snapshot of the state last followed, with only that on them which stays.
  std::shared_ptr<const cluster::Snapshot> Room(const cluster::Snapshot& now);
  // Changes whenever verdicts are forgotten.
  uint64_t basis() const { return basis_; }

  // Gangs that ask for this never fit; null: they do, or nobody has asked.
  const Reason* Never(const policy::RequestKey& request) const;
  bool Asked(const policy::RequestKey& request) const;
  // In which domain of the level that they require they would fit; empty: not known, or any.
  std::string FitsIn(const policy::RequestKey& request) const;
  struct Verdict {
    Reason why;           // kNone: they fit
    std::string fits_in;  // see FitsIn
  };
  // `basis` is that of the time when it was asked.
  void Learn(const policy::RequestKey& request, uint64_t basis, Verdict verdict);
  void Forget();

 private:
  // True when what is left there is not what it was.
  bool Recount(const cluster::ClusterState& state, const std::vector<std::string>& scheduler_names,
               cluster::NodeIndex node);

  cluster::FreeTable room_;  // by node index; where nodes are touched, as it was before
  // Nodes with devices that are not in use (left out, cordoned, unhealthy), as if they were.
  std::map<uint32_t, std::shared_ptr<const cluster::Node>> unmarked_;
  std::map<uint32_t, bool> touched_;  // by node index; true: the record
  bool refused_ = false;              // Room was asked for while Behind
  bool records_changed_ = false;      // since verdicts were forgotten: a node's record
  bool pods_changed_ = false;         // since then: what is left on a node
  std::map<policy::RequestKey, Verdict> verdicts_;  // found on `basis_`
  uint64_t basis_ = 1;
  cluster::Time forgotten_at_{INT64_MIN / 2};
};

}  // namespace muster::engine
