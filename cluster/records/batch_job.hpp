// BatchJob: what an eviction of its pods does to a batch/v1 Job that has not ended. Plain value,
// built by the decoders.
#pragma once

#include <cstdint>

#include "cluster/base/ids.hpp"
#include "cluster/records/run_times.hpp"

namespace muster::cluster {

struct BatchJob {
  JobUid uid;
  ObjectKey key;
  // Its podFailurePolicy takes an eviction for no failure. Else each evicted pod counts towards
  // backoffLimit, and when that is used up the Job has failed for good.
  bool ignores_evictions = false;
  // It recreates a pod, and counts it, only when that has ended: one that is being deleted and ends
  // with success is done. Else a pod that is being deleted is lost.
  bool waits_for_the_end = false;
  RunTimes run_times;  // what the Job says for all of its pods
  int64_t resource_version = 0;
  auto operator<=>(const BatchJob&) const = default;
};

}  // namespace muster::cluster
