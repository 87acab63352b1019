// ReplayStatistics: what the jobs of a replay got: how late they ended, what evictions cost, how
// much of the cluster was in use, and how fair that was. Plain values and pure functions.
//
//   delay of a job  = end − submission − run time: what waiting, and running again, cost it. Of a
//                     job without a run time: start − submission.
//   lost GPU time   = GPUs of a run × (its end by eviction − its start − what its checkpoint kept)
//   booked idle     = GPU time kept free for gangs that have booked, as Muster counts it
//   service / share = Σ GPUs that a queue used / Σ GPUs that it was entitled to (R1), by the hour
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"

namespace muster::sim {

// Seconds; all zero when there are no samples. Percentiles by nearest rank.
struct Distribution {
  int64_t samples = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

Distribution Summarize(std::vector<cluster::Duration> samples);

// From `from` on, before `until`.
struct Window {
  cluster::Time from;
  cluster::Time until = cluster::Time::Never();
  bool contains(cluster::Time at) const { return from <= at && at < until; }
  auto operator<=>(const Window&) const = default;
};

struct JobOutcome {
  std::string queue;  // that it asks for; empty: none
  cluster::GpuMilli gpus;
  cluster::Time submitted;
  std::optional<cluster::Duration> runs_for;
  std::optional<cluster::Time> started;  // all of its members were bound for the first time
  std::optional<cluster::Time> ended;    // the last one did, by itself
  int64_t evictions = 0;                 // runs that one ended
};

// A run that an eviction ended.
struct LostRun {
  cluster::Time at;
  int64_t milli_ms = 0;  // GPU-milli × ms
};

// The GPUs in use from `at` on.
struct UsageStep {
  cluster::Time at;
  cluster::GpuMilli used;
};

// What bookings have kept idle until `at`.
struct IdleSample {
  cluster::Time at;
  int64_t milli_ms = 0;  // GPU-milli × ms, since the beginning
};

// Of a queue at one moment.
struct ShareSample {
  cluster::Time at;
  std::string queue;
  cluster::GpuMilli used;
  cluster::GpuMilli share;
};

// What a replay leaves to be reckoned with; steps, losses and samples in order of time.
struct ReplayHistory {
  cluster::GpuMilli capacity;
  cluster::Time last;  // of its events
  std::vector<JobOutcome> jobs;
  std::vector<UsageStep> usage;
  std::vector<LostRun> losses;
  std::vector<ShareSample> shares;
  std::vector<IdleSample> idle;
};

struct DelayRow {
  std::string gpus;  // "all", "1", "2-4", …
  int64_t jobs = 0;
  int64_t unfinished = 0;  // of them; they have no delay
  int64_t evictions = 0;
  Distribution delay_s;
};

struct QueueService {
  std::string queue;
  double ratio = 0;  // service / share
};

struct ReplayStatistics {
  Window window;
  std::vector<DelayRow> delays;  // of jobs submitted in the window
  // In the window of time, at most to the last event.
  double utilization = 0;
  int64_t evictions = 0;  // runs
  double lost_gpu_hours = 0;
  double lost_ratio = 0;  // of the capacity
  double booked_idle_gpu_hours = 0;
  double booked_idle_ratio = 0;              // of the capacity
  std::optional<QueueService> least_served;  // nothing: there is one queue
};

// Of those submitted in the window, and of the window's time.
ReplayStatistics StatisticsOf(const ReplayHistory& history, const Window& window);

// GPU-milli × ms in use.
double UsedIn(const ReplayHistory& history, const Window& window);

}  // namespace muster::sim
