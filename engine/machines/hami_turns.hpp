// HamiTurns: where HAMi's device plugin hands out the GPUs, the pods of a node are bound one after
// the other (internal to engine/). Owned and guarded by Scheduler.
//
// The plugin does not know which pod it serves (cluster/records/hami_devices.hpp): two pods of one
// node that start at the same time could get each other's devices.
//
// 1. A pod that the plugin is to serve is bound only when the node's turn is free: no pod there has
//    a Pod::hami_turn, no other pod for the plugin is being bound there, and HAMi's scheduler has
//    not locked the node.
// 2. If several pods could be bound, the first is the one whose gang was planned first; then gang
//    ids, ranks and UIDs decide.
// 3. A turn does not end because it takes long. A kubelet that works admits a pod within moments.
//    One that does not work would not serve the next pod either, and when it works again it would
//    serve both at once. So the waiting gang gives up instead. Its deadlines (GangJudge) begin anew
//    each time a turn ends that one of its members waited for, not when a member begins to wait.
//
// A restart forgets which turns have ended. Who has the turn now shows in the pods and the node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

// Who or what has the turn that a member waits for.
struct HamiWait {
  std::string blocker;  // another text for each that has the turn
  std::string why;      // for people
};

// Of the members of a gang that wait for their turns, or have waited and are not bound yet.
struct TurnsAwaited {
  cluster::Time since;  // when a turn ended last that one of them waited for; 0: none has
  std::string why;      // why the first of them waits; empty: none waits any more
};

class HamiTurns {
 public:
  HamiTurns(const cluster::ClusterState& cluster, const Membership& members)
      : cluster_(cluster), members_(members) {}

  // Nothing: the member waits for no turn. One that waits has a plan and a Bind call for it, and
  // its gang's barrier is open.
  std::optional<HamiWait> WaitOf(const Gang& gang, const Member& member, cluster::Time now) const;
  bool Waits(const Gang& gang, cluster::Time now) const;
  // Remembers for whom each member waits. Nothing: none waits, or has waited.
  std::optional<TurnsAwaited> Follow(const Gang& gang, cluster::Time now);
  void ForgetPod(const cluster::PodUid& pod) { waiting_.erase(pod); }
  // Broken invariants of the members below; empty: none.
  std::vector<std::string> Audit() const;

 private:
  struct Waiting {
    std::string node;
    std::string blocker;   // HamiWait::blocker; empty: the turn is its own
    cluster::Time passed;  // when the blocker changed last; 0: never
  };
  // It could be bound now, and would have the turn.
  bool TakesTurn(const Gang& gang, const Member& member) const;
  bool AsksPlugin(const Member& member) const;
  std::optional<HamiWait> HolderOn(const cluster::Node& node, const Member& member) const;

  const cluster::ClusterState& cluster_;
  const Membership& members_;
  std::map<cluster::PodUid, Waiting> waiting_;  // members that wait, or have and are not bound yet
};

}  // namespace muster::engine
