// WhatIf: what would become of a workload, or of all that waits under another policy? Answered by a
// second engine that receives what the first one knows (engine/trial/trial_world.hpp). Pure
// function: nothing of the first engine changes.
//
//   WhatIfAnswer answer = TryOut({.known = scheduler.DecidedFacts(), .workload = facts,
//                                 .options = scheduler.options(), .now = now});
//
//   1. Now. Pods of the workload are there, and nothing else comes. What runs goes on running. The
//      time goes on from one deadline to the next (minimum run times, delays), for `horizon` at
//      most. So what starts does so because nothing but time was missing.
//   2. Later, for gangs of the workload that do not start so, or, without one, all that do not.
//      From now on gangs end when that is known (engine/judging/durations.hpp), until nobody waits
//      any more, nothing follows, or `outlook` is over. So a start is expected, as surely as the
//      weakest word of all ends before it.
//   3. Each ends early after `most_rounds` cycles at one moment (nothing should need so many), or
//      when `stop` says so; then it is not complete.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "engine/contract/facts.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/contract/options.hpp"
#include "engine/contract/rules.hpp"
#include "engine/explain/queue_view.hpp"
#include "engine/explain/what_if_view.hpp"

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

WhatIfAnswer TryOut(const WhatIf& what);

}  // namespace muster::engine
