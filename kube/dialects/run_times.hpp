// How long pods, Jobs and PodGroups say that they run. Pure functions, for any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/records/run_times.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

// Kueue's label, which it reads on the workload and which templates hand on to pods.
inline constexpr const char* kMaxExecTime = "kueue.x-k8s.io/max-exec-time-seconds";

// A positive duration in Go's syntax: "90m", "1h30m", "1.5h".
std::optional<cluster::Duration> ParseGoDuration(std::string_view text);
std::string FormatGoDuration(cluster::Duration duration);

// What cannot be read is a fault of the RunTimes and no problem of the object: it may be placed
// without. `active_deadline`: spec.activeDeadlineSeconds.
cluster::RunTimes ReadRunTimes(const JsonView& metadata, const JsonView& active_deadline);

}  // namespace muster::kube
