// Losses: what goes when a gang makes way for another one, and what that costs (internal to
// engine/). Reads the engine's state, changes nothing of it.
//
// A gang goes whole, or its surplus goes, one pod or unit (RoleUnit) at a time, the youngest first
// where it is no matter on which nodes they are; one with required segments goes whole, and so does
// one whose PodGroup says it (GroupTerms::whole). One that is being bound, or part of which cannot
// go, is left alone. Pods that leave anyway go by themselves. What PodDisruptionBudgets keep is
// among them (engine/preemption/budgets.hpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/gangs/gang.hpp"
#include "engine/standing/lost.hpp"
#include "policy/victims/loss.hpp"

namespace muster::engine {

struct StandingState;

// Of pods that leave anyway alone, where `leaving_only` says so.
void AddLosses(const StandingState& state, const Gang& gang, int64_t priority, bool leaving_only,
               std::vector<Lost>& losses);
// Since the gang began to run, in tenths of a GPU × s: what is lost with all of it.
int64_t GpuTimeOf(const Gang& gang, const Lost& lost, cluster::Time now);
// Pods beyond the minimum may go, the others stay.
bool HasSurplus(const StandingState& state, const Gang& gang);
// The gang may not be taken apart now, be it bound or not.
bool CannotBeEvicted(const StandingState& state, const Gang& gang);
// Of a gang that holds something; `priority`: of its bound members, or of the one in question.
policy::Holder HolderOf(const Gang& gang, int64_t priority);

}  // namespace muster::engine
