// Elastic members: those beyond a gang's minimum, and lost ones of a gang that runs (internal to
// engine/).
//
// 1. Each starts by itself, when there is room, and evicts nobody.
// 2. Where they are to be in segments, and must be, only so many start as make whole segments of
//    the largest size together; what is left over waits for others.
// 3. Where a role has units (cluster::RoleUnit), so many of it start together, wherever they are.
// 4. One that makes up for a lost member starts by itself: it makes a segment or a unit whole. It
//    joins the segment that its neighbours in rank are in, and waits while that has no room.
// 5. Lost members of a subgroup (policy::Subgroup) of which none has a node start together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/transaction.hpp"
#include "policy/placing/placement.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

struct StandingState;
struct Gang;

// The largest segments that members of a subgroup, or those of none, must be in; or how many of a
// role start together, with `unit` and no level. Of several for a member the largest counts.
struct SegmentRule {
  size_t subgroup = policy::Subgroup::kNone;  // as Demand::subgroup
  std::string level;
  int64_t size = 1;                          // more than 1
  bool by_pods = false;                      // of those only whose pods say so themselves
  size_t unit = policy::GangTerms::kNoUnit;  // as Demand::unit; kNoUnit: of any member
  // The segments and those within them, the innermost first.
  std::vector<cluster::TopologySegment> layers = {};
};

std::vector<SegmentRule> SegmentRulesOf(const StandingState& state, const Gang& gang);

// Each of them starts as a whole or not at all: one pod, or those that make whole segments
// together.
using Batches = std::vector<std::vector<cluster::Placement>>;

// In `tx`, on which `terms` has those of the gang that have their nodes. Pure.
Batches PlaceElastic(policy::Placer& placer, cluster::Transaction& tx,
                     const std::vector<policy::Demand>& demands,
                     const std::vector<SegmentRule>& rules, policy::GangTerms terms);

// The required ones of the request, which are lost members, and elastic ones that may be in
// segments or units with them: as many as find room.
Batches PlaceLost(policy::Placer& placer, cluster::Transaction& tx,
                  const policy::GangRequest& request, const std::vector<SegmentRule>& rules,
                  policy::GangTerms terms);
// Some are in segments that are required.
bool AnyInSegments(const std::vector<SegmentRule>& rules);
// The pod is, or it is in a unit.
bool StartsInWhole(const std::vector<SegmentRule>& rules, const policy::Demand& demand);

// Of a gang that runs: those that wait for others, not for room.
struct Remainder {
  bool none() const { return text.empty(); }
  std::string text;  // "1 of its pods waits until there are whole segments: 5 = 2 × 2 + 1"
  bool all = false;  // nobody waits for room
};
Remainder RemainderOf(const StandingState& state, const Gang& gang);

}  // namespace muster::engine
