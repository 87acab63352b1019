// Plan: one gang's placement on a snapshot (internal to engine/). Pure; runs outside the
// Scheduler's lock.
#pragma once

#include <vector>

#include "engine/judging/plan_job.hpp"

namespace muster::engine {

PlanResult Plan(policy::Placer& placer, const PlanJob& job);
// Of all members that the plan has.
std::vector<cluster::Placement> PlacementsOf(const PlanResult& result);

}  // namespace muster::engine
