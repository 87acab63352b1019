// HandOverPods: what is written to a gang's pods, step by step, and what comes of it (internal to
// engine/).
//
//   nominate ─▶ (all members are) ─▶ remove the gate ─▶ (Bind call, barrier) ─▶ bind
//   evict: of a gang that stayed partial, or for another gang
//   clear a nomination that has no plan; wake kube-scheduler; carry the gang's record; end the turn
//   that a pod had at HAMi's plugin
#pragma once

#include "engine/contract/actions.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct EngineState;

// Asks for what the gang's state calls for and is not under way: one action per pod at a time, the
// next one after its outcome.
void HandOverPods(EngineState& state, Gang& gang, cluster::Time now);
void Report(EngineState& state, const Outcome& outcome, cluster::Time now);
// The node becomes part of the pod's affinity when its gate goes. Only while it is gated: a pod's
// affinity cannot be changed afterwards.
bool Pins(const Options& options, const cluster::Pod& pod);

}  // namespace muster::engine
