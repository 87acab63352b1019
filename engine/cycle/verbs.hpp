// The extender's verbs on the engine's state (internal to engine/). Filter and Prioritize read the
// plan; asked again they answer the same.
#pragma once

#include "engine/contract/extender_api.hpp"
#include "policy/placing/placement.hpp"

namespace muster::engine {

struct EngineState;

// `placer`: for a gang that has to be planned again at once.
FilterAnswer Filter(EngineState& state, policy::Placer& placer, const NodesQuestion& question,
                    cluster::Time now);
PrioritizeAnswer Prioritize(const EngineState& state, const NodesQuestion& question);
BindReceipt Bind(EngineState& state, const BindCall& call, uint64_t ticket, cluster::Time now);

}  // namespace muster::engine
