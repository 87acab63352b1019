// How the simulated kube-scheduler is configured, what else turns pods down, and what it counts.
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "sim/api_server/informer.hpp"
#include "sim/schedulers/scheduler_cache.hpp"

namespace muster::sim {

enum class Scoring { kLeastAllocated, kMostAllocated };
enum class TieBreak { kRandom, kByName };

struct KubeSchedulerOptions {
  std::vector<std::string> scheduler_names = {"muster",
                                              "default-scheduler"};  // profiles that it runs
  int64_t percentage_of_nodes_to_score = 0;  // 0: adaptive, 50 - nodes / 125, at least 5
  Scoring scoring = Scoring::kLeastAllocated;
  GpuCount gpu_count = GpuCount::kWhole;
  int64_t extender_weight = 1;
  TieBreak tie_break = TieBreak::kRandom;
  uint64_t seed = 1;
  cluster::Duration cycle_time{};    // a cycle takes that long
  cluster::Duration bind_latency{};  // of its own binder
  cluster::Duration http_timeout =
      cluster::Seconds(60);  // a Bind call not answered by then has failed
  cluster::Duration backoff_first = cluster::Seconds(1);
  cluster::Duration backoff_max = cluster::Seconds(10);
  cluster::Duration flush_after =
      cluster::Seconds(300);  // an unschedulable pod is tried again at the latest
  WatchFaults watch{};
};

// A check that Muster does not plan by (volumes, say): pods whose names begin so are turned down on
// that node.
struct OtherCheck {
  std::string pods;
  std::string node;   // empty: on every one
  std::string words;  // as in its messages: "node(s) had volume node affinity conflict"
};

struct KubeSchedulerStats {
  int64_t cycles = 0;
  int64_t filter_calls = 0;
  int64_t single_node_filters = 0;  // of these, for a nominated node
  int64_t filter_names = 0;         // node names sent in all Filter calls
  int64_t filter_errors = 0;
  int64_t prioritize_calls = 0;
  int64_t bind_calls = 0;
  int64_t bind_errors = 0;
  int64_t bind_timeouts = 0;
  int64_t bound = 0;
  int64_t rejected = 0;  // cycles that ended without a node
};

}  // namespace muster::sim
