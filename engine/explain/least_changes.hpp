// LeastChanges: what would let a gang start that waits, for people: a few changes, each of which
// would do by itself. Whether anybody is entitled to make them does not matter here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/reasons/room_changes.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/victims/preemption.hpp"

namespace muster::engine {

struct ClaimState;

// kMembers   so many more pods of it are created
// kHold      its queue is resumed
// kQueue     its queue uses less, or may use more
// kFree      so many GPUs become free
// kTolerate  its pods tolerate taints; where no one of these three is enough: and GPUs become free
// kNodes     nodes come back that are cordoned, not ready or left out
// kEnds      so many gangs end: found by taking the smallest first and the largest first, not by
//            trying all sets of them
// kFewer     it asks for fewer members
struct LeastChange {
  enum class What { kMembers, kHold, kQueue, kFree, kTolerate, kNodes, kEnds, kFewer };
  What what = What::kMembers;
  std::string text;  // "gangs a/x and a/y with 12 GPUs end"
  // What `text` says, as data; 0 or empty: it does not mention that.
  int64_t pods = 0;                   // that are created, or for which it asks in place of more
  int64_t gpu_milli = 0;              // that become free, wherever, or that gangs which end hold
  std::vector<NodeShare> nodes = {};  // where they become free; that can be used again
  std::vector<std::string> taints = {};
  std::vector<std::string> gangs = {};
};
const char* ToString(LeastChange::What what);  // "members", …

// What is to be found out. Taken under the lock.
struct ChangesJob {
  std::vector<LeastChange> known;  // without looking at any node
  policy::GangRequest request;     // nothing required: room is not what it lacks
  bool may_shrink = false;         // its members are alike, and all of them wait
  std::shared_ptr<const cluster::Snapshot> snapshot;
  std::vector<policy::Candidate> holders;  // one a gang
  std::vector<std::string> names;          // of their gangs
  std::shared_ptr<const cluster::NodeSet>
      closed;  // to it, by its queue's limits or for others' whole nodes
  policy::Options placement;
};
ChangesJob ChangesJobOf(ClaimState& state, const Gang& gang, cluster::Time now);

// The same without those that would end, which costs less: for FindNearest.
ChangesJob RoomJobOf(ClaimState& state, const Gang& gang, cluster::Time now);

// Pure, without the lock.
std::vector<LeastChange> FindLeastChanges(const ChangesJob& job);
// The first that makes room, of what becomes free, what is tolerated and nodes that come back;
// nothing: room is not what it lacks, or no one of them is enough. `placer`: of the job's options.
std::optional<LeastChange> FindNearest(const ChangesJob& job, policy::Placer& placer);

}  // namespace muster::engine
