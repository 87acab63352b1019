// Shielded: gangs that could be evicted for one that waits, were they not protected for now
// (internal to engine/). A plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/standing/lost.hpp"
#include "policy/victims/preemption.hpp"

namespace muster::engine {

// What protects one.
struct Protector {
  std::optional<cluster::Time> until;  // nothing: until a PodDisruptionBudget changes
  std::string why;                     // for people
  bool by_budget = false;
};

struct Shielded {
  int64_t gangs = 0;
  std::optional<cluster::Time> until;  // the first of them is not any more
  std::string why;                     // of that one, else of the first that was found
  bool by_budget = false;              // it is PodDisruptionBudgets that protect that one
  std::string budgets;                 // why of the first that they protect; empty: none
  std::vector<policy::Candidate> candidates;

  // What goes of one gang is added in a row.
  void Add(const Lost& lost, const Protector& by);
  // Of `why`, and what budgets protect beside it.
  std::string Words() const;

 private:
  std::optional<cluster::GangId> last_;
};

}  // namespace muster::engine
