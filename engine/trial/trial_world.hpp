// TrialWorld: an engine beside an API server and a kube-scheduler of which everything succeeds at
// once (internal to engine/). What of a cluster could be, played through; see
// engine/trial/what_if.hpp. Used by one thread.
//
//   1. An evicted pod is gone at once, and nobody makes it again.
//   2. Time passes only by Pass, from one moment at which something follows to the next.
//   3. A gang ends only by End.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/explain/what_if_view.hpp"
#include "engine/scheduler.hpp"

namespace muster::engine {

class TrialWorld {
 public:
  TrialWorld(const Options& options, const Rules& rules, cluster::Time now);

  void Tell(const Fact& fact);
  // One cycle of the engine, and what it asks for. False: nothing follows at this time.
  bool Cycle();
  void Pass(cluster::Time to) { now_ = std::max(now_, to); }
  // Pods of the gang that hold something have ended well.
  void End(const GangId& gang);

  cluster::Time now() const { return now_; }
  const Scheduler& scheduler() const { return scheduler_; }
  // Gangs that have their minimum since the last call, in the order in which they were bound.
  std::vector<GangView> TakeStarts() { return std::exchange(starts_, {}); }
  // Since the last call, in order.
  std::vector<WhatIfEviction> TakeEvictions() { return std::exchange(evictions_, {}); }

 private:
  void NoteStarts();
  void NoteBinding(const GangId& gang);
  void NoteEviction(const EvictPod& act);

  template <typename Act>
  void Do(const Act& act) {
    if constexpr (requires { act.id; }) Done(act.id);
  }
  void Do(const Nominate& act);
  void Do(const RemoveGate& act);
  void Do(const BindPod& act);
  void Do(const EvictPod& act);
  void Done(ActionId id) { scheduler_.Report({id, OutcomeKind::kDone, ""}, now_); }
  template <typename Edit>
  void Change(const cluster::PodUid& uid, Edit edit);
  void CallBind(const cluster::PodUid& uid);

  cluster::Time now_;
  Scheduler scheduler_;
  std::unordered_map<cluster::PodUid, cluster::Pod> pods_;
  std::set<cluster::PodUid> refused_;  // Bind calls
  std::vector<GangId> binding_;        // do not run yet
  std::vector<GangView> starts_;
  std::vector<WhatIfEviction> evictions_;
  uint64_t tickets_ = 0;
};

}  // namespace muster::engine
