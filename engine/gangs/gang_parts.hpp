// What the owners of a gang's plan, of its place in the queue and of its pending work keep in it
// (internal to engine/). Plain values; parts of Gang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/base/units.hpp"
#include "cluster/holdings/usage.hpp"
#include "queues/order_key.hpp"

namespace muster::engine {

struct Kind;  // of gangs that fit or fail together: see PendingQueue

// The gang's whole plan, as far as it is more than its members' places. See Reservations.
struct GangPlan {
  int64_t made = 0;       // plans, as long as the gang is known
  cluster::Time made_at;  // the present one, or its reservation
  // Of the present plan; beside bound members of the next reservation that runs out.
  std::optional<cluster::Time> deadline;
  bool all_nominated = false;  // every planned member was: gates may go
  // The minimum came to Bind, or is bound in part: each member is bound as its call comes.
  bool barrier_open = false;
  bool needs_recheck = false;  // a node of the plan changed
};

// See PendingQueue.
struct QueuePlace {
  std::optional<queues::OrderKey> order;  // while it waits
  cluster::Usage asks;                    // what it would hold, as far as it says
  std::string queue;                      // in which it does
  Kind* kind = nullptr;                   // whose fate it shares there
  bool tried = false;                     // a plan was attempted since it became complete
};

// See WorkQueue.
struct WorkState {
  uint64_t version = 0;                // changes whenever anything a plan depends on changes
  std::optional<cluster::Time> timer;  // when it is looked at without further facts
  std::optional<cluster::Time> tell;   // when it is published without further facts
};

// What outlives the gang's pods, see engine/judging/succession.hpp.
enum class Memory {
  kToTake,  // its owner may have some of an earlier gang -> kOwn
  kOwn,     // -> kLeft
  kLeft,    // to its owner; -> kToTake, if other pods come
};

}  // namespace muster::engine
