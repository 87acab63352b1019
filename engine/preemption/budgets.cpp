#include "engine/preemption/budgets.hpp"

#include <algorithm>

#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::DisruptionBudget;

namespace {

std::string BudgetWords(const DisruptionBudget& budget) {
  const int64_t allowed = std::max<int64_t>(budget.disruptions_allowed, 0);
  return "PodDisruptionBudget " + budget.key.ToString() + ", which allows " +
         std::to_string(allowed) + (allowed == 1 ? " disruption" : " disruptions");
}

std::string BudgetWords(const BudgetBook::Budgets& budgets) {
  if (budgets.size() == 1) return BudgetWords(*budgets.front());
  return "PodDisruptionBudgets " + budgets[0]->key.ToString() + " and " +
         budgets[1]->key.ToString() + ": Kubernetes evicts no pod that has two";
}

}  // namespace

BudgetBook::BudgetBook(const StandingState& state) {
  for (const DisruptionBudget* budget : state.cluster.DisruptionBudgets()) {
    if (budget->selector) by_namespace_[budget->key.ns].push_back(budget);
  }
}

BudgetBook::Budgets BudgetBook::Of(const cluster::Pod& pod) const {
  Budgets budgets;
  if (pod.running_since == cluster::Time() || pod.ending()) return budgets;
  const auto found = by_namespace_.find(pod.key.ns);
  if (found == by_namespace_.end()) return budgets;
  for (const DisruptionBudget* budget : found->second) {
    const bool selects = std::all_of(
        budget->selector->begin(), budget->selector->end(),
        [&](const auto& requirement) { return cluster::Matches(requirement, pod.labels); });
    if (selects) budgets.push_back(budget);
  }
  return budgets;
}

bool BudgetCount::Take(const cluster::Pod& pod) {
  const BudgetBook::Budgets budgets = book_->Of(pod);
  bool lets_go = budgets.size() < 2;
  for (const DisruptionBudget* budget : budgets) {
    int64_t& left = left_.try_emplace(budget, budget->disruptions_allowed).first->second;
    lets_go = --left >= 0 && lets_go;
  }
  if (!lets_go && violated_.empty()) violated_ = BudgetWords(budgets);
  return lets_go;
}

int64_t BudgetCount::Take(const std::vector<LostPod>& pods) {
  return std::count_if(pods.begin(), pods.end(),
                       [&](const LostPod& pod) { return !Take(*pod.member->pod); });
}

void CountViolations(const BudgetBook& book, const std::vector<Lost*>& in_order) {
  BudgetCount count(book);
  std::map<GangId, int64_t> sums;
  for (Lost* lost : in_order) {
    if (lost->loss.leaves) continue;
    int64_t& sum = sums[lost->loss.holder.gang];
    sum += count.Take(lost->pods);
    lost->loss.violates = sum;
  }
}

KeptByBudget RefusedByBudget(const StandingState& state, const BudgetBook& book, const Gang& gang) {
  KeptByBudget kept;
  for (const auto& [uid, member] : gang.members) {
    const Protection* by = state.preemptions.ProtectionOf(uid);
    if (by == nullptr || !by->by_budget || !member.holds() || member.leaving()) continue;
    kept.until = std::max(kept.until.value_or(by->until), by->until);
    if (!kept.why.empty()) continue;
    const BudgetBook::Budgets budgets = book.Of(*member.pod);
    kept.why = "kept by " + (budgets.empty() ? "a PodDisruptionBudget" : BudgetWords(budgets));
  }
  return kept;
}

std::vector<KeptByBudget> FindKept(const StandingState& state, const BudgetBook& book,
                                   const Gang& gang, const std::vector<Lost>& losses) {
  const KeptByBudget refused =
      state.preemptions.any_protected() ? RefusedByBudget(state, book, gang) : KeptByBudget();
  if (refused.why.empty() && book.empty()) return {};
  std::vector<KeptByBudget> kept(losses.size());
  BudgetCount count(book);
  for (size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].loss.leaves) continue;
    if (!refused.why.empty()) {
      kept[i] = refused;
      continue;
    }
    (void)count.Take(losses[i].pods);
    if (!count.violated().empty()) kept[i].why = "kept by " + count.violated();
  }
  return kept;
}

}  // namespace muster::engine
