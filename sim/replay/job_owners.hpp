// Whose the jobs of a trace are: the columns that say so in every format of jobs (internal to
// sim/), and the namespaces of jobs that say none. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/selector.hpp"
#include "queues/queue_spec.hpp"
#include "sim/replay/csv.hpp"
#include "sim/replay/trace_job.hpp"

namespace muster::sim {

inline constexpr const char* kDefaultNamespace = "default";

// Optional columns of all formats of jobs, see trace.hpp: namespace, user, queue, vc, tolerations.
std::vector<std::string> OwnerColumns();
// From the column `first`, where those begin. The job has its pods.
cluster::Status ReadOwner(const CsvFile& csv, size_t row, size_t first, TraceJob& job);

// Of pods with GPUs: the taints that device plugins and clouds recommend for nodes with GPUs.
std::vector<cluster::Toleration> RecommendedTolerations();

// Jobs that say no namespace are in the first one that may use the queue which they ask for, or
// where that is open to all in kDefaultNamespace. `allowed`: as engine::NamespaceRules::allow.
// `queues` has no fault.
void PutInNamespaces(const std::vector<queues::QueueSpec>& queues,
                     const std::vector<std::string>& allowed, std::vector<TraceJob>& jobs);

}  // namespace muster::sim
