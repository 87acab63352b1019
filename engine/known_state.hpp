// What facts say, and the gangs that follow from them (internal to engine/): the policy, the
// cluster, gangs and their members, what is under way. Guarded by Scheduler's lock.
#pragma once

#include <string>
#include <utility>

#include "cluster/base/units.hpp"
#include "cluster/holdings/cluster_state.hpp"
#include "engine/ever_fits.hpp"
#include "engine/hami_turns.hpp"
#include "engine/job_table.hpp"
#include "engine/kubelet_picks.hpp"
#include "engine/membership.hpp"
#include "engine/node_classes.hpp"
#include "engine/node_health.hpp"
#include "engine/options.hpp"
#include "engine/quotas.hpp"
#include "engine/rules.hpp"
#include "engine/run_history.hpp"
#include "engine/spec_table.hpp"
#include "engine/unfenced.hpp"
#include "engine/volume_table.hpp"
#include "engine/work_queue.hpp"
#include "engine/write_tracker.hpp"

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
