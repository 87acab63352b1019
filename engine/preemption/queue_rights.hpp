// Queue rights: whether the policy's queues let a gang have others evicted that are at hand (R4,
// R5, R7; internal to engine/). Who could be is what engine/preemption/queue_candidates.hpp finds.
// Reads the engine's state, changes nothing of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cluster/base/ids.hpp"
#include "engine/gangs/gang.hpp"
#include "queues/rights.hpp"

namespace muster::engine {

struct StandingState;

// As the queues are used now, without what the gang has of its own plan; victims of others leave.
queues::Rights RightsOf(const StandingState& state, const Gang& gang);

// What Rights::SetRanks asks for; of gangs of which another scheduler bound pods only what leaves.
// Nothing is set where all are of the same priority.
void SetRanks(const StandingState& state, const Gang& claimant, queues::QueueIndex leaf,
              queues::Rights& rights);

// R7: the gang may have all of these evicted, as its queues are used now.
bool MayEvictByQueues(const StandingState& state, const Gang& gang,
                      const std::set<cluster::PodUid>& victims);

// R7 for one member of `of` alone, which leaves already: as if it did not leave.
bool MayEvictByQueues(const StandingState& state, const Gang& gang, const Gang& of,
                      const Member& member);

// By which right each gang of them goes.
struct RightOverGang {
  std::string words;          // for people
  bool over_budgets = false;  // also where PodDisruptionBudgets do not let it go
};
std::map<GangId, RightOverGang> RightsOver(const StandingState& state, const Gang& gang,
                                           const std::set<cluster::PodUid>& victims);
// Those of them that go also where budgets do not let them; none where Muster may delete no pods.
std::set<cluster::PodUid> OverBudgets(const StandingState& state, const Gang& gang,
                                      const std::set<cluster::PodUid>& victims, cluster::Time now);

// Whom a gang could have evicted that run, or once they had started. As the queues are used when it
// is made; of one thread.
class OnceStarted {
 public:
  OnceStarted(const StandingState& state, const Gang& claimant);
  bool MayEvict(const Gang& holder);

 private:
  const StandingState& state_;
  const Gang& claimant_;
  std::optional<queues::Rights> rights_;  // nothing: it may evict nobody
  std::set<queues::QueueIndex> ranked_;
};

// A cheap look before an expensive one, at a gang that waits: there may be somebody.
bool MayHaveCandidates(const StandingState& state, const Gang& gang);

// The gang's queue lets it evict somebody.
bool EvictsAny(const StandingState& state, const Gang& gang);

}  // namespace muster::engine
