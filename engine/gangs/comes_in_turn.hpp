// Which members kube-scheduler must see one after the other: see StartTurns (internal to engine/).
#pragma once

#include "engine/gangs/member.hpp"

namespace muster::engine {

// kube-scheduler's answer for the member depends on which other members came before.
inline bool ComesInTurn(const Member& member) {
  const cluster::PodRules& rules = member.pod->spec->rules;
  return !rules.affinity.empty() || !rules.spread.empty();
}

// The member is nominated when its turn has come, not before.
inline bool IsNominatedInTurn(const Member& member) {
  return !member.pod->spec->rules.spread.empty();
}

}  // namespace muster::engine
