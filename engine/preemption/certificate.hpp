// Certify: writes down, before anybody is evicted, who makes way for a gang and by which right
// (internal to engine/). Reads the engine's state, changes nothing of it.
#pragma once

#include <string>

#include "engine/judging/plan_job.hpp"
#include "engine/standing/preemptions.hpp"

namespace muster::engine {

struct StandingState;

// Of a plan that is about to be committed: the victims still hold what they have.
Certificate Certify(const StandingState& state, const Gang& gang, const PlanJob& job,
                    const PlanResult& result, cluster::Time now);

// By which right it goes, for people: "of higher priority in queue a"; in the root the queue is
// left out.
std::string RightOver(const Certificate* certificate, const GangId& victim);

// One sentence, for an Event: who makes way, what is lost, where.
std::string Describe(const Certificate& certificate);

}  // namespace muster::engine
