// Plan: one gang's placement on a snapshot (internal to engine/). Pure; runs outside the
// Scheduler's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/snapshot.hpp"
#include "engine/candidates.hpp"
#include "engine/gang.hpp"
#include "policy/gang_request.hpp"
#include "policy/placement.hpp"

namespace muster::engine {

struct PlanJob {
  GangId id;
  uint64_t version = 0;  // of the gang
  queues::OrderKey order;
  std::shared_ptr<const cluster::Snapshot> snapshot;
  policy::GangRequest request;
  bool plain = false;  // no exclusions: a failure holds for every gang that asks for this
  // On failure, find out whether it would fit this: the cluster with only that on it which stays,
  // see EverFits. Null: nobody asks.
  std::shared_ptr<const cluster::Snapshot> empty;
  uint64_t basis = 0;                  // EverFits::basis() then
  KnownCandidates candidates;          // that may be evicted for it
  int64_t preempts_below = INT64_MIN;  // its priority, if there may be any
};

struct PlanResult {
  bool placed = false;
  std::vector<cluster::Placement> required;
  std::vector<cluster::Placement> elastic;
  policy::Shortage shortage;  // unless placed; of PlanJob::empty when it never fits
  bool never_fits = false;
  std::vector<cluster::PodUid> victims;  // the pods that must leave before it fits; ordered
};

struct Turn {
  bool over = false;           // of the pass: nobody is left
  std::optional<PlanJob> job;  // of a pending gang; nothing: none was found yet
};

PlanResult Plan(policy::Placer& placer, const PlanJob& job);

}  // namespace muster::engine
