// Replay: submits a Trace to an embedded cluster in virtual time and measures what became of it.
//
// A job that names a queue (TraceJob::queue) is in it if the policy has it, else in that of its
// namespace (job_owners.hpp). A pod that Muster evicts is made again when it is gone, as its
// controller would, and runs for what no checkpoint has kept.
//
// Without Muster, jobs that come at one moment have their pods made in turn, as their controllers
// work side by side.
//
// Deterministic: the same trace, options and seed give the same ReplayReport on any machine. Wall
// time is the caller's to measure. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/gang_places.hpp"
#include "sim/replay/left_over.hpp"
#include "sim/replay/model_use.hpp"
#include "sim/replay/replay_statistics.hpp"
#include "sim/replay/still_waiting.hpp"
#include "sim/replay/trace.hpp"
#include "sim/world/cluster.hpp"

namespace muster::sim {

struct ReplayProgress {
  int64_t jobs_submitted = 0;
  int64_t jobs_total = 0;
  int64_t pods_bound = 0;
  cluster::Time now;  // virtual
};

struct ReplayOptions {
  Options cluster;
  bool timeline = false;  // pods are deleted when the trace says so, else never
  cluster::Duration horizon =
      cluster::Seconds(100LL * 365 * 24 * 3600);  // what has not ended by then is cut off
  // By which queues shares are reckoned; nothing: by those of the policy.
  std::optional<std::vector<queues::QueueSpec>> shares_by;
  // A run that is evicted goes on from its last checkpoint; 0: from the beginning.
  cluster::Duration checkpoint;
  std::function<void(const ReplayProgress&)> progress;  // called now and then; may be empty
};

struct ReplayReport {
  int64_t nodes = 0;
  int64_t gpus = 0;
  int64_t pods_total = 0;  // those that replace evicted ones included
  int64_t pods_placed = 0;
  int64_t pods_unplaced = 0;
  int64_t gpu_allocated_milli = 0;  // at the moment when most was allocated
  int64_t gpu_capacity_milli = 0;
  double allocation_ratio = 0;  // of these two
  int64_t gangs_total = 0;      // jobs, gangs of one included
  int64_t gangs_started = 0;
  int64_t partial_gangs = 0;      // at the end: some members bound, fewer than needed
  int64_t partial_gpu_milli = 0;  // that these hold: none of them computes
  Distribution wait_s;            // submitted → all members bound
  // Submitted → last member ended by itself or, with a timeline, was deleted by the trace; only of
  // jobs that had started by then.
  Distribution jct_s;
  double utilization_mean =
      0;  // allocated / capacity, mean over time from first submission to last event
  double makespan_s = 0;
  PlacesReport places;  // by the fabric of Options::muster, with or without Muster
  // By the model of their GPUs, ordered by it; and of pods that stayed out, why.
  std::vector<ModelReport> models;
  std::vector<OutRow> out;
  std::vector<WaitingRow> waiting;  // in Muster's words; empty without Muster
  std::string decision_hash;
  int64_t decisions = 0;       // Bindings
  int64_t audit_findings = 0;  // broken invariants, when audited
  KubeSchedulerStats scheduler;
  ReplayHistory history;
};

ReplayReport Replay(const Trace& trace, const ReplayOptions& options);

}  // namespace muster::sim
