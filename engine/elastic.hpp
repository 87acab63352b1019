// Elastic members: those beyond a gang's minimum (internal to engine/).
//
// 1. Each starts by itself, when there is room, and evicts nobody.
// 2. Where they are to be in segments, and must be, only so many start as make whole segments of
//    the largest size together; what is left over waits for others.
// 3. Where a role has units (cluster::RoleUnit), so many of it start together, wherever they are.
// 4. One that makes up for a lost member starts by itself: it makes a segment or a unit whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/allocation.hpp"
#include "cluster/transaction.hpp"
#include "policy/gang_request.hpp"
#include "policy/placement.hpp"

namespace muster::engine {

struct EngineState;
struct Gang;

// The largest segments that members of a subgroup, or those of none, must be in; or how many of a
// role start together, with `unit` and no level. Of several for a member the largest counts.
struct SegmentRule {
  size_t subgroup = policy::Subgroup::kNone;  // as Demand::subgroup
  std::string level;
  int64_t size = 1;                          // more than 1
  bool by_pods = false;                      // of those only whose pods say so themselves
  size_t unit = policy::GangTerms::kNoUnit;  // as Demand::unit; kNoUnit: of any member
};

std::vector<SegmentRule> SegmentRulesOf(const EngineState& state, const Gang& gang);

// Each of them starts as a whole or not at all: one pod, or those that make whole segments
// together.
using Batches = std::vector<std::vector<cluster::Placement>>;

// In `tx`, on which `terms` has those of the gang that have their nodes. Pure.
Batches PlaceElastic(policy::Placer& placer, cluster::Transaction& tx,
                     const std::vector<policy::Demand>& demands,
                     const std::vector<SegmentRule>& rules, policy::GangTerms terms);

// Of a gang that runs: those that wait for others, not for room.
struct Remainder {
  bool none() const { return text.empty(); }
  std::string text;  // "1 of its pods waits until there are whole segments: 5 = 2 × 2 + 1"
  bool all = false;  // nobody waits for room
};
Remainder RemainderOf(const EngineState& state, const Gang& gang);

}  // namespace muster::engine
