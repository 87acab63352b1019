// What people and metrics are told of the engine's state (internal to engine/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/contract/counts.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/contract/node_view.hpp"

namespace muster::engine {

struct ClaimState;

// Both: some gangs more, after `last`; true when these were the last ones. `ns`: of that namespace;
// null: of all.
bool ViewGangs(const ClaimState& state, const std::string* ns, std::optional<GangId>& last,
               std::vector<GangView>& views);
bool CountGangs(const ClaimState& state, std::optional<GangId>& last, Counts& counts);
std::optional<GangView> ViewGang(const ClaimState& state, const cluster::ObjectKey& key);
// What a node's record and the snapshot do not tell of it.
void ViewHolders(const ClaimState& state, cluster::NodeIndex index, NodeView& view);

// Every broken invariant of every owner, one sentence each (engine/audit.cpp).
std::vector<std::string> Audit(const ClaimState& state, cluster::Time now);
std::string Dump(const ClaimState& state);

}  // namespace muster::engine
