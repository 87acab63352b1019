// EngineState: every owner of state in the engine, side by side (internal to engine/). Guarded by
// Scheduler's lock. README.md says who owns what.
#pragma once

#include <string>
#include <utility>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/announcer.hpp"
#include "engine/bookings.hpp"
#include "engine/budget_watch.hpp"
#include "engine/candidates.hpp"
#include "engine/ever_fits.hpp"
#include "engine/hami_turns.hpp"
#include "engine/holdings.hpp"
#include "engine/job_table.hpp"
#include "engine/kept_rooms.hpp"
#include "engine/kubelet_picks.hpp"
#include "engine/membership.hpp"
#include "engine/node_classes.hpp"
#include "engine/node_health.hpp"
#include "engine/node_requests.hpp"
#include "engine/options.hpp"
#include "engine/order_book.hpp"
#include "engine/owners.hpp"
#include "engine/pending_queue.hpp"
#include "engine/preemptions.hpp"
#include "engine/queue_book.hpp"
#include "engine/quotas.hpp"
#include "engine/refusals.hpp"
#include "engine/releases.hpp"
#include "engine/reminders.hpp"
#include "engine/reservations.hpp"
#include "engine/rules.hpp"
#include "engine/run_history.hpp"
#include "engine/scale_ups.hpp"
#include "engine/scheduler.hpp"
#include "engine/shape_book.hpp"
#include "engine/spec_table.hpp"
#include "engine/unfenced.hpp"
#include "engine/volume_table.hpp"
#include "engine/work_queue.hpp"
#include "engine/write_tracker.hpp"

namespace muster::engine {

struct EngineState {
  explicit EngineState(Options given, Rules plugged = {})
      : options(std::move(given)), rules(std::move(plugged)) {}
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;
  ~EngineState() = default;

  Options options;
  const Rules rules;
  cluster::ClusterState cluster{rules.devices};
  SpecTable specs;
  JobTable jobs;
  Quotas quotas;
  VolumeTable volumes{cluster};
  NodeHealth health;
  EverFits ever_fits;
  UnfencedPods unfenced;

  WriteTracker writes;
  WorkQueue work;  // to be looked at
  QueueBook queue_book{options.queues};
  PendingQueue queue{queue_book};  // to be planned
  Membership members{cluster, options};
  ShapeBook shapes{cluster, members, queue_book};
  Reservations reservations{cluster, members, writes};
  Preemptions preemptions;
  BudgetWatch budget_watch;
  Holdings holdings;
  KeptRooms kept_rooms;
  Owners owners;
  OrderBook orders;  // of operators
  Bookings bookings;
  KeptSnapshots kept_snapshots;
  ScaleUps scale_ups;     // nodes that are asked for
  NodeRequests requests;  // by ProvisioningRequests
  NodeClasses classes;
  RunHistory run_history;
  KubeletPicks kubelet_picks{cluster, members, options};
  HamiTurns hami_turns{cluster, members};
  Releases releases;
  Refusals refusals;
  KnownCandidates candidates;  // the last that were asked for
  Reminders reminders{rules.tell_again, writes};
  Announcer announcer{members, writes, reminders};

  int64_t free_gpu_milli = 0;   // on all nodes, when the pass began
  std::string stale_resources;  // not empty: no planning (WatchStale)
  cluster::Time last_call{-1};  // kube-scheduler's last Filter or held Bind
  Progress progress;            // of the Advance under way
};

}  // namespace muster::engine
