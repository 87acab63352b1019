// Victims: the pods that make way for a gang, and why (internal to engine/). Plain values; see
// Preemptions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/gang_id.hpp"

namespace muster::engine {

using cluster::GangId;

// A gang that makes way, whole or in part.
struct VictimGang {
  GangId gang;
  int64_t pods = 0;
  int64_t gpu_milli = 0;
  cluster::Duration ran;  // since its start; 0: it leaves anyway, or goes in part
  std::string right;      // by which it goes, for people
};

// Why and for what gangs are evicted: made before anybody is.
struct Certificate {
  cluster::Time made_at;
  std::string where;  // its nodes, for people
  int64_t asked_milli = 0;
  std::vector<VictimGang> victims;   // ordered by gang
  std::vector<std::string> refused;  // some that are not victims, and why not
};

// Why a pod is nobody's victim for now.
struct Protection {
  cluster::Time until;
  // A PodDisruptionBudget let it not go; else its eviction was refused or failed, or it did not go
  // in time.
  bool by_budget = false;
};

// Of a gang that preempted and did not start.
struct Tries {
  int64_t in_vain = 0;  // in a row
  std::optional<cluster::Time> until;
};

// Of a pod that was asked to go, and was not refused.
struct EvictionFailures {
  int64_t in_a_row = 0;
  cluster::Time last;
  int64_t given_up = 0;  // how often they counted as a refusal
};

// What a Preempting gang waits for. Its members have earmarks in ClusterState, not reservations.
struct Victims {
  std::set<cluster::PodUid> pods;
  // Of these the ones that go although budgets do not let them: as of when they were asked to go.
  std::set<cluster::PodUid> over_budgets;
  // Of these the ones that somebody else has deleted, and that are given too long for it.
  std::set<cluster::PodUid> cut_short;
  std::string gangs;  // theirs, for people
  cluster::Time asked_at;
  bool asked = false;    // evictions were asked for: all members are nominated
  bool begun = false;    // one was carried out: there is no way back
  bool lost = false;     // one of them is no longer what it was
  std::string obstacle;  // why one of them may not be evicted
  // What failed is not tried again before this.
  cluster::Time not_before;
};

}  // namespace muster::engine
