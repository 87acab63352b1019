#include "engine/start_turns.hpp"

#include <algorithm>
#include <vector>

#include "cluster/transaction.hpp"
#include "engine/engine_state.hpp"
#include "engine/request.hpp"
#include "policy/pod_conditions.hpp"

namespace muster::engine {

bool ComesInTurn(const Member& member) {
  const cluster::PodRules& rules = member.pod->spec->rules;
  return !rules.affinity.empty() || !rules.spread.empty();
}

namespace {

bool HasCome(const Member& member) { return member.plan->bind_seen || member.pod->bound(); }

}  // namespace

StartTurns::StartTurns(EngineState& state, const Gang& gang, cluster::Time now) {
  if (!state.cluster.has_pod_rules()) return;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (group != nullptr && group->gates_together) return;  // kube-scheduler takes them all at once
  std::vector<const Member*> to_come;
  for (const auto& [uid, member] : gang.members) {
    if (member.planned() && !HasCome(member)) to_come.push_back(&member);
  }
  const auto in_turn = [](const Member* member) { return ComesInTurn(*member); };
  if (to_come.size() < 2 || std::none_of(to_come.begin(), to_come.end(), in_turn)) return;
  cluster::Transaction tx(state.cluster.TakeSnapshot());
  const policy::GangTerms terms = TermsOf(state, gang, {});
  std::vector<policy::Demand> demands;
  demands.reserve(to_come.size());
  for (const Member* member : to_come) demands.push_back(DemandOf(state, terms, *member, now));
  const auto conditions = policy::PodConditions::Of(tx, demands);
  if (conditions == nullptr) return;
  // The one that is on its way, else the first whose node is open to it, else just one.
  const Member* next = nullptr;
  int best = 0;
  for (size_t i = 0; i < to_come.size(); ++i) {
    if (!ComesInTurn(*to_come[i])) continue;
    const bool open = conditions->On(demands[i], to_come[i]->plan->placement->node) ==
                      policy::PodConditions::Bar::kNone;
    const int rank = open ? (to_come[i]->pod->gated_by_muster() ? 2 : 3) : 1;
    if (rank <= best) continue;
    best = rank;
    next = to_come[i];
  }
  for (const Member* member : to_come) {
    if (ComesInTurn(*member) && member != next) waiting_.insert(member->uid);
  }
}

}  // namespace muster::engine
