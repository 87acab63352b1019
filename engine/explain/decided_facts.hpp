// What the engine knows, told as facts to another one, as if what it has decided were done already
// (internal to engine/). Read in slices, under Scheduler's lock.
//
//   planned, not bound yet     bound where it is planned
//   waits for its victims      the same, and the victims are gone
//   being evicted otherwise    as it is: it holds what it has
//   node or device left out    cordoned
//
// Not told: failed starts and their pauses, and what was tried in vain: the other engine tries what
// this one does not try for now. Neither are pods of other schedulers that hold nothing.
#pragma once

#include <optional>
#include <vector>

#include "cluster/records/gang_id.hpp"
#include "engine/contract/facts.hpp"

namespace muster::engine {

using cluster::GangId;

struct ClaimState;

// Namespaces, PriorityClasses, PodDisruptionBudgets, orders, quotas, ProvisioningRequests, Jobs,
// learnt durations and what queues have used.
std::vector<Fact> FewFacts(const ClaimState& state);

// Some gangs more, after `last`: their PodGroups and members. True when these were the last ones.
bool TellGangs(const ClaimState& state, std::optional<GangId>& last, std::vector<Fact>& facts);
// Pods that hold something on the node and are in no gang.
void TellOthers(const ClaimState& state, cluster::NodeIndex node, std::vector<Fact>& facts);

// The node as another engine receives it: what is left out counts as cordoned.
cluster::Node AsFact(cluster::Node node);

}  // namespace muster::engine
