// Budgets: whom PodDisruptionBudgets let go, as far as the facts say it (internal to engine/).
// Reads the engine's state, changes nothing of it. The eviction API has the last word: what it
// refused is a Protection, and counts here too.
//
// A pod whose containers run takes one of the disruptions that its budget allows; other pods take
// none. No pod that two budgets select can be evicted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/records/disruption_budget.hpp"
#include "engine/preemption/losses.hpp"

namespace muster::engine {

// All budgets by namespace, while they stay as they are.
class BudgetBook {
 public:
  using Budgets = std::vector<const cluster::DisruptionBudget*>;

  explicit BudgetBook(const StandingState& state);
  bool empty() const { return by_namespace_.empty(); }
  // Those to which the pod is held now.
  Budgets Of(const cluster::Pod& pod) const;

 private:
  std::map<std::string, Budgets> by_namespace_;
};

// What is left of budgets while pods go one after the other.
class BudgetCount {
 public:
  explicit BudgetCount(const BudgetBook& book) : book_(&book) {}
  // False: a budget of the pod is violated by this one.
  bool Take(const cluster::Pod& pod);
  // How many of them violate a budget.
  int64_t Take(const std::vector<LostPod>& pods);
  // The budgets that are violated, for people: "PodDisruptionBudget team/db, which allows 0
  // disruptions"; empty: none is.
  const std::string& violated() const { return violated_; }

 private:
  const BudgetBook* book_;
  std::map<const cluster::DisruptionBudget*, int64_t> left_;
  std::string violated_;
};

// Sets Loss::violates: they are lost one after the other in this order.
void CountViolations(const BudgetBook& book, const std::vector<Lost*>& in_order);

// Why budgets let something not go.
struct KeptByBudget {
  std::string why;                     // for people; empty: they let it go
  std::optional<cluster::Time> until;  // it is asked again then; nothing: when a budget changes
};

// Of all of the gang, as far as the eviction API said it, in the words of the facts.
KeptByBudget RefusedByBudget(const StandingState& state, const BudgetBook& book, const Gang& gang);
// Of what goes of a gang (AddLosses), by position: each with all that come before it. Empty: no
// budget keeps anything.
std::vector<KeptByBudget> FindKept(const StandingState& state, const BudgetBook& book,
                                   const Gang& gang, const std::vector<Lost>& losses);

}  // namespace muster::engine
