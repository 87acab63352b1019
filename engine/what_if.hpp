// WhatIf: what would become of a workload, or of all that waits under another policy? Answered by a
// second engine that is told what the first one knows, beside an API server and a kube-scheduler of
// which everything succeeds at once. Pure function: nothing of the first engine changes.
//
//   WhatIfAnswer answer = TryOut({.known = scheduler.DecidedFacts(), .workload = facts,
//                                 .options = scheduler.options(), .now = now});
//
//   1. Pods of the workload are there, and nothing else comes. What runs goes on running.
//   2. An evicted pod is gone at once, and nobody makes it again.
//   3. The time goes on from one deadline to the next (minimum run times, delays), for `horizon` at
//      most. So what starts later does so because nothing but time was missing.
//   4. It ends at the first moment at which nothing follows, after `most_rounds` cycles, or when
//      `stop` says so; then it is not complete.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/units.hpp"
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
};

struct WhatIfWait {
  GangView gang;
  std::optional<TurnView> turn;  // of gangs of the workload
};

struct WhatIfAnswer {
  std::vector<WhatIfStart> starts;        // in order
  std::vector<WhatIfEviction> evictions;  // in order
  std::vector<WhatIfWait> waits;  // gangs that do not start, by id; those that lost pods too
  std::vector<GangId> workload;   // the gangs of which it has pods or the PodGroup
  bool complete = true;
};

WhatIfAnswer TryOut(const WhatIf& what);

}  // namespace muster::engine
