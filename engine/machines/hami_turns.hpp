// HamiTurns: where HAMi's device plugin hands out the GPUs, the pods of a node are bound one after
// the other (internal to engine/). Owned and guarded by Scheduler.
//
// The plugin is not told whom it serves (cluster/records/hami_devices.hpp). Two pods of one node
// that start at the same time could get each other's devices.
//
// 1. A pod that the plugin is to serve is bound only when nobody else has the node's turn: no pod
//    there has a Pod::hami_turn, no other pod for the plugin is being bound there, and HAMi's
//    scheduler has not locked the node.
// 2. Of those that could be bound now the one goes first whose gang was planned first; then the
//    gangs' ids, the ranks and the UIDs decide.
// 3. No turn ends because of the time that it takes. A kubelet that works admits a pod within
//    moments; one that does not would serve the next pod as little, and both at once when it works
//    again. Who waits gives up instead: its times (GangJudge) begin anew when a turn passes that a
//    member waited for, and not when it begins to wait.
//
// A restart forgets that turns have passed. Whose the turn is shows in the pods and the node.
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
  std::string blocker;  // tells it from others of that node
  std::string why;      // for people
};

// Of the members of a gang that wait for their turns, or have waited and are not bound yet.
struct TurnsAwaited {
  cluster::Time since;  // a turn passed last that one of them waited for; 0: none has
  std::string why;      // the first of them waits; empty: none waits any more
};

class HamiTurns {
 public:
  HamiTurns(const cluster::ClusterState& cluster, const Membership& members)
      : cluster_(cluster), members_(members) {}

  // Nothing: the member has no turn to wait for. Else it has a plan, a Bind call came for that, and
  // its gang's barrier is open.
  std::optional<HamiWait> WaitOf(const Gang& gang, const Member& member, cluster::Time now) const;
  bool Waits(const Gang& gang, cluster::Time now) const;
  // Keeps in mind for whom each member waits. Nothing: none waits, or has.
  std::optional<TurnsAwaited> Follow(const Gang& gang, cluster::Time now);
  void ForgetPod(const cluster::PodUid& pod) { waiting_.erase(pod); }
  // What does not hold of what stands below; empty: all holds.
  std::vector<std::string> Audit() const;

 private:
  struct Waiting {
    std::string node;
    std::string blocker;   // HamiWait::blocker; empty: the turn is its own
    cluster::Time passed;  // when the blocker was another one last; 0: it never was
  };
  // It could be bound, and that would be a turn.
  bool TakesTurn(const Gang& gang, const Member& member) const;
  bool AsksPlugin(const Member& member) const;
  std::optional<HamiWait> HolderOn(const cluster::Node& node, const Member& member) const;

  const cluster::ClusterState& cluster_;
  const Membership& members_;
  std::map<cluster::PodUid, Waiting> waiting_;  // members that wait, or have and are not bound yet
};

}  // namespace muster::engine
