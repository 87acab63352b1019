// Intake: facts become the state of the cluster and of its gangs (internal to engine/).
#pragma once

#include <vector>

#include "engine/contract/facts.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct EngineState;

void Apply(EngineState& state, const Fact& fact, cluster::Time now);
void ApplyPod(EngineState& state, cluster::Pod pod, cluster::Time now);
// `unseen`: nobody saw how it ended.
void RemovePod(EngineState& state, const cluster::PodUid& uid, bool unseen, cluster::Time now);
// Of one that is bound nothing is done: it holds what it holds.
void WithdrawPod(EngineState& state, const cluster::PodUid& uid, cluster::Time now);

// The pods that may be Muster's now, or another scheduler's: all are given to ReassignPod
// (engine/cycle/membership_moves.hpp), first to join, then to leave.
std::vector<cluster::PodUid> SetOptions(EngineState& state, Options options);

}  // namespace muster::engine
