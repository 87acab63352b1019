// How long gangs run, and when those that run are known to end (internal to engine/). Pure
// functions of the engine's state.
//
// 1. A gang's duration is the shortest that anybody says whom its queue trusts
//    (queues::BookingTerms::trust): what ends it bounds what is expected of it.
// 2. What pods say counts where all that have not ended say it, and then the longest of them: the
//    gang is there until the last one goes. What the PodGroup or the Job says counts for all.
// 3. What enforces an end may count while a gang waits (RunTimes::ends_at: a Job's deadline counts
//    from its start, and a Job has started although its pods wait): then that is the end, whenever
//    the gang starts.
// 4. A gang that outlives its estimate gets twice as long, again and again, and never longer than
//    what ends it: nobody is expected to end just because it is late.
#pragma once

#include <string>

#include "cluster/records/run_times.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/gangs/gang.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

struct StandingState;

// So late a gang may be before its estimate counts as exceeded: pods take time to start and to go.
inline constexpr cluster::Duration kLate = cluster::Seconds(60);

struct Estimate {
  cluster::Duration duration = cluster::Duration::Unlimited();  // nobody says
  queues::Trust by = queues::Trust::kNone;
};

// What its PodGroup, its pods and their Jobs say.
cluster::RunTimes RunTimesOf(const StandingState& state, const Gang& gang);
// If it started now.
Estimate EstimateOf(const StandingState& state, const Gang& gang, cluster::Time now);
// Since when what it holds is taken; `now` where it holds nothing.
cluster::Time StartOf(const Gang& gang, cluster::Time now);
// When what it holds becomes free; after `now`. Of one that holds something.
KnownEnd EndOf(const StandingState& state, const Gang& gang, cluster::Time now);

}  // namespace muster::engine
