// Which members kube-scheduler must see one after the other: see StartTurns (internal to engine/).
#pragma once

#include "engine/gangs/member.hpp"

namespace muster::engine {

// kube-scheduler's answer for it depends on which other members came before.
inline bool ComesInTurn(const Member& member) {
  const cluster::PodRules& rules = member.pod->spec->rules;
  return !rules.affinity.empty() || !rules.spread.empty();
}

// In its turn, and no sooner, it is nominated.
inline bool IsNominatedInTurn(const Member& member) {
  return !member.pod->spec->rules.spread.empty();
}

}  // namespace muster::engine
