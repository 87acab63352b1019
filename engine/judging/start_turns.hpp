// StartTurns: members of a plan that kube-scheduler must see one after the other (internal to
// engine/). It judges affinity to pods and topology spread by the pods that have their nodes by
// then: a plan that is right as a whole is turned down where the wrong member comes first. So of
// such members one is brought to it at a time, one whose node is open to it by those that have
// reached Bind. All others may come as they like. Pure.
//
// Of the pods that are nominated and have not come it counts, for topology spread, those of the
// node that it looks at and no others, also pods that still have a gate. So a member that is to be
// spread is nominated when its turn has come, and none has its turn where such a pod would be in
// its way.
#pragma once

#include <set>

#include "engine/gangs/comes_in_turn.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

class StartTurns {
 public:
  StartTurns(StandingState& state, const Gang& gang, cluster::Time now);
  bool Has(const Member& member) const { return !waiting_.contains(member.uid); }

 private:
  std::set<cluster::PodUid> waiting_;
};

}  // namespace muster::engine
