#include "engine/judging/start_turns.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "cluster/holdings/transaction.hpp"
#include "engine/judging/request.hpp"
#include "engine/standing/standing_state.hpp"
#include "policy/fit/pod_conditions.hpp"

namespace muster::engine {

using cluster::Pod;

namespace {

bool HasCome(const Member& member) { return member.plan->bind_seen || member.pod->bound(); }

// Another one is nominated to its node that kube-scheduler would count with it. `nominated`: those
// to come that are nominated anywhere.
bool IsCrowded(const Member& member, const std::vector<const Member*>& nominated) {
  const Pod& pod = *member.pod;
  const auto counts = [&](const Pod& other) {
    const auto& spread = pod.spec->rules.spread;
    return other.key.ns == pod.key.ns &&
           std::any_of(spread.begin(), spread.end(), [&](const cluster::SpreadRule& rule) {
             return rule.pods.Matches(other.labels);
           });
  };
  return std::any_of(nominated.begin(), nominated.end(), [&](const Member* other) {
    return other != &member && other->pod->nominated_node == member.plan->node &&
           counts(*other->pod);
  });
}

// More is sooner: one that is on its way, else the first whose node is open to it, else just one.
int RankOf(const Member& member, bool open) {
  if (!open) return 1;
  const bool nominated = member.pod->nominated_node == member.plan->node;
  return 2 + (nominated ? 1 : 0) + (member.pod->gated_by_muster() ? 0 : 2);
}

}  // namespace

StartTurns::StartTurns(StandingState& state, const Gang& gang, cluster::Time now) {
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
  std::vector<const Member*> nominated;
  std::copy_if(to_come.begin(), to_come.end(), std::back_inserter(nominated),
               [](const Member* member) { return !member->pod->nominated_node.empty(); });
  const Member* next = nullptr;
  int best = 0;
  for (size_t i = 0; i < to_come.size(); ++i) {
    if (!ComesInTurn(*to_come[i])) continue;
    const bool open = conditions->On(demands[i], to_come[i]->plan->placement->node) ==
                          policy::PodConditions::Bar::kNone &&
                      !IsCrowded(*to_come[i], nominated);
    const int rank = RankOf(*to_come[i], open);
    if (rank <= best) continue;
    best = rank;
    next = to_come[i];
  }
  for (const Member* member : to_come) {
    if (ComesInTurn(*member) && member != next) waiting_.insert(member->uid);
  }
}

}  // namespace muster::engine
