// What the engine knows, told as facts to another one, as if what it has decided were done already
// (internal to engine/). Read in slices, under Scheduler's lock.
//
//   planned, not bound yet     bound where it is planned
//   waits for its victims      the same, and the victims are gone
//   being evicted otherwise    as it is: it holds what it has
//   node or device left out    cordoned
//
// Not told: failed starts and their pauses, and what was tried in vain. So the other engine tries
// what this one does not try for now.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/facts.hpp"

namespace muster::engine {

struct EngineState;

// Namespaces, PriorityClasses, PodDisruptionBudgets and Jobs.
std::vector<Fact> FewFacts(const EngineState& state);

// What is told in slices. A pod or PodGroup that comes later is not told, one that has gone by then
// neither.
struct ManyFacts {
  std::vector<cluster::PodUid> pods;  // in order of UID
  std::vector<cluster::ObjectKey> groups;
};
ManyFacts ListFacts(const EngineState& state);

// Of these, from `next` on, at most `most`.
void TellGroups(const EngineState& state, const ManyFacts& list, size_t next, size_t most,
                std::vector<Fact>& facts);
void TellPods(const EngineState& state, const ManyFacts& list, size_t next, size_t most,
              std::vector<Fact>& facts);

// As another engine is told of it.
cluster::Node AsFact(cluster::Node node);

}  // namespace muster::engine
