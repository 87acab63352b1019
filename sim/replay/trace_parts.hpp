// What the readers of traces have in common (internal to sim/). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/records/pod.hpp"
#include "sim/api_server/records.hpp"
#include "sim/replay/trace_job.hpp"

namespace muster::sim {

inline constexpr int64_t kMostTraceSeconds = 10'000'000'000;

// By time; jobs of one time stay as they are.
void SortBySubmission(std::vector<TraceJob>& jobs);
// Muster's, in namespace default, gone as soon as it is deleted.
PodRecord PodOfTrace(const std::string& name, cluster::PodSpec spec);

}  // namespace muster::sim
