// Losses: what goes when a gang makes way for another one, and what that costs (internal to
// engine/). Reads the engine's state, changes nothing of it.
//
// A gang goes whole, or its surplus goes, one pod or unit (RoleUnit) at a time, the youngest first
// where it is no matter on which nodes they are; one with required segments goes whole, and so does
// one whose PodGroup says it (GroupTerms::whole). One that is being bound, or part of which cannot
// go, is left alone. Pods that leave anyway go by themselves. What PodDisruptionBudgets keep is
// among them (budgets.hpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/gang.hpp"
#include "policy/victims/loss.hpp"

namespace muster::engine {

struct EngineState;

// A pod that would go, and what it holds. Both are the engine's, and hold until that changes.
struct LostPod {
  const Member* member = nullptr;
  const cluster::Placement* held = nullptr;
};

// What goes together, and what that costs.
struct Lost {
  policy::Loss loss;
  bool whole = false;  // all that is left of the gang
  std::vector<LostPod> pods;
  // Of a surplus pod: those of its gang that could go in its place, itself among them. Null: it is
  // none.
  std::shared_ptr<const std::vector<cluster::Placement>> alike = nullptr;
};

// Of pods that leave anyway alone, where `leaving_only` says so.
void AddLosses(const EngineState& state, const Gang& gang, int64_t priority, bool leaving_only,
               std::vector<Lost>& losses);
// Since the gang began to run, in tenths of a GPU × s: what is lost with all of it.
int64_t GpuTimeOf(const Gang& gang, const Lost& lost, cluster::Time now);
// Pods beyond the minimum may go, the others stay.
bool HasSurplus(const EngineState& state, const Gang& gang);
// R14: it says that it is not preemptible (its PodGroup, else one of its pods), or is of a
// protected class: it or a pod of it has a system priority (2·10⁹ and more), is a DaemonSet's or a
// mirror pod.
bool IsNonPreemptible(const EngineState& state, const Gang& gang);
// The gang may not be taken apart now, be it bound or not.
bool CannotBeEvicted(const EngineState& state, const Gang& gang);
// Of a gang that holds something; `priority`: of its bound members, or of the one in question.
policy::Holder HolderOf(const Gang& gang, int64_t priority);
// The highest among the members that hold something; nothing: none does.
std::optional<int32_t> HighestHeld(const Gang& gang);

}  // namespace muster::engine
