// KnownState: the lowest layer of the engine's state (internal to engine/): the policy, what facts
// say of the cluster, the gangs and members that follow from them, and which writes are under way.
// Guarded by Scheduler's lock.
#pragma once

#include <string>
#include <utility>

#include "cluster/base/units.hpp"
#include "cluster/holdings/cluster_state.hpp"
#include "engine/contract/options.hpp"
#include "engine/contract/rules.hpp"
#include "engine/gangs/job_table.hpp"
#include "engine/gangs/membership.hpp"
#include "engine/gangs/quotas.hpp"
#include "engine/gangs/run_history.hpp"
#include "engine/gangs/spec_table.hpp"
#include "engine/gangs/unfenced.hpp"
#include "engine/machines/ever_fits.hpp"
#include "engine/machines/hami_turns.hpp"
#include "engine/machines/kubelet_picks.hpp"
#include "engine/machines/node_classes.hpp"
#include "engine/machines/node_health.hpp"
#include "engine/machines/volume_table.hpp"
#include "engine/standing/work_queue.hpp"
#include "engine/standing/write_tracker.hpp"

namespace muster::engine {

struct KnownState {
  explicit KnownState(Options given, Rules plugged = {})
      : options(std::move(given)), rules(std::move(plugged)) {}
  KnownState(const KnownState&) = delete;
  KnownState& operator=(const KnownState&) = delete;
  ~KnownState() = default;

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
  Membership members{cluster, options};
  NodeClasses classes;
  RunHistory run_history;
  KubeletPicks kubelet_picks{cluster, members, options};
  HamiTurns hami_turns{cluster, members};
  std::string stale_resources;  // not empty: no planning (WatchStale)
  cluster::Time last_call{-1};  // kube-scheduler's last Filter or held Bind
};

}  // namespace muster::engine
