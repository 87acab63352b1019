// What users of a replay tell of how long their jobs run. Pure functions: what is said of a job
// depends on the job alone, not on those beside it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/replay/trace_job.hpp"

namespace muster::sim {

//   kUnknown  nothing
//   kExact    the run time
//   kRough    the run time × a factor from 0.5 to 1.5, drawn by the job's name
//   kLearnt   nothing, but the job is named after an owner whose jobs come again: its user, or
//             where the trace says none its queue, and its size
enum class Known { kUnknown, kExact, kRough, kLearnt };

// "unknown", "exact", "rough", "learnt".
std::optional<Known> ParseKnown(std::string_view text);
const char* ToString(Known known);

// Jobs without a run time stay as they are.
void TellDurations(Known known, std::vector<TraceJob>& jobs);

}  // namespace muster::sim
