// WhatIf: what would become of a workload, or of all that waits under another policy? Answered by a
// second engine that receives what the first one knows (trial_world.hpp). Pure function: nothing
// of the first engine changes.
//
//   WhatIfAnswer answer = TryOut({.known = scheduler.DecidedFacts(), .workload = facts,
//                                 .options = scheduler.options(), .now = now});
//
//   1. Now. Pods of the workload are there, and nothing else comes. What runs goes on running. The
//      time goes on from one deadline to the next (minimum run times, delays), for `horizon` at
//      most. So what starts does so because nothing but time was missing.
//   2. Later, for gangs of the workload that do not start so, or, without one, all that do not.
//      From now on gangs end when that is known (durations.hpp), until nobody waits any more,
//      nothing follows, or `outlook` is over. So a start is expected, as surely as the weakest word
//      of all ends before it.
//   3. Each ends early after `most_rounds` cycles at one moment (nothing should need so many), or
//      when `stop` says so; then it is not complete.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "engine/facts.hpp"
#include "engine/gang_view.hpp"
#include "engine/options.hpp"
#include "engine/queue_view.hpp"
#include "engine/rules.hpp"

namespace muster::engine {

struct WhatIf {
  std::vector<Fact> known;     // Scheduler::DecidedFacts
  std::vector<Fact> workload;  // what is added to it
  Options options;             // the policy
  Rules rules = {};
  cluster::Time now;
  cluster::Duration horizon = cluster::Seconds(3600);
  cluster::Duration outlook = cluster::Seconds(7 * 86'400);  // 0: nobody asks for later
  int64_t most_rounds = 10'000;
  std::function<bool()> stop = {};  // asked before each cycle; empty: never
};

// A gang that did not run before.
struct WhatIfStart {
  GangView gang;
  cluster::Duration after;  // from now on
};

// Pods that are evicted together for one gang.
struct WhatIfEviction {
  GangId gang;              // theirs
  cluster::ObjectKey by;    // for which
  int64_t pods = 0;         // of them
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
  std::vector<WhatIfEviction> evictions = {};  // for it
};

struct WhatIfWait {
  GangView gang;                     // as it is at the end of 1
  std::optional<TurnView> turn;      // of gangs of the workload
  std::optional<WhatIfLater> later;  // nothing: nobody knows
};

struct WhatIfAnswer {
  std::vector<WhatIfStart> starts;        // in order
  std::vector<WhatIfEviction> evictions;  // in order; of 1
  std::vector<WhatIfWait> waits;  // gangs that do not start, by id; those that lost pods too
  std::vector<QueueView> queues;  // at the end of 1
  std::vector<GangId> workload;   // the gangs of which it has pods or the PodGroup
  bool complete = true;           // 1
  // How far 2 went: what is not known to start by then starts later, or never.
  cluster::Duration looked_ahead;
  bool looked_at_all = true;  // 2 was not cut off
};

// Has not started, or lacks members.
bool Waits(const GangView& gang);

WhatIfAnswer TryOut(const WhatIf& what);

}  // namespace muster::engine
