// What would become of a workload or a policy. Plain values. Parts 1 (now) and 2 (later) are those
// of TryOut (engine/trial/what_if.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/explain/queue_view.hpp"

namespace muster::engine {

// A gang that did not run before.
struct WhatIfStart {
  GangView gang;
  cluster::Duration after;  // from now on
};

// Pods that are evicted together for one gang.
struct WhatIfEviction {
  GangId gang;              // that they belong to
  cluster::ObjectKey by;    // the gang that preempts them
  int64_t pods = 0;         // evicted
  int64_t pods_in_all = 0;  // of the gang, before
  int32_t priority = 0;     // of the gang
  std::string queue;        // of the gang
  std::string right;        // by which it goes, for people; empty: it goes to be moved
  cluster::Duration after;  // from now on
};

// The start of a gang that waits now.
struct WhatIfLater {
  cluster::Duration after;                     // from now on
  queues::Trust by = queues::Trust::kNone;     // the weakest word of all ends before it
  GangId last;                                 // which gang's end was the last one before it
  std::vector<WhatIfEviction> evictions = {};  // by which it gets its room
};

struct WhatIfWait {
  GangView gang;                     // at the end of part 1
  std::optional<TurnView> turn;      // of gangs of the workload
  std::optional<WhatIfLater> later;  // nothing: nobody knows
};

struct WhatIfAnswer {
  std::vector<WhatIfStart> starts;        // in order
  std::vector<WhatIfEviction> evictions;  // in part 1, in order
  std::vector<WhatIfWait> waits;  // gangs that do not start, by id; those that lost pods too
  std::vector<QueueView> queues;  // at the end of part 1
  std::vector<GangId> workload;   // the gangs of which it has pods or the PodGroup
  bool complete = true;           // part 1 was not cut off
  // How far part 2 went: what is not known to start by then starts later, or never.
  cluster::Duration looked_ahead;
  bool looked_at_all = true;  // part 2 was not cut off
};

// Has not started, or lacks members.
inline bool Waits(const GangView& gang) {
  return gang.state != GangState::kRunning && gang.state != GangState::kFinished;
}

}  // namespace muster::engine
