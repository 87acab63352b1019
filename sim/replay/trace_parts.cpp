#include "sim/replay/trace_parts.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/replay/job_owners.hpp"

namespace muster::sim {

void SortBySubmission(std::vector<TraceJob>& jobs) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
}

PodRecord PodOfTrace(const std::string& name, cluster::PodSpec spec) {
  spec.scheduler_name = "muster";
  spec.requests.pods = 1;
  if (!spec.gpus.none()) spec.constraints.tolerations = RecommendedTolerations();
  PodRecord record;
  record.pod.key = {kDefaultNamespace, name};
  record.pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
  record.pod.grace = cluster::Duration(0);
  return record;
}

}  // namespace muster::sim
