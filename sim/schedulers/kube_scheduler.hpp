// KubeScheduler: behaves as kube-scheduler does towards its API server and its extender.
//
// One pod at a time, highest priority first, then longest in the queue. A cycle:
//   1. take a pod   2. try its nominated node alone   3. else the nodes that the built-in checks
//   leave, as many as percentageOfNodesToScore asks for, starting where the last search ended   4.
//   extender Filter   5. extender Prioritize, when more than one is left   6. assume the pod there
//   7. Bind, meanwhile the next cycle runs.
//
//   created ──gates──▶ gated     unschedulable ◀──no node left── cycle ──assumed──▶ binding ──▶
//   bound
//      └──no gates──▶ active ───────▲ event, 5 min │               ▲ │                 │ error:
//      forgotten
//                       ▲───────── backoff ◀───────┘               │ └─extender error──▼
//                       └──────────────┴───────────────────────────┴───────────────── backoff
//
// Nominations count on their node for pods of equal or lower priority, also while the nominated pod
// is gated. A pod rejected by the extender is tried again after any event in the cluster, one
// rejected by the built-in checks after an event that could make room. Without an extender it binds
// by itself.
//
// Owned by sim::Cluster, driven by its loop; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/units.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/calls/extender_port.hpp"
#include "sim/schedulers/scheduler_options.hpp"

namespace muster::sim {

class KubeScheduler {
 public:
  // `extender` null: none is configured.
  KubeScheduler(EventLoop& loop, ApiServer& api, ExtenderPort* extender,
                KubeSchedulerOptions options);
  ~KubeScheduler();
  KubeScheduler(const KubeScheduler&) = delete;
  KubeScheduler& operator=(const KubeScheduler&) = delete;

  // Everything in memory is lost (queues, assumed pods, open Bind calls) and learnt again from the
  // API server.
  void Restart();

  // From now on, and no more: pods that it turned down are tried again then.
  void TurnDown(OtherCheck check) { other_checks_.push_back(std::move(check)); }
  void TurnDownNoMore(const std::string& pods);

  const KubeSchedulerStats& stats() const { return stats_; }
  size_t active() const;
  size_t backing_off() const;
  size_t unschedulable() const;
  size_t gated() const;
  size_t binding() const;

 private:
  class Impl;
  EventLoop& loop_;
  ApiServer& api_;
  ExtenderPort* const extender_;
  const KubeSchedulerOptions options_;
  KubeSchedulerStats stats_;
  std::vector<OtherCheck> other_checks_;
  std::shared_ptr<Impl> impl_;  // one life of the process; tasks in the loop hold it weakly
};

}  // namespace muster::sim
