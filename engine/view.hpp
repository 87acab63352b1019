// What people and metrics are told of the engine's state (internal to engine/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/scheduler.hpp"

namespace muster::engine {

struct EngineState;

// Both: some gangs more, after `last`; true when these were the last ones. `ns`: of that namespace;
// null: of all.
bool ViewGangs(const EngineState& state, const std::string* ns, std::optional<GangId>& last,
               std::vector<GangView>& views);
bool CountGangs(const EngineState& state, std::optional<GangId>& last, Counts& counts);
std::optional<GangView> ViewGang(const EngineState& state, const cluster::ObjectKey& key);
// What a node's record and the snapshot do not tell of it.
void ViewHolders(const EngineState& state, cluster::NodeIndex index, NodeView& view);

// Every broken invariant of every owner, one sentence each (audit.cpp).
std::vector<std::string> Audit(const EngineState& state, cluster::Time now);
std::string Dump(const EngineState& state);

}  // namespace muster::engine
